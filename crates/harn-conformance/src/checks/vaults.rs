//! Vaults: metadata only, never a secret.

use serde_json::json;

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::Probe;

const SECRETS: [&str; 4] = ["access_token", "refresh_token", "client_secret", "private_key"];

checks! { Vaults;
    vault_shows_no_secret: "spec 001, Vault: \"Secret values MUST NOT be returned by default resource reads\""
        => "Return the metadata of a vault only.";
}

async fn vault_shows_no_secret(probe: &Probe) -> Verdict {
    let workspace = probe.workspace().await?;
    let body = json!({ "provider": "memory", "capabilities": ["read"], "workspace_id": workspace });
    let created = probe.post("/v1/vaults").body(body).send().await?;
    if created.absent() {
        return skipped(format!("{} is not served: {}", created.what, created.got()));
    }
    created.status(&[200, 201])?;
    let read = probe.get(format!("/v1/vaults/{}", created.id()?)).expect(&[200]).await?;
    for seen in [&created, &read] {
        let text = String::from_utf8_lossy(&seen.answer.body);
        for secret in SECRETS {
            ensure!(!text.contains(secret), "{}: the vault shows a {secret}", seen.what);
        }
        let value = seen.value()?;
        let fields = value["provider"].is_string() && value["capabilities"].is_array();
        ensure!(fields, "{}: expected `provider` and `capabilities`, got {}", seen.what, seen.got());
    }
    Ok(())
}
