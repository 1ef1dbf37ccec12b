//! `harn new`: a folder with a script that runs at once, and tests for it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::NewArgs;
use crate::commands::say;
use crate::output::{Table, Tone, plain};
use crate::problem::Problem;

/// What a folder can begin with.
struct Template {
    name: &'static str,
    /// One sentence for the list.
    about: &'static str,
    /// Path in the folder, and text; `{{name}}` in it stands for the name of the folder.
    files: &'static [(&'static str, &'static str)],
}

const MANIFEST: (&str, &str) = ("harn.toml", include_str!("harn.toml"));
const IGNORED: (&str, &str) = (".gitignore", ".harn/\n");

const TEMPLATES: &[Template] = &[
    Template {
        name: "script",
        about: "a script with arguments, a module and tests",
        files: &[
            ("main.harn", include_str!("script/main.harn")),
            ("lib/greeting.harn", include_str!("script/greeting.harn")),
            ("tests/greeting_test.harn", include_str!("script/greeting_test.harn")),
            ("README.md", include_str!("script/README.md")),
            IGNORED,
        ],
    },
    Template {
        name: "tool",
        about: "a tool for agents, called by hand and by tests",
        files: &[
            ("main.harn", include_str!("tool/main.harn")),
            ("lib/count.harn", include_str!("tool/count.harn")),
            ("tests/count_test.harn", include_str!("tool/count_test.harn")),
            ("README.md", include_str!("tool/README.md")),
            IGNORED,
        ],
    },
    Template {
        name: "pipeline",
        about: "a pipeline of steps for an agent's task, with its configuration",
        files: &[
            ("main.harn", include_str!("pipeline/main.harn")),
            ("lib/plan.harn", include_str!("pipeline/plan.harn")),
            ("tests/plan_test.harn", include_str!("pipeline/plan_test.harn")),
            ("README.md", include_str!("pipeline/README.md")),
            MANIFEST,
            IGNORED,
        ],
    },
    Template {
        name: "tests",
        about: "tests alone: helpers, failing calls, and a clock that stands still",
        files: &[
            ("main.harn", include_str!("tests/main.harn")),
            ("tests/helpers.harn", include_str!("tests/helpers.harn")),
            ("tests/example_test.harn", include_str!("tests/example_test.harn")),
            ("README.md", include_str!("tests/README.md")),
            IGNORED,
        ],
    },
];

pub fn new(args: &NewArgs) -> Result<ExitCode> {
    let Some(folder) = args.name.as_deref().filter(|_| !args.list) else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let Some(template) = TEMPLATES.iter().find(|template| template.name == args.template) else {
        return Err(Problem::usage(format!("there is no template `{}`", plain(&args.template)))
            .hint("`harn new --list` shows them")
            .into());
    };
    let shown = plain(&folder.display().to_string());
    let Some(name) = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_name(name)) else {
        return Err(Problem::usage(format!("`{shown}` is no name for a folder with scripts"))
            .hint("take letters, digits, `-`, `_` and `.`, such as my-agent")
            .into());
    };
    make(folder, name, template).with_context(|| format!("{shown} cannot be made"))?;
    say(format_args!("{shown} is made. Try:"));
    say(format_args!("  cd {shown}"));
    say("  harn run main.harn");
    say("  harn test");
    Ok(ExitCode::SUCCESS)
}

fn list() {
    let mut table = Table::new(&["TEMPLATE", "WHAT IT IS"]);
    for template in TEMPLATES {
        table.row([(Tone::Strong, template.name.to_owned()), (Tone::Plain, template.about.to_owned())]);
    }
    table.say();
}

fn is_name(name: &str) -> bool {
    let is_fine = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    // A name that begins with `-` would be taken for a flag.
    name.chars().all(is_fine) && name.chars().any(char::is_alphanumeric) && !name.starts_with('-')
}

/// Fails where there is something already: a folder that is made anew belongs to nobody else.
fn make(folder: &Path, name: &str, template: &Template) -> Result<()> {
    if let Some(outer) = folder.parent().filter(|outer| !outer.as_os_str().is_empty()) {
        fs::create_dir_all(outer)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Problem::new("there is something already")
                .hint("take another name; nothing is ever overwritten")
                .into());
        }
        made => made?,
    }
    for (path, text) in template.files {
        let file = folder.join(path);
        if let Some(inner) = file.parent() {
            fs::create_dir_all(inner)?;
        }
        fs::write(file, text.replace("{{name}}", name))?;
    }
    Ok(())
}
