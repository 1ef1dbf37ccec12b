//! The documentation of the language, held against the real binary: every example of every page is run, and the
//! list of chapters is that of the folder.
//!
//! How a block of a page is marked says what must hold for it:
//!
//! - `harn`: it runs without an error; if the next block is marked `text`, it prints exactly that.
//! - `harn` with a first line `// file: NAME`: it is written beside the program that follows.
//! - `harn,error`: it fails, and says what stands after `// error: `.
//! - `harn,check`: it is only checked, since it needs a host that is not there.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kit::{HARN, Project};

/// A block of a page.
struct Block {
    line: usize,
    mark: String,
    text: String,
}

/// A program of a page, with what is known about it.
struct Example {
    /// The page and the line, for the message of a failure.
    place: String,
    files: Vec<(String, String)>,
    text: String,
    fate: Fate,
}

enum Fate {
    Prints(Option<String>),
    Fails(String),
    Checks,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages about the language, in the order of their names.
fn chapters() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs/language")).unwrap();
    let mut pages: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    pages
}

fn name(page: &Path) -> String {
    page.file_name().unwrap().to_string_lossy().into_owned()
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(mark), false) => {
                blocks.push(Block { line: at + 1, mark: mark.trim().into(), text: String::new() });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => writeln!(blocks.last_mut().unwrap().text, "{line}").unwrap(),
            (None, false) => {}
        }
    }
    assert!(!is_open, "the last block has no end");
    blocks
}

/// What a page shows; the mistakes in how its blocks are marked are told in words.
fn examples(name: &str, page: &str) -> Result<Vec<Example>, String> {
    let blocks = blocks(page);
    let mut examples = Vec::new();
    let mut files = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let place = format!("{name}:{}", block.line);
        let first = block.text.lines().next().unwrap_or_default();
        let fate = match block.mark.as_str() {
            "harn" => {
                if let Some(file) = first.strip_prefix("// file: ") {
                    files.push((file.trim().to_owned(), block.text.clone()));
                    continue;
                }
                let shown = blocks.get(at + 1).filter(|next| next.mark == "text");
                Fate::Prints(shown.map(|next| next.text.clone()))
            }
            "harn,error" => {
                let said = block.text.lines().find_map(|line| line.trim().strip_prefix("// error: "));
                Fate::Fails(said.ok_or(format!("{place}: no line `// error: TEXT`"))?.trim().to_owned())
            }
            "harn,check" => Fate::Checks,
            mark if mark.starts_with("harn") => return Err(format!("{place}: what is `{mark}`?")),
            _ => continue,
        };
        let files = std::mem::take(&mut files);
        examples.push(Example { place, files, text: block.text.clone(), fate });
    }
    match files.first() {
        Some((file, _)) => Err(format!("{name}: no program follows the file {file}")),
        None => Ok(examples),
    }
}

/// What is wrong with an example, if anything is.
fn wrong(example: &Example) -> Option<String> {
    let project = Project::new();
    for (file, text) in &example.files {
        let path = project.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(project.path().join("example.harn"), &example.text).unwrap();
    let command = if matches!(example.fate, Fate::Checks) { "check" } else { "run" };
    let output = project.run(&[command, "example.harn"]);
    let out = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let is_right = match &example.fate {
        Fate::Prints(Some(shown)) => output.status.success() && out.trim_end() == shown.trim_end(),
        Fate::Prints(None) | Fate::Checks => output.status.success(),
        Fate::Fails(text) => !output.status.success() && (out.contains(text) || said.contains(text)),
    };
    let wanted = match &example.fate {
        Fate::Prints(Some(shown)) => format!("\n--- shown\n{shown}"),
        Fate::Fails(text) => format!("\n--- it must fail with\n{text}"),
        Fate::Prints(None) | Fate::Checks => String::new(),
    };
    let place = &example.place;
    (!is_right).then(|| format!("{place}: {}{wanted}\n--- output\n{out}\n--- errors\n{said}", output.status))
}

/// Examples wait for clocks and processes more than they compute, so several are run at once.
fn all_wrong(examples: &[Example]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || examples.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(take).filter(|example| wrong(example).is_some()).collect::<Vec<&Example>>()
    };
    let suspects: Vec<&Example> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    // The deadlines of examples are short and the clock is real: on a busy machine they get two more chances.
    suspects.into_iter().filter_map(|example| wrong(example).and_then(|_| wrong(example))).collect()
}

#[test]
fn every_example_does_what_its_page_says() {
    let pages = chapters().into_iter().chain([root().join("README.md")]);
    let mut found = Vec::new();
    let mut mistakes = Vec::new();
    for page in pages {
        match examples(&name(&page), &fs::read_to_string(&page).unwrap()) {
            Ok(more) => found.extend(more),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    assert!(found.len() >= 30, "only {} examples", found.len());
    mistakes.extend(all_wrong(&found));
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}

#[test]
fn an_example_that_is_wrong_is_found() {
    let wrong_ones = [
        ("```harn\nprintln(1)\n```\n```text\n2\n```\n", "shown"),
        ("```harn\nlet x = )\n```\n", "Expected expression"),
        ("```harn\nthrow \"x\"\n```\n", "Thrown: x"),
        ("```harn,error\n// error: y\nthrow \"x\"\n```\n", "must fail with"),
        ("```harn,error\n// error: y\nprintln(\"y\")\n```\n", "must fail with"),
        ("```harn,check\nlet x = )\n```\n", "Expected expression"),
    ];
    for (page, says) in wrong_ones {
        let found = examples("page", page).unwrap();
        let mistakes = all_wrong(&found);
        assert!(mistakes.len() == 1 && mistakes[0].contains(says), "{page}: {mistakes:?}");
    }
    let unreadable = [
        ("```harn,later\n```\n", "page:1: what is `harn,later`?"),
        ("\n```harn,error\nthrow 1\n```\n", "page:2: no line `// error: TEXT`"),
        ("```harn\n// file: a.harn\n```\n", "page: no program follows the file a.harn"),
    ];
    for (page, says) in unreadable {
        assert_eq!(examples("page", page).err().as_deref(), Some(says));
    }
    let right = "```harn\n// file: a/b.harn\npub fn one() { return 1 }\n```\nand\n```harn\nimport { one } from \"a/b\"\n\
                 println(one())\n```\nprints\n```text\n1\n```\n```harn,check\nmcp_connect(\"x\")\n```\n";
    let found = examples("page", right).unwrap();
    assert_eq!((found.len(), all_wrong(&found)), (2, Vec::new()));
}

/// The order in which chapters are read; whatever is not named comes last.
const ORDER: &[&str] = &[
    "tour.md",
    "syntax.md",
    "values.md",
    "text.md",
    "declarations.md",
    "errors.md",
    "types.md",
    "modules.md",
    "concurrency.md",
    "models.md",
    "agents.md",
    "people.md",
    "network.md",
    "tools.md",
    "std.md",
    "builtins.md",
    "vm.md",
];

/// One line for each chapter: its title, and its first sentence.
fn list_of_chapters() -> String {
    let mut pages: Vec<String> = chapters().iter().map(|page| name(page)).collect();
    pages.retain(|page| page != "README.md");
    pages.sort_by_key(|page| ORDER.iter().position(|known| known == page).unwrap_or(ORDER.len()));
    let mut list = String::new();
    for page in pages {
        let text = fs::read_to_string(root().join("docs/language").join(&page)).unwrap();
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or(&page);
        let paragraph = text.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
        let sentence = paragraph.split_inclusive(". ").next().unwrap_or_default().trim();
        writeln!(list, "- [{title}]({page}): {sentence}").unwrap();
    }
    list
}

#[test]
fn the_list_of_chapters_is_that_of_the_folder() {
    let file = root().join("docs/language/README.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once("## Chapters\n\n").expect("a list of chapters");
    let (_, after) = rest.split_once("\n\n").expect("something after the list");
    let written = format!("{before}## Chapters\n\n{}\n{after}", list_of_chapters());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &written).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == written, "run with UPDATE_DOCS=1");
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in chapters() {
        let text = prose(&fs::read_to_string(&page).unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") || (path.is_empty() && anchor.is_empty()) {
                continue;
            }
            let target = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            assert!(target.exists(), "{}: {link}", name(&page));
            let is_there =
                || fs::read_to_string(&target).unwrap().lines().any(|line| anchor_of(line) == anchor);
            assert!(anchor.is_empty() || is_there(), "{}: {link}", name(&page));
        }
    }
}

/// A page without its code.
fn prose(page: &str) -> String {
    let text: String = page.split("\n```").step_by(2).collect();
    text.split('`').step_by(2).collect()
}

/// What a heading is called in links.
fn anchor_of(line: &str) -> String {
    let heading = line.strip_prefix('#').map_or("", |rest| rest.trim_start_matches('#').trim());
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// What the pages show as good style is what `harn fmt` writes.
#[test]
fn the_front_page_the_tour_and_the_scripts_are_laid_out() {
    let project = Project::new();
    let mut names = Vec::new();
    for page in ["README.md", "tour.md"] {
        let text = fs::read_to_string(root().join("docs/language").join(page)).unwrap();
        for block in blocks(&text).into_iter().filter(|block| block.mark.starts_with("harn")) {
            let file = format!("{page}_{}.harn", block.line);
            fs::write(project.path().join(&file), &block.text).unwrap();
            names.push(file);
        }
    }
    for (file, text) in scripts() {
        fs::write(project.path().join(&file), text).unwrap();
        names.push(file);
    }
    let mut args = vec!["fmt", "--check"];
    args.extend(names.iter().map(String::as_str));
    let output = project.run(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The scripts in `examples/`, by name.
fn scripts() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("examples")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "harn"));
    paths.sort();
    paths.into_iter().map(|path| (name(&path), fs::read_to_string(path).unwrap())).collect()
}

/// Beside each script stands what it prints, and the page about them names it.
#[test]
fn the_scripts_print_what_stands_beside_them() {
    let scripts = scripts();
    assert!(scripts.len() >= 8);
    let listed = fs::read_to_string(root().join("examples/README.md")).unwrap();
    let mut found = Vec::new();
    for (file, text) in scripts {
        assert!(listed.contains(&format!("]({file})")), "examples/README.md does not name {file}");
        let beside = root().join("examples").join(&file).with_extension("txt");
        let shown = fs::read_to_string(beside).unwrap_or_else(|_| panic!("{file} has no .txt beside it"));
        found.push(Example { place: file, files: Vec::new(), text, fate: Fate::Prints(Some(shown)) });
    }
    let mistakes = all_wrong(&found);
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}

/// As long as nothing else runs tests, each is run in the place of the script's own pipeline.
#[test]
fn the_tests_in_the_scripts_pass() {
    let mut found = Vec::new();
    for (file, text) in scripts() {
        for (name, _) in text.split("@test\npipeline ").skip(1).filter_map(|rest| rest.split_once('(')) {
            let text = text
                .replace("pipeline default(", "pipeline other(")
                .replace(&format!("pipeline {name}("), "pipeline default(");
            let place = format!("{file}, test {name}");
            found.push(Example { place, files: Vec::new(), text, fate: Fate::Prints(Some(String::new())) });
        }
    }
    assert!(found.len() >= 3);
    let mistakes = all_wrong(&found);
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n\n"));
}

#[test]
fn the_examples_of_the_tools_print_what_the_page_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language/tools.md");
    let page = fs::read_to_string(page).unwrap();
    let project = Project::new();
    let path = format!("{}:{}", Path::new(HARN).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in format!("\n{block}").split("\n$ ").skip(1) {
            let (line, shown) = example.split_once('\n').unwrap_or((example, ""));
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(project.path()).env("PATH", &path);
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{line}: {output:?}");
            let printed = String::from_utf8(output.stdout).unwrap();
            if !shown.trim().is_empty() {
                assert_eq!(printed.trim_end(), shown.trim_end(), "{line}");
            }
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}
