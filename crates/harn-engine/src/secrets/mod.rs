//! Secrets: kept in the keychain of the system, or encrypted in a file where there is none.
//!
//! A program never holds one. It holds a placeholder, and where a request leaves for a host that a secret is meant for, or
//! a program starts that may have it, the placeholder gives way to the secret. What comes back has the placeholder again.

mod file;
mod fill;
mod keychain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use harn_core::{Clock, SystemClock, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use fill::{Filling, Sink, placeholder, refuse};

/// A shorter value would be found everywhere in what comes back.
const SHORTEST: usize = 4;

/// Where values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Keychain,
    File,
}

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("there is no secret `{0}`; store it with `harn connect api-key {0} --host HOST`")]
    Unknown(String),
    #[error("the secret `{name}` may not go to {to}; `harn connect list` says where it may go")]
    Place { name: String, to: String },
    #[error(
        "the value of `{0}` is too short: it has less than 4 characters, and could not be told from other text"
    )]
    Short(String),
    #[error("a name has letters, digits, `_`, `-`, `.` and `/`, and at most 128 of them; `{0}` is none")]
    Name(String),
    #[error("{file} cannot be used: {why}")]
    File { file: String, why: String },
    #[error(
        "the keychain of the system cannot be used: {0}; HARN_SECRETS=file keeps secrets in an encrypted file instead"
    )]
    Keychain(String),
}

/// Where a secret may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct May {
    pub hosts: Vec<String>,
    pub programs: Vec<String>,
}

/// What is known about a secret without knowing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Hosts that it may be sent to; `*.example.com` stands for all below.
    pub hosts: Vec<String>,
    /// Programs that may have it in their environment, as they are called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    pub stored_at: Timestamp,
    /// The value itself, in a file that is encrypted; elsewhere nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// The secrets of a user. Nothing is opened before it is needed.
pub struct Secrets {
    folder: PathBuf,
    kept: Option<Kept>,
    /// Writers take turns.
    lock: Mutex<()>,
}

impl Secrets {
    /// Those in this folder, in the keychain if there is one, unless it is said where.
    pub fn at(folder: impl Into<PathBuf>, kept: Option<Kept>) -> Self {
        Self { folder: folder.into(), kept, lock: Mutex::new(()) }
    }

    /// Those of whoever runs this process. `HARN_SECRETS` says `file` or `keychain`.
    pub fn of_user() -> Self {
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let config = config.or_else(|| Some(std::env::home_dir()?.join(".config")));
        let kept = match std::env::var("HARN_SECRETS").as_deref() {
            Ok("file") => Some(Kept::File),
            Ok("keychain") => Some(Kept::Keychain),
            _ => None,
        };
        Self::at(config.unwrap_or_default().join("harn"), kept)
    }

    /// Where values are kept here.
    pub fn kept(&self) -> Kept {
        match self.kept {
            Some(kept) => kept,
            // What is there already stays where it is.
            None if self.folder.join(file::NAME).is_file() => Kept::File,
            None if keychain::is_there() => Kept::Keychain,
            None => Kept::File,
        }
    }

    pub fn put(&self, name: &str, value: &str, May { hosts, programs }: May) -> Result<Kept, SecretError> {
        check_name(name)?;
        if value.len() < SHORTEST {
            return Err(SecretError::Short(name.to_owned()));
        }
        let _turn = self.lock.lock();
        let kept = self.kept();
        let mut all = self.read(kept)?;
        let value = match kept {
            Kept::File => Some(value.to_owned()),
            Kept::Keychain => {
                keychain::put(name, value)?;
                None
            }
        };
        all.insert(name.to_owned(), Entry { hosts, programs, stored_at: SystemClock.now(), value });
        self.write(kept, &all)?;
        Ok(kept)
    }

    /// Whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool, SecretError> {
        let _turn = self.lock.lock();
        let kept = self.kept();
        let mut all = self.read(kept)?;
        if all.remove(name).is_none() {
            return Ok(false);
        }
        if kept == Kept::Keychain {
            keychain::remove(name)?;
        }
        self.write(kept, &all)?;
        Ok(true)
    }

    pub fn list(&self) -> Result<Vec<(String, Entry)>, SecretError> {
        let all = self.read(self.kept())?;
        Ok(all.into_iter().map(|(name, entry)| (name, Entry { value: None, ..entry })).collect())
    }

    pub fn has(&self, name: &str) -> Result<bool, SecretError> {
        Ok(self.read(self.kept())?.contains_key(name))
    }

    fn value_for(&self, name: &str, sink: &Sink) -> Result<String, SecretError> {
        let kept = self.kept();
        let unknown = || SecretError::Unknown(name.to_owned());
        let entry = self.read(kept)?.remove(name).ok_or_else(unknown)?;
        if !sink.may_have(&entry) {
            return Err(SecretError::Place { name: name.to_owned(), to: sink.to_string() });
        }
        match kept {
            Kept::File => entry.value.ok_or_else(unknown),
            Kept::Keychain => keychain::get(name),
        }
    }

    fn read(&self, kept: Kept) -> Result<BTreeMap<String, Entry>, SecretError> {
        match kept {
            Kept::File => file::read(&self.folder),
            Kept::Keychain => file::read_index(&self.folder),
        }
    }

    fn write(&self, kept: Kept, all: &BTreeMap<String, Entry>) -> Result<(), SecretError> {
        match kept {
            Kept::File => file::write(&self.folder, all),
            Kept::Keychain => file::write_index(&self.folder, all),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn check_name(name: &str) -> Result<(), SecretError> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    match (1..=128).contains(&name.len()) && name.chars().all(is_letter) {
        true => Ok(()),
        false => Err(SecretError::Name(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_only_where_it_may_and_is_not_readable_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::at(folder.path().join("harn"), Some(Kept::File));
        let hosts = vec!["api.github.com".into(), "*.example.com".into()];
        secrets.put("github", "tok-123456", May { hosts, ..May::default() }).unwrap();
        let value = |name: &str, host: &str| secrets.value_for(name, &Sink::Host(host.into()));
        assert_eq!(value("github", "API.github.com").unwrap(), "tok-123456");
        assert_eq!(value("github", "a.example.com").unwrap(), "tok-123456");
        for host in ["example.com", "evil.com", "api.github.com.evil.com", "badexample.com"] {
            assert!(matches!(value("github", host), Err(SecretError::Place { .. })), "{host}");
        }
        assert!(matches!(value("other", "x"), Err(SecretError::Unknown(_))));
        for file in std::fs::read_dir(secrets.folder()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(10).any(|part| part == b"tok-123456"));
        }
        // Another one reads what the first wrote.
        let again = Secrets::at(folder.path().join("harn"), None);
        assert_eq!(again.list().unwrap()[0].0, "github");
        assert!(again.remove("github").unwrap() && !again.remove("github").unwrap());
        assert_eq!(secrets.list().unwrap(), []);
    }

    #[test]
    fn names_and_values_that_could_mean_something_else_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::at(folder.path(), Some(Kept::File));
        for name in ["", "a b", "a}}", &"x".repeat(129)] {
            assert!(
                matches!(secrets.put(name, "value", May::default()), Err(SecretError::Name(_))),
                "{name}"
            );
        }
        assert!(matches!(secrets.put("name", "abc", May::default()), Err(SecretError::Short(_))));
    }
}
