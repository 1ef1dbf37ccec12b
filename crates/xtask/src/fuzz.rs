//! `cargo xtask fuzz`: the fuzzer on the language, seeded with the examples of the project.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use clap::Args;

#[derive(Args)]
pub struct Fuzz {
    /// What to try: all of them, one after the other, if none is named.
    #[arg(value_parser = TARGETS)]
    target: Option<String>,
    /// For so many seconds each.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

const TARGETS: [&str; 4] = ["parser", "formatter", "runner", "machine"];

/// Runs the targets and tells at the end what each has found. Fails if one has found something.
pub fn run(args: &Fuzz) -> Result<ExitCode> {
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))?;
    is_installed(&root)?;
    let seeds = seeds(&root)?;
    let mut lines = Vec::new();
    let mut has_found = false;
    for target in TARGETS.iter().filter(|target| args.target.as_deref().is_none_or(|asked| asked == **target))
    {
        let found = fuzz(&root, target, &seeds, args.seconds)?;
        has_found |= !found.is_empty();
        match found.as_slice() {
            [] => lines.push(format!("{target}: nothing found in {} s", args.seconds)),
            found => lines.extend(found.iter().map(|input| format!("{target}: FOUND {}", input.display()))),
        }
    }
    let mut out = stdout().lock();
    writeln!(out, "\n{}", lines.join("\n"))?;
    if has_found {
        writeln!(out, "To see one again: cargo +nightly fuzz run TARGET FILE")?;
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn cargo_fuzz(root: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    // Else the compiler that built this program would be taken, which is no nightly one.
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(root).args(["+nightly", "fuzz"]);
    cargo
}

fn is_installed(root: &Path) -> Result<()> {
    let asked = cargo_fuzz(root).arg("--version").output().context("cargo cannot be started")?;
    if !asked.status.success() {
        bail!(
            "cargo-fuzz cannot be started:\n{}\nIt is installed with\n  \
             rustup toolchain install nightly\n  cargo install cargo-fuzz",
            String::from_utf8_lossy(&asked.stderr).trim()
        );
    }
    Ok(())
}

/// The inputs that a target fails with.
fn fuzz(root: &Path, target: &str, seeds: &[PathBuf], seconds: u64) -> Result<Vec<PathBuf>> {
    let corpus = root.join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus)?;
    for (at, seed) in seeds.iter().enumerate() {
        fs::copy(seed, corpus.join(format!("seed-{at}")))?;
    }
    if !cargo_fuzz(root).args(["build", target]).status()?.success() {
        bail!("{target}: the target does not compile");
    }
    let artifacts = root.join("fuzz/artifacts").join(target);
    let before = files(&artifacts);
    let status = cargo_fuzz(root)
        .args(["run", target, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=20", "-rss_limit_mb=2048", "-max_len=4096"])
        .status()?;
    if status.success() {
        return Ok(Vec::new());
    }
    let after = files(&artifacts);
    let found =
        after.difference(&before).map(|(input, _)| input.strip_prefix(root).unwrap_or(input).to_owned());
    let found: Vec<PathBuf> = found.collect();
    if found.is_empty() {
        bail!("{target}: the fuzzer ended with {status} and left no input; see its messages above");
    }
    Ok(found)
}

/// With the time at which each was written: an input that was found before is written again.
fn files(folder: &Path) -> BTreeSet<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?))).collect()
}

/// Every Harn program of the project.
fn seeds(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates/harn-lang"), root.join("examples")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "harn") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
