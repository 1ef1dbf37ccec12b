//! What a server may offer beyond Core: workspaces, forks, branches, vaults, connectors, receipts, replay.

use serde_json::{Value, json};

use super::flaw::Flaw;
use super::routes::{Call, Reply, fault, list, not_found, one};
use super::world::{WORKSPACE, World, merge};

/// `None` leaves the path to the Core routes.
pub fn answer(world: &mut World, call: &Call<'_>) -> Option<Reply> {
    let reply = match (call.method, call.path) {
        ("POST", ["workspaces"]) => {
            let mut fields = json!({ "default_branch_id": null });
            merge(&mut fields, call.body.clone());
            let workspace = world.resource("workspace", fields);
            world.workspaces.push(workspace.clone());
            (201, workspace)
        }
        ("PATCH", ["workspaces", id]) => {
            let kept = world.has(Flaw::WorkspaceKeepsItsName);
            let workspace = world.workspaces.iter_mut().find(|workspace| workspace["id"] == *id)?;
            if !kept {
                merge(workspace, call.body.clone());
            }
            (200, workspace.clone())
        }
        ("POST", ["sessions", id, "fork"]) => fork(world, id),
        ("POST", ["sessions", _, "branches"]) => {
            let mut fields = json!({ "workspace_id": WORKSPACE });
            merge(&mut fields, call.body.clone());
            if world.has(Flaw::BranchOfAnotherKind) {
                fields["kind"] = json!("task");
            }
            let branch = world.resource("branch", fields);
            world.branches.push(branch.clone());
            (201, branch)
        }
        ("GET", ["branches", id]) => one(&world.branches, id),
        ("POST", ["vaults"]) => {
            let mut fields = call.body.clone();
            if world.has(Flaw::VaultShowsASecret) {
                fields["access_token"] = json!("hidden");
            }
            let vault = world.resource("vault", fields);
            world.vaults.push(vault.clone());
            (201, vault)
        }
        ("GET", ["vaults", id]) => one(&world.vaults, id),
        ("GET", ["connectors"]) => {
            let status = if world.has(Flaw::UnknownConnectorStatus) { "FINE" } else { "ACTIVE" };
            let fields = json!({
                "provider": "test", "workspace_id": WORKSPACE, "status": status, "webhook": {},
                "event_kinds": ["webhook.received"],
            });
            let connector = world.resource("connector", fields);
            list(world, call, vec![connector])
        }
        (_, ["tasks", id, "receipts"] | ["receipts", id, ..]) => receipts(world, call, id),
        ("POST", ["tasks", id, "replay"]) => replay(world, id),
        _ => return None,
    };
    Some(reply)
}

fn fork(world: &mut World, id: &str) -> Reply {
    let new = world.create_session(&json!({}))["id"].clone();
    let parent = if world.has(Flaw::ForkWithoutParent) { json!(null) } else { json!(id) };
    let session = world.sessions.iter_mut().find(|session| session["id"] == new).unwrap();
    session["parent_session_id"] = parent;
    (201, session.clone())
}

fn receipts(world: &World, call: &Call<'_>, id: &str) -> Reply {
    let prefix = if world.has(Flaw::HashWithoutPrefix) { "" } else { "sha256:" };
    let format = if world.has(Flaw::ReceiptWithoutFormat) { "" } else { "receipt-2026-04-25" };
    let receipt = json!({
        "id": id, "object": "receipt", "created_at": world.now(), "updated_at": world.now(),
        "metadata": {}, "format": format,
        "wire": { "chain": { "receipt_hash": format!("{prefix}{}", "0".repeat(64)) } },
    });
    match call.path {
        ["tasks", ..] if world.has(Flaw::NoReceipt) => list(world, call, vec![]),
        ["tasks", ..] => list(world, call, vec![receipt]),
        [_, _] => (200, receipt),
        [_, _, "verify"] if world.has(Flaw::VerifiedWithoutVerdict) => (200, json!({ "valid": "yes" })),
        [_, _, "verify"] => (200, json!({ "valid": true, "checked_at": world.now() })),
        _ => not_found(),
    }
}

fn replay(world: &mut World, id: &str) -> Reply {
    let Some(source) = world.tasks.iter().find(|task| task["id"] == id).cloned() else { return not_found() };
    let Some(session) = source["session_id"].as_str() else {
        return fault(500, "internal_error", "server_error", "A task without a session.");
    };
    let mut task: Value = world.submit(session, &json!({ "input": source["input"] }));
    if !world.has(Flaw::ReplayWithoutSource) {
        task["parent_task_id"] = json!(id);
    }
    world.emit("replay.event_replayed", &task, json!({}));
    let marked = !world.has(Flaw::ReplayedNotMarked);
    let event = world.events.last_mut().unwrap();
    event["replayed"] = json!(marked);
    event["replay"] = json!({ "source_task_id": id, "replay_task_id": task["id"] });
    (202, task)
}
