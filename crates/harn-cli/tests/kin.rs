//! A command that an agent runs has our rights, and still may not use the local socket: it would approve itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;

use serde_json::json;
use support::{HARN, user};

#[test]
fn a_command_of_an_agent_is_refused_at_the_local_socket_and_its_owner_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut command = support::server::command(folder.path());
        // Without a sandbox, so that nothing else keeps it away.
        command.env("HARN_SANDBOX", "off");
        let server = support::server::Server::spawn(folder.path(), command);
        let data = folder.path().join("data");
        let owner = Command::new(HARN).args(["tasks", "list", "--data"]).arg(&data).output().unwrap();
        assert!(owner.status.success(), "{owner:?}");

        let api = server.api();
        let workspace = server.workspace().await;
        let persona = json!({ "name": "p", "version": "1", "entry_workflow": "agent_loop", "description": "d",
                              "autonomy_tier": "act_auto", "receipt_policy": "optional" });
        let persona = api.post("/v1/personas", persona).await.expect(201)["id"].clone();
        let session = json!({ "workspace_id": workspace, "persona_id": persona });
        let session = api.post("/v1/sessions", session).await.expect(201)["id"].as_str().unwrap().to_owned();
        let script = folder.path().join("work/try.sh");
        std::fs::write(&script, format!("{HARN} tasks list --data {}\n", data.display())).unwrap();
        let task = json!({ "input": user("run sh try.sh") });
        let task = api.post(&format!("/v1/sessions/{session}/tasks"), task).await.expect(202)["id"].clone();
        let task = task.as_str().unwrap().to_owned();
        let ended = support::http::ended(&api, &task).await;
        assert_eq!(ended["status"], "COMPLETED", "{ended}");
        let messages = support::http::messages(&api, &session).await;
        let results = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
        let result = results.into_iter().find(|part| part["type"] == "tool_result").unwrap();
        assert_eq!(result["output"]["exit_code"], 1, "{result}");
        assert_eq!(result["output"]["stdout"], "", "{result}");
    });
}
