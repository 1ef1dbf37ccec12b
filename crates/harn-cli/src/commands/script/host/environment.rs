//! What a script can learn about where it runs.

use std::path::Path;

use harn_lang::value::Value;
use harn_lang::vm::Call;

use super::{Answer, Place, text};

pub struct Environment {
    root: String,
    source: String,
    project: String,
    variables: Vec<(&'static str, String)>,
}

impl Environment {
    pub fn new(place: &Place) -> Self {
        Self {
            root: shown(&place.root),
            source: shown(&place.source),
            project: shown(&place.project),
            variables: place.variables.clone(),
        }
    }

    pub fn answer(&self, call: &Call) -> Option<Answer> {
        let value = match call.builtin {
            "env" => self.variable(&text(call, 0)).map(Value::str).unwrap_or_default(),
            "env_or" => match self.variable(&text(call, 0)) {
                Some(value) => Value::str(value),
                None => call.args.get(1).cloned().unwrap_or_default(),
            },
            "cwd" | "execution_root" => Value::str(&*self.root),
            "source_dir" => {
                let folder = std::path::absolute(super::super::files::folder_of(&text(call, 0)).join("."));
                Value::str(folder.map_or_else(|_| self.source.clone(), |folder| shown(&folder)))
            }
            "asset_root" => Value::str(&*self.source),
            "project_root" => Value::str(&*self.project),
            "runtime_paths" => Value::record([
                ("asset_root", Value::str(&*self.source)),
                ("execution_root", Value::str(&*self.root)),
                ("project_root", Value::str(&*self.project)),
                ("source_dir", Value::str(&*self.source)),
                ("state_root", Value::str(shown(&Path::new(&self.project).join(".harn")))),
            ]),
            "pid" => Value::Int(std::process::id().into()),
            "platform" => Value::str(match std::env::consts::OS {
                "macos" => "darwin",
                other => other,
            }),
            "arch" => Value::str(std::env::consts::ARCH),
            "hostname" => Value::str(hostname()),
            "username" => Value::str(username()),
            "home_dir" => Value::str(std::env::home_dir().map(|home| shown(&home)).unwrap_or_default()),
            _ => return None,
        };
        Some(Ok(value))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let own = self.variables.iter().find(|(known, _)| *known == name);
        own.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
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
