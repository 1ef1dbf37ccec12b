//! What a script can learn about where it runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::{self, Args};
use super::simple::reads;
use crate::tools::{Tool, ToolContext};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        reads("env", "An environment variable, or nil.", |ctx, args| Ok(variable(ctx, args).into())),
        reads("env_or", "An environment variable, or the default.", |ctx, args| {
            let value = variable(ctx, args).map(Value::from);
            Ok(value.unwrap_or_else(|| args.get("default").cloned().unwrap_or_default()))
        }),
        reads("cwd", "The current folder.", |ctx, _| Ok(shown(&ctx.place.root))),
        reads("execution_root", "The folder that relative paths start at.", |ctx, _| {
            Ok(shown(&ctx.place.root))
        }),
        reads("source_dir", "The folder of the calling module.", |ctx, args| {
            Ok(shown(&module_folder(ctx, args)))
        }),
        reads("asset_root", "The folder of the files that belong to the script.", |ctx, _| {
            Ok(shown(&ctx.place.source))
        }),
        reads("project_root", "The root of the project.", |ctx, _| Ok(shown(&ctx.place.project))),
        reads("runtime_paths", "The folders that the runtime uses.", |ctx, _| Ok(paths(ctx))),
        reads("pid", "The id of the process.", |_, _| Ok(std::process::id().into())),
        reads("platform", "The operating system.", |_, _| {
            Ok(match std::env::consts::OS {
                "macos" => "darwin",
                other => other,
            }
            .into())
        }),
        reads("arch", "The processor architecture.", |_, _| Ok(std::env::consts::ARCH.into())),
        reads("hostname", "The name of the machine.", |_, _| Ok(hostname().into())),
        reads("username", "The name of the user.", |_, _| Ok(username().into())),
        reads("home_dir", "The home folder.", |_, _| {
            Ok(std::env::home_dir().map(|home| shown(&home)).unwrap_or_else(|| "".into()))
        }),
    ]
}

/// The folder of the module that called; what is in no file is at the root.
fn module_folder(ctx: &ToolContext, args: &Args) -> PathBuf {
    let module = args::text(args, "from");
    let folder = Path::new(&module).parent().unwrap_or(Path::new(""));
    // Collected anew, so that there is no `.` in it and no slash at its end.
    ctx.place.base.join(folder).components().collect()
}

fn paths(ctx: &ToolContext) -> Value {
    let place = &ctx.place;
    json!({
        "asset_root": shown(&place.source),
        "execution_root": shown(&place.root),
        "project_root": shown(&place.project),
        "source_dir": shown(&place.source),
        "state_root": shown(&place.state()),
    })
}

fn variable(ctx: &ToolContext, args: &Args) -> Option<String> {
    ctx.place.variable(&args::text(args, "name"), ctx.trust)
}

fn shown(path: &Path) -> Value {
    path.display().to_string().into()
}

fn hostname() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let told = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    let name = told.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

fn username() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    user.map(|user| user.name).or_else(|| std::env::var("USER").ok()).unwrap_or_default()
}
