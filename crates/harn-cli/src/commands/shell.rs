//! `harn completions` and `harn man`: what shells and `man` want to know about the command line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::say;
use crate::args::Harn;

pub fn completions(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Harn::command(), "harn", &mut script);
    print(&script)
}

pub fn man(out: Option<&Path>) -> Result<ExitCode> {
    let Some(folder) = out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Harn::command()).render(&mut page)?;
        return print(&page);
    };
    let unwritable = || format!("the pages cannot be written to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(unwritable)?;
    clap_mangen::generate_to(Harn::command(), folder).with_context(unwritable)?;
    say(format_args!("Wrote the pages to {}. Read one with: man -l {0}/harn.1", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// A closed pipe is the reader's choice and no error.
fn print(text: &[u8]) -> Result<ExitCode> {
    let _ = std::io::stdout().write_all(text);
    Ok(ExitCode::SUCCESS)
}
