//! Templates in files.

use crate::kit::{Scene, denied};

#[test]
fn a_template_is_found_beside_the_script_and_includes_beside_itself() {
    let mut scene = Scene::new();
    scene.file = "scripts/main.harn";
    scene.put("scripts/prompts/hello.tpl", "Hello {{ name }}{{ include \"parts/end.tpl\" }}");
    scene.put("scripts/prompts/parts/end.tpl", "{{ mark }}");
    let output = scene.run(
        r#"
        println(render("prompts/hello.tpl", {name: "you", mark: "!"}))
        println(render_prompt("prompts/hello.tpl", {name: "all", mark: "?"}))
        let told = render_with_provenance("prompts/hello.tpl", {name: "you", mark: "!"})
        println("${told.text} ${told.path} ${told.files.map({ file -> file.path })}")
        println("${prompt_mark_rendered(told.prompt_id)} ${prompt_mark_rendered(told.prompt_id)} ${prompt_mark_rendered("x")}")
        "#,
    );
    let files = "[scripts/prompts/hello.tpl, scripts/prompts/parts/end.tpl]";
    assert_eq!(output, format!("Hello you!\nHello all?\nHello you! prompts/hello.tpl {files}\n1 2 1\n"));
}

#[test]
fn mistakes_in_templates_are_told() {
    let scene = Scene::new();
    scene.put("circle.tpl", "{{ include \"circle.tpl\" }}");
    scene.put("open.tpl", "{{ if x }}");
    scene.put("gap.tpl", "{{ include \"none.tpl\" }}");
    let cases = [
        (r#"render("none.tpl")"#, "Failed to read template none.tpl: No such file or directory (os error 2)"),
        (r#"render("gap.tpl")"#, "Failed to read template none.tpl: No such file or directory (os error 2)"),
        (r#"render("circle.tpl")"#, "circular include detected"),
        (r#"render("open.tpl")"#, "Template error at line 1"),
        (r#"render(nil)"#, "render: path must be a string, not nil"),
    ];
    for (source, expected) in cases {
        let output = scene.run(source);
        assert!(output.contains(expected), "{source}: {output:?}");
    }
}

#[test]
fn policy_is_asked_about_a_template_and_about_what_it_includes() {
    let mut scene = Scene::new();
    scene.file = "scripts/main.harn";
    scene.put("scripts/vault/s", "secret");
    scene.put("vault/s", "secret");
    scene.put("scripts/open.tpl", "{{ include \"../vault/s\" }}");
    scene.permissions = denied("path = [\"vault/**\", \"scripts/vault/**\"]");
    for call in ["render", "render_prompt", "render_with_provenance"] {
        let beside = scene.run(&format!(r#"{call}("vault/s")"#));
        assert!(beside.contains("permission_denied") && beside.contains("scripts/vault/s"), "{beside}");
        let included = scene.run(&format!(r#"{call}("open.tpl")"#));
        assert!(included.contains("policy does not let this run read it"), "{included}");
    }
}
