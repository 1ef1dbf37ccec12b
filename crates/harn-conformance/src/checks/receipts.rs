//! Receipts, where the server offers them.

use serde_json::{Value, json};

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::Probe;
use crate::shape::{self, id_of};

checks! { Receipts;
    task_has_a_receipt: "spec 001, Receipt: a portable proof summary for a Task"
        => "Issue a receipt when a task ends, and list it at GET /v1/tasks/{id}/receipts.";
    receipt_can_be_read: "OpenAPI, getReceipt: the Receipt with its format"
        => "Serve every listed receipt at GET /v1/receipts/{id} with its format.";
    receipt_has_a_hash: "spec 001, Receipt wire format: \"The stored value uses the sha256: prefix\""
        => "Write chain.receipt_hash as sha256: and 64 hexadecimal digits.";
    receipt_can_be_verified: "spec 001, Receipts: receipt verification API"
        => "Answer POST /v1/receipts/{id}/verify with a boolean `valid` and `checked_at`.";
}

async fn receipt(probe: &Probe) -> Verdict<Value> {
    if !probe.has_capability("receipts").await {
        return skipped("the server does not offer receipts (capability receipts)");
    }
    let task = id_of(&probe.settled().await?.task)?;
    let seen = probe.get(format!("/v1/tasks/{task}/receipts")).expect(&[200]).await?;
    let first = seen.items()?.into_iter().next();
    ensure!(first.is_some(), "{}: expected at least one receipt, got {}", seen.what, seen.got());
    Ok(first.unwrap_or_default())
}

async fn task_has_a_receipt(probe: &Probe) -> Verdict {
    let found = receipt(probe).await?;
    id_of(&found)?;
    ensure!(found["object"] == "receipt", "expected object receipt, got {}", shape::shown(&found));
    Ok(())
}

async fn receipt_can_be_read(probe: &Probe) -> Verdict {
    let id = id_of(&receipt(probe).await?)?;
    let seen = probe.get(format!("/v1/receipts/{id}")).expect(&[200]).await?;
    let format = seen.value()?["format"].as_str().is_some_and(|format| !format.is_empty());
    ensure!(
        format && seen.id()? == id,
        "{}: expected the receipt {id} with `format`, got {}",
        seen.what,
        seen.got()
    );
    Ok(())
}

async fn receipt_has_a_hash(probe: &Probe) -> Verdict {
    let id = id_of(&receipt(probe).await?)?;
    let found = probe.get(format!("/v1/receipts/{id}")).expect(&[200]).await?.value()?;
    // The OpenAPI wrapper carries the wire receipt inside; a bare one is the receipt itself.
    let chain = [&found["wire"]["chain"], &found["wire"]["payload"]["chain"], &found["chain"]];
    let Some(chain) = chain.into_iter().find(|chain| chain.is_object()) else {
        return skipped("the server does not show the wire receipt here");
    };
    let hash = chain["receipt_hash"].as_str().and_then(|hash| hash.strip_prefix("sha256:"));
    let valid =
        hash.is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    ensure!(valid, "receipt {id}: expected chain.receipt_hash as sha256:…, got {}", chain["receipt_hash"]);
    Ok(())
}

async fn receipt_can_be_verified(probe: &Probe) -> Verdict {
    let id = id_of(&receipt(probe).await?)?;
    let seen = probe.post(format!("/v1/receipts/{id}/verify")).body(json!({})).expect(&[200]).await?;
    let found = seen.value()?;
    let fields = found["valid"].is_boolean() && found["checked_at"].is_string();
    ensure!(fields, "{}: expected `valid` and `checked_at`, got {}", seen.what, seen.got());
    Ok(())
}
