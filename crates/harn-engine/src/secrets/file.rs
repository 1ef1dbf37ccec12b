//! Secrets in a file that `age` encrypts, and the index of those that are elsewhere.
//!
//! The key is in `HARN_SECRETS_KEY` or in a file beside it that only its owner can read. The latter keeps secrets out of
//! backups and searches of the other file; it does not keep out who can read both.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use age::secrecy::ExposeSecret;
use age::x25519::Identity;

use super::{Entry, SecretError};

pub const NAME: &str = "secrets.age";
const KEY: &str = "secrets.key";
const INDEX: &str = "secrets.json";
const VARIABLE: &str = "HARN_SECRETS_KEY";

type All = BTreeMap<String, Entry>;

pub fn read(folder: &Path) -> Result<All, SecretError> {
    let file = folder.join(NAME);
    let Some(sealed) = content(&file)? else { return Ok(All::new()) };
    let key =
        key(folder)?.ok_or_else(|| wrong(&file, format!("its key is neither in {VARIABLE} nor in {KEY}")))?;
    let plain = age::decrypt(&key, &sealed).map_err(|error| wrong(&file, error))?;
    serde_json::from_slice(&plain).map_err(|error| wrong(&file, error))
}

pub fn write(folder: &Path, all: &All) -> Result<(), SecretError> {
    let file = folder.join(NAME);
    let key = match key(folder)? {
        Some(key) => key,
        None => new_key(folder)?,
    };
    let plain = serde_json::to_vec(all).map_err(|error| wrong(&file, error))?;
    let sealed = age::encrypt(&key.to_public(), &plain).map_err(|error| wrong(&file, error))?;
    replace(&file, &sealed)
}

/// Names and hosts of secrets whose values are in the keychain.
pub fn read_index(folder: &Path) -> Result<All, SecretError> {
    let file = folder.join(INDEX);
    let Some(index) = content(&file)? else { return Ok(All::new()) };
    serde_json::from_slice(&index).map_err(|error| wrong(&file, error))
}

pub fn write_index(folder: &Path, all: &All) -> Result<(), SecretError> {
    let file = folder.join(INDEX);
    let index = serde_json::to_vec_pretty(all).map_err(|error| wrong(&file, error))?;
    replace(&file, &index)
}

fn key(folder: &Path) -> Result<Option<Identity>, SecretError> {
    let file = folder.join(KEY);
    let text = match std::env::var(VARIABLE) {
        Ok(text) if !text.trim().is_empty() => text,
        _ => match content(&file)? {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => return Ok(None),
        },
    };
    text.trim().parse().map(Some).map_err(|error: &str| wrong(&file, error))
}

fn new_key(folder: &Path) -> Result<Identity, SecretError> {
    let key = Identity::generate();
    replace(&folder.join(KEY), key.to_string().expose_secret().as_bytes())?;
    Ok(key)
}

fn content(file: &Path) -> Result<Option<Vec<u8>>, SecretError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(file, error)),
    }
}

/// As a whole or not at all, for its owner only.
fn replace(file: &Path, bytes: &[u8]) -> Result<(), SecretError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let beside: PathBuf = folder.join(format!(".{}.new", std::process::id()));
    let written = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).and_then(|()| {
        let mut new =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        new.write_all(bytes)?;
        new.sync_all()?;
        fs::rename(&beside, file)
    });
    written.map_err(|error| wrong(file, error))
}

fn wrong(file: &Path, why: impl ToString) -> SecretError {
    SecretError::File { file: file.display().to_string(), why: why.to_string() }
}
