//! Templates in files.

use crate::kit::Scene;

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
