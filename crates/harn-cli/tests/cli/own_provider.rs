//! A script that brings its own provider, run by the binary at once and as a task.

use harn_testkit::providers::openai_chat::{Fake, KEY, Said, Turn};

use crate::kit::Project;

#[tokio::test]
async fn a_script_asks_the_provider_that_it_has_registered() {
    let said = || Said { text: "hello from afar", finish: "stop", ..Said::default() };
    let fake = Fake::by_rule(move |_| Some(Turn::Answer(said()))).await;
    let project = Project::new();
    let code = format!(
        "provider_register({{name: \"own\", base_url: \"{}\", key_env: \"OWN_KEY\"}})\n\
         for piece in llm_stream(\"hi\", nil, {{model: \"own:m\"}}) {{ print(piece) }}\n\
         println(\"\")\n",
        fake.url
    );
    std::fs::write(project.path().join("own.harn"), code).unwrap();
    for args in [&["run", "own.harn"][..], &["run", "--durable", "own.harn"]] {
        let mut command = tokio::process::Command::from(project.command(args));
        let output = command.env("OWN_KEY", KEY).output().await.unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(out.contains("hello from afar\n"), "{args:?} {output:?}");
    }
    assert_eq!(fake.asked().len(), 2);
}
