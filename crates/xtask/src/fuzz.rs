//! `cargo xtask fuzz`: the fuzzer on the language, seeded with the examples of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;

#[derive(Args)]
pub struct Fuzz {
    /// What to try: all of them, one after the other, if none is named.
    #[arg(value_parser = TARGETS)]
    target: Option<String>,
    /// For so many seconds each.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

const TARGETS: [&str; 4] = ["parser", "formatter", "runner", "machine"];

pub fn run(args: &Fuzz) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let seeds = seeds(&root)?;
    for target in TARGETS.iter().filter(|target| args.target.as_deref().is_none_or(|asked| asked == **target))
    {
        let corpus = root.join("fuzz/corpus").join(target);
        fs::create_dir_all(&corpus)?;
        for (at, seed) in seeds.iter().enumerate() {
            fs::copy(seed, corpus.join(format!("seed-{at}")))?;
        }
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, "--"])
            .arg(format!("-max_total_time={}", args.seconds))
            .args(["-timeout=20", "-rss_limit_mb=2048", "-max_len=4096"])
            .current_dir(&root)
            .status()
            .context(
                "cargo-fuzz cannot be started; `cargo install cargo-fuzz` and a nightly compiler are needed",
            )?;
        if !status.success() {
            bail!("{target}: found something, or did not start; what it found is in fuzz/artifacts/{target}");
        }
    }
    Ok(ExitCode::SUCCESS)
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
