//! What can go wrong with the log, by what the caller would do about it.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("the disk or the log's size limit is full; nothing was written")]
    Full,
    #[error("the log has stopped: {0}")]
    Stopped(String),
    #[error(
        "another process took over this log (its epoch is {found}, ours is {ours}); this one may not write"
    )]
    Stale { ours: u64, found: u64 },
    #[error("an effect of this run already has a completion for key `{0}`")]
    DuplicateKey(String),
    #[error("the log is damaged: {0}")]
    Corrupt(String),
    #[error("the log failed: {0}")]
    Io(String),
    #[error("{0}")]
    Owned(String),
    #[error("{0}")]
    Absent(String),
}

impl From<rusqlite::Error> for LogError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            None if is_unreadable(&error) => Self::Corrupt(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

/// A stored value that is not what its column holds.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

impl From<std::io::Error> for LogError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for LogError {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(format!("a stored document does not parse: {error}"))
    }
}
