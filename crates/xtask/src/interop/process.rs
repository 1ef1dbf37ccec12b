//! Programs that are run: none outlives us, none is waited for without end.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Of what a program said before it failed, this much is shown.
const SHOWN: usize = 4000;

/// A command that ends with us.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.kill_on_drop(true).stdin(Stdio::null());
    command
}

/// Runs it to its end and returns what it wrote; its failure is ours.
pub async fn run(command: &mut Command, limit: Duration) -> anyhow::Result<String> {
    feed(command.stdin(Stdio::null()), "", limit).await
}

/// Runs a Python script that reads JSON and writes JSON.
pub async fn json(python: &Path, script: &Path, arguments: &[&str], input: &Value) -> anyhow::Result<Value> {
    let mut command = command(python);
    // Bytecode would be written beside the sources.
    command.arg("-B").arg(script).args(arguments).stdin(Stdio::piped());
    // A proxy must not stand between programs of one machine.
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    let output = feed(&mut command, &input.to_string(), Duration::from_secs(120)).await?;
    serde_json::from_str(&output).with_context(|| format!("{} wrote no JSON: {output}", script.display()))
}

async fn feed(command: &mut Command, input: &str, limit: Duration) -> anyhow::Result<String> {
    let shown = format!("{:?}", command.as_std());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{shown} could not be started"))?;
    let stdin = child.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            stdin.write_all(input.as_bytes()).await?;
        }
        Ok::<_, std::io::Error>(())
    };
    let both = async { tokio::join!(write, child.wait_with_output()) };
    let (written, output) =
        timeout(limit, both).await.with_context(|| format!("{shown} did not end within {limit:?}"))?;
    let output = output?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said[said.len().saturating_sub(SHOWN)..]).into_owned();
        bail!("{shown} failed ({}):\n{said}", output.status);
    }
    // One that fails before it has read all says why by its status.
    written?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
