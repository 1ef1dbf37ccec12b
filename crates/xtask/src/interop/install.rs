//! Installs the other programs into the build folder, once for each set of pinned versions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::process::Command;

use super::process::{command, run};
use super::report::line;
use super::{material, target};

const LIMIT: Duration = Duration::from_secs(300);

/// The programs, ready to be run.
pub struct Peers {
    /// The interpreter that has the SDKs.
    pub python: PathBuf,
    /// The script that starts aimock under Node.
    pub aimock: PathBuf,
}

pub async fn peers() -> anyhow::Result<Peers> {
    need("node", "nodejs").await?;
    need("npm", "npm").await?;
    need("python3", "python3").await?;
    let (sdks, aimock) = tokio::try_join!(sdks(), aimock())?;
    Ok(Peers { python: sdks.join("bin/python"), aimock: aimock.join(AIMOCK) })
}

const AIMOCK: &str = "node_modules/@copilotkit/aimock/dist/cli.js";

/// A tool of the machine; as root, one that is missing is installed.
async fn need(program: &str, package: &str) -> anyhow::Result<()> {
    if run(command(program).arg("--version"), LIMIT).await.is_ok() {
        return Ok(());
    }
    apt(package).await.with_context(|| format!("{program} is missing"))
}

async fn apt(package: &str) -> anyhow::Result<()> {
    let is_root = run(command("id").arg("-u"), LIMIT).await.is_ok_and(|id| id.trim() == "0");
    if !is_root || run(command("apt-get").arg("--version"), LIMIT).await.is_err() {
        bail!(
            "install the package {package} (Debian's name for it), or run this as root on Debian or Ubuntu"
        );
    }
    line(&format!("installing {package}"))?;
    let quiet = |arguments: &[&str]| {
        let mut command = command("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut quiet(&["update", "-qq"]), LIMIT).await?;
    run(&mut quiet(&["install", "-y", "-qq", package]), LIMIT).await?;
    Ok(())
}

async fn sdks() -> anyhow::Result<PathBuf> {
    let requirements = material().join("requirements.txt");
    let version = run(command("python3").arg("--version"), LIMIT).await?;
    installed("python", &requirements, &version, async |folder| {
        let venv = async || run(command("python3").args(["-m", "venv"]).arg(folder), LIMIT).await;
        if venv().await.is_err() {
            // Debian has the module in a package of its own.
            apt("python3-venv").await.context("python3 has no venv")?;
            venv().await?;
        }
        let mut pip = command(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"]);
        run(pip.arg(&requirements), LIMIT).await
    })
    .await
}

async fn aimock() -> anyhow::Result<PathBuf> {
    let manifest = material().join("package.json");
    let version = run(command("node").arg("--version"), LIMIT).await?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < 20) {
        bail!("aimock needs node 20.15 or newer, and this is {}; install a newer one", version.trim());
    }
    installed("node", &manifest, &version, async |folder| {
        std::fs::copy(&manifest, folder.join("package.json"))?;
        run(npm(folder).args(["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]), LIMIT)
            .await
    })
    .await
}

fn npm(folder: &Path) -> Command {
    let mut npm = command("npm");
    npm.current_dir(folder).arg("install");
    npm
}

/// The folder of a set of programs. A stamp of all that it was made of is written last, so that half an install or one
/// of other versions is made anew.
async fn installed(
    name: &str,
    pinned: &Path,
    runtime: &str,
    install: impl AsyncFnOnce(&Path) -> anyhow::Result<String>,
) -> anyhow::Result<PathBuf> {
    let folder = target().join("interop").join(name);
    let stamp = folder.join("installed");
    let pins = std::fs::read_to_string(pinned).with_context(|| format!("{}", pinned.display()))?;
    let wanted = format!("{runtime}\n{pins}");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    line(&format!("installing what {} names", pinned.file_name().unwrap_or_default().display()))?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    install(&folder).await.with_context(|| {
        format!("{} could not be installed; check that npm and pip reach their registries", pinned.display())
    })?;
    std::fs::write(&stamp, wanted)?;
    Ok(folder)
}
