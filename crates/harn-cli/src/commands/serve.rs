//! tmp
use crate::args::ServeArgs;
pub fn run(_o: ServeArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("x")
}
