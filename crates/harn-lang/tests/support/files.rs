//! Files in memory.

use std::collections::{BTreeMap, BTreeSet};

use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::Call;

#[derive(Default)]
pub struct Files {
    files: BTreeMap<String, Value>,
    folders: BTreeSet<String>,
}

impl Files {
    /// The answer to a call, if it is about files.
    pub fn answer(&mut self, call: &Call) -> Option<Result<Value, Fault>> {
        let path = call.args.first().map(Value::display).unwrap_or_default();
        let path = path.trim_end_matches('/').to_owned();
        let content = || call.args.get(1).cloned().unwrap_or_default();
        Some(Ok(match call.builtin {
            "mkdir" => {
                let mut folder = path;
                while !folder.is_empty() {
                    let above = parent(&folder);
                    self.folders.insert(folder);
                    folder = above;
                }
                Value::Nil
            }
            "write_file" => {
                self.files.insert(path, content().display().into());
                Value::Nil
            }
            "write_file_bytes" => {
                self.files.insert(path, content());
                Value::Nil
            }
            "read_file" => {
                let missing = || Fault::thrown(format!("Failed to read file {path}: there is none"));
                return Some(self.files.get(&path).cloned().ok_or_else(missing));
            }
            "file_exists" => Value::Bool(self.files.contains_key(&path) || self.folders.contains(&path)),
            "delete_file" => {
                self.files.remove(&path);
                Value::Nil
            }
            "stat" if self.files.contains_key(&path) || self.folders.contains(&path) => {
                Value::record([("is_dir", Value::Bool(self.folders.contains(&path)))])
            }
            "stat" => return Some(Err(Fault::thrown(format!("Failed to stat {path}: there is none")))),
            "list_dir" => {
                let all = self.files.keys().chain(&self.folders).filter(|known| parent(known) == path);
                let mut names: Vec<&str> =
                    all.map(|known| known.rsplit('/').next().unwrap_or(known)).collect();
                names.sort_unstable();
                Value::list(names.into_iter().map(Value::str).collect())
            }
            _ => return None,
        }))
    }
}

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())
}
