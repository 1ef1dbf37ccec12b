//! The file of a recording: a script in memory, and on disk always a whole version of it.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use harn_core::price::Prices;
use serde_json::{Map, Value, json};

use super::RecordingError;
use crate::{ModelCard, ScriptError, ScriptedModel};

/// The whole script is written with every answer, so it must not grow for ever.
const LARGEST: u64 = 32 << 20;
/// The list of the script that recordings are in.
const LIST: &str = "recorded";

pub(super) struct ScriptFile {
    path: PathBuf,
    script: Map<String, Value>,
}

/// Why an answer is not in the recording.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotRecorded {
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("the script would be larger than {LARGEST} bytes; record into a new file")]
    Full,
    #[error("a script cannot express it: {0}")]
    Inexpressible(String),
}

impl ScriptFile {
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = path.display().to_string();
        let unwritable = |source| RecordingError::Unwritable { file: file.clone(), source };
        let opened = match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(RecordingError::NotAFile { file }),
            Ok(found) if found.len() > LARGEST => {
                return Err(RecordingError::TooLarge { file, bytes: found.len(), most: LARGEST });
            }
            Ok(_) => {
                // A link stays a link: the script is where it leads.
                let path = path.canonicalize().map_err(unwritable)?;
                Self { script: existing(&path, &file)?, path }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let script = Map::from_iter([(LIST.to_owned(), json!([]))]);
                Self { path: std::path::absolute(path).map_err(unwritable)?, script }
            }
            Err(error) => return Err(unwritable(error)),
        };
        // Here, and not with the first answer, somebody is there to read why it cannot be written.
        opened.write().map_err(|error| match error {
            NotRecorded::Disk(source) => unwritable(source),
            other => unwritable(io::Error::other(other.to_string())),
        })?;
        Ok(opened)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry and writes the script. What the disk did not take is written with the next entry.
    pub fn add(&mut self, card: ModelCard, entry: Value) -> Result<(), NotRecorded> {
        let alone = json!({ LIST: [entry] });
        // A script is read with bounds, such as on nesting, that a model's own arguments may just have kept.
        ScriptedModel::from_json(&alone.to_string())
            .map_err(|error| NotRecorded::Inexpressible(error.to_string()))?;
        // Played back, it is as large and as dear as the first model that was recorded.
        if is_blank(&self.script) {
            self.script.insert("context_window".into(), json!(card.context_window));
            // A script without a price is free.
            if let Some(price) = card.prices.filter(|prices| *prices != Prices::free()) {
                self.script.insert("price".into(), json!(price));
            }
        }
        let list = self.script.entry(LIST).or_insert_with(|| json!([]));
        if let (Some(list), Value::Object(mut alone)) = (list.as_array_mut(), alone)
            && let Some(Value::Array(entries)) = alone.remove(LIST)
        {
            list.extend(entries);
        }
        let written = self.write();
        if matches!(written, Err(NotRecorded::Full))
            && let Some(list) = self.script.get_mut(LIST).and_then(Value::as_array_mut)
        {
            list.pop();
        }
        written
    }

    fn write(&self) -> Result<(), NotRecorded> {
        let mut text = serde_json::to_vec_pretty(&self.script).map_err(io::Error::from)?;
        text.push(b'\n');
        if text.len() as u64 > LARGEST {
            return Err(NotRecorded::Full);
        }
        let part = beside(&self.path);
        let written = write_new(&part, &text).and_then(|()| fs::rename(&part, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        Ok(written?)
    }
}

fn existing(path: &Path, file: &str) -> Result<Map<String, Value>, RecordingError> {
    let foreign = |source| RecordingError::Foreign { file: file.to_owned(), source };
    let unreadable = |source| foreign(ScriptError::Unreadable { file: file.to_owned(), source });
    ScriptedModel::from_file(path).map_err(foreign)?;
    let text = fs::read(path).map_err(unreadable)?;
    serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))
}

/// Nothing is in it, by hand or otherwise.
fn is_blank(script: &Map<String, Value>) -> bool {
    script.len() == 1 && script.get(LIST).is_some_and(|list| *list == json!([]))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    path.with_file_name(name)
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    // Left by a process that was killed. Made anew, so that nobody else holds it open or chose what it links to.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_data()
}
