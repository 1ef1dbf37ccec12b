//! Modules of several files, packages, and templates beside them.

use std::fs;

use crate::kit::Project;
use crate::scripts::project;

/// What the script says on standard error when it ends with an error.
fn error(project: &Project, script: &str) -> String {
    let output = project.run(&["run", script]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn modules_are_beside_the_file_that_imports_them() {
    let project = project(&[
        (
            "app/main.harn",
            "import \"../lib/words\"\nimport \"./more.harn\"\nprintln(shout(\"a\") + more())\n",
        ),
        ("app/more.harn", "pub fn more() { return \"?\" }\n"),
        ("lib/words.harn", "import \"marks\"\npub fn shout(text) { return text + mark() }\n"),
        ("lib/marks.harn", "pub fn mark() { return \"!\" }\n"),
    ]);
    assert_eq!(project.out(&["run", "app/main.harn"]), "a!?\n");
}

#[test]
fn a_file_is_one_module_however_it_is_reached() {
    let project = project(&[
        (
            "main.harn",
            "import { next } from \"count\"\nimport { other } from \"sub/user\"\nprintln([next(), other()])\n",
        ),
        (
            "count.harn",
            "import \"main\"\nvar n = 0\npub fn next() {\n  n = n + 1\n  return n\n}\nprintln(\"once\")\n",
        ),
        (
            "sub/user.harn",
            "import { next } from \"../sub/../count.harn\"\npub fn other() { return next() }\n",
        ),
    ]);
    assert_eq!(project.out(&["run", "main.harn"]), "once\n[1, 2]\n");
}

#[test]
fn packages_are_found_above_the_file() {
    let project = project(&[
        (
            "work/src/main.harn",
            "import \"tools\"\nimport \"tools/extra\"\nimport \"tools/deep/file\"\nimport { solo } from \"solo\"\n\
             import { named } from \"org/pack\"\nprintln([main_tool(), extra(), deep(), solo(), named()])\n",
        ),
        ("work/.harn/packages/tools/lib.harn", "import \"inner\"\npub fn main_tool() { return inner() }\n"),
        ("work/.harn/packages/tools/inner.harn", "pub fn inner() { return \"main\" }\n"),
        ("work/.harn/packages/tools/harn.toml", "[exports]\nextra = \"src/other.harn\"\n"),
        ("work/.harn/packages/tools/src/other.harn", "pub fn extra() { return \"exported\" }\n"),
        ("work/.harn/packages/tools/deep/file.harn", "pub fn deep() { return \"by path\" }\n"),
        (".harn/packages/solo.harn", "pub fn solo() { return \"one file\" }\n"),
        (".harn/packages/org/pack/harn.toml", "[exports]\ndefault = \"src/entry\"\n"),
        (".harn/packages/org/pack/src/entry.harn", "pub fn named() { return \"default\" }\n"),
    ]);
    let expected = "[main, exported, by path, one file, default]\n";
    assert_eq!(project.out(&["run", "work/src/main.harn"]), expected);
    // The search ends at the root of the repository.
    fs::create_dir(project.path().join("work/.git")).unwrap();
    assert_eq!(
        error(&project, "work/src/main.harn"),
        "error: Import error: cannot read 'solo': No such file or directory (os error 2)"
    );
}

#[test]
fn a_file_beside_the_importer_comes_before_a_package() {
    let project = project(&[
        ("main.harn", "import \"tools\"\nprintln(which())\n"),
        ("tools.harn", "pub fn which() { return \"file\" }\n"),
        (".harn/packages/tools/lib.harn", "pub fn which() { return \"package\" }\n"),
    ]);
    assert_eq!(project.out(&["run", "main.harn"]), "file\n");
    fs::remove_file(project.path().join("tools.harn")).unwrap();
    assert_eq!(project.out(&["run", "main.harn"]), "package\n");
}

#[test]
fn a_package_exports_only_what_is_in_it() {
    let project = project(&[
        ("secret.harn", "pub fn secret() { return 1 }\n"),
        (
            ".harn/packages/bad/harn.toml",
            "[exports]\nup = \"../../../secret.harn\"\nroot = \"/etc/passwd\"\nodd = 3\n",
        ),
        (".harn/packages/torn/harn.toml", "[exports\n"),
        ("up.harn", "import \"bad/up\"\n"),
        ("root.harn", "import \"bad/root\"\n"),
        ("odd.harn", "import \"bad/odd\"\n"),
        ("tear.harn", "import \"torn\"\n"),
        ("dots.harn", "import \"../nothing/../secret\"\n"),
    ]);
    let cases = [
        ("up.harn", "'bad/up': the package exports 'up' from '../../../secret.harn', which is outside of it"),
        ("root.harn", "'bad/root': the package exports 'root' from '/etc/passwd', which is outside of it"),
        ("odd.harn", "'bad/odd': the package exports 'odd' as something that is not a path"),
        ("dots.harn", "'../nothing/../secret': No such file or directory (os error 2)"),
    ];
    for (script, reason) in cases {
        assert_eq!(error(&project, script), format!("error: Import error: cannot read {reason}"));
    }
    let torn = error(&project, "tear.harn");
    assert!(
        torn.starts_with("error: Import error: cannot read 'torn': ") && torn.ends_with("is not TOML"),
        "{torn}"
    );
}

#[cfg(unix)]
#[test]
fn a_package_may_be_a_link() {
    let project = project(&[
        ("main.harn", "import \"linked\"\nprintln(here())\n"),
        ("elsewhere/lib.harn", "import \"part\"\npub fn here() { return part() }\n"),
        ("elsewhere/part.harn", "pub fn part() { return \"linked\" }\n"),
    ]);
    let packages = project.path().join(".harn/packages");
    fs::create_dir_all(&packages).unwrap();
    std::os::unix::fs::symlink(project.path().join("elsewhere"), packages.join("linked")).unwrap();
    assert_eq!(project.out(&["run", "main.harn"]), "linked\n");
}

#[test]
fn standard_modules_need_no_files_and_their_errors_point_at_the_caller() {
    let project =
        project(&[("main.harn", "import \"std/math\"\n\nprintln(sum([1, 2]))\nprintln(median([]))\n")]);
    let output = project.run(&["run", "main.harn"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "3\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("error: Thrown: median: items must not be empty\n --> main.harn:4:9\n"),
        "{said}"
    );
    assert!(!said.contains("std/math"), "{said}");
}

#[test]
fn templates_are_beside_the_module_and_their_parts_beside_them() {
    let project = project(&[
        (
            "main.harn",
            "import \"prompts/lib\"\nprintln(greeting(\"Ada\"))\nprintln(render(\"own.txt\", {n: 1}))\n\
             println(greetings([\"B\"]))\nprintln(render_prompt(\"prompts/parts/end.txt\"))\n",
        ),
        (
            "prompts/lib.harn",
            "pub fn greeting(name) { return render(\"hello.txt\", {name: name}) }\n\
             pub fn greetings(names) { return names.map({ name -> render(\"hello.txt\", {name: name}) }) }\n",
        ),
        ("prompts/hello.txt", "Hello {{ name }}{{ include \"parts/middle.txt\" with {who: name} }}"),
        ("prompts/parts/middle.txt", ", dear {{ who }}{{ include \"end.txt\" }}"),
        ("prompts/parts/end.txt", "."),
        ("own.txt", "n={{ n }}"),
    ]);
    let expected = "Hello Ada, dear Ada.\nn=1\n[Hello B, dear B.]\n.\n";
    assert_eq!(project.out(&["run", "main.harn"]), expected);
    // From anywhere.
    fs::create_dir(project.path().join("sub")).unwrap();
    let script = project.path().join("main.harn");
    assert_eq!(project.out(&["run", script.to_str().unwrap()]), expected);
}

#[test]
fn templates_that_cannot_be_rendered_say_why() {
    let project = project(&[
        ("none.harn", "render(\"none.txt\")\n"),
        ("circle.harn", "render(\"a.txt\")\n"),
        ("lost.harn", "render(\"lost.txt\")\n"),
        ("a.txt", "a\n{{ include \"b.txt\" }}"),
        ("b.txt", "{{ include \"./a.txt\" }}"),
        ("lost.txt", "{{ include \"none.txt\" }}"),
    ]);
    assert_eq!(
        error(&project, "none.harn"),
        "error: Thrown: Failed to read template none.txt: No such file or directory (os error 2)"
    );
    let circle = error(&project, "circle.harn");
    assert!(circle.contains("circular include detected: "), "{circle}");
    assert_eq!(
        error(&project, "lost.harn"),
        "error: Thrown: Template error at line 1: Failed to read template none.txt: No such file or directory \
         (os error 2)"
    );
}
