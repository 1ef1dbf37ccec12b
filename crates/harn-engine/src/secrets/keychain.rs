//! The keychain of the system, where there is one that answers.

use keyring::Entry;

use super::SecretError;

const SERVICE: &str = "harn";

pub fn is_there() -> bool {
    // A Linux machine without a session has no service that could answer, and asking would only take time.
    let has_session = !cfg!(target_os = "linux") || std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some();
    has_session && Entry::store_status().is_ok()
}

pub fn put(name: &str, value: &str) -> Result<(), SecretError> {
    entry(name)?.set_password(value).map_err(failed)
}

pub fn get(name: &str) -> Result<String, SecretError> {
    entry(name)?.get_password().map_err(failed)
}

pub fn remove(name: &str) -> Result<(), SecretError> {
    entry(name)?.delete_credential().map_err(failed)
}

fn entry(name: &str) -> Result<Entry, SecretError> {
    Entry::new(SERVICE, name).map_err(failed)
}

fn failed(error: keyring::Error) -> SecretError {
    SecretError::Keychain(error.to_string())
}
