//! The circumstances of a command: who calls, and under which idempotency key.

use harn_core::hash::Sha256Hash;
use harn_core::{Actor, Code, Error, Result, Timestamp, WorkspaceId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault;
use crate::tx::{Tx, kind};

/// Responses are kept at least this long for retries.
pub const IDEMPOTENCY_TTL_MS: i64 = 24 * 3600 * 1000;

/// A client's promise that this is the same request as any other with this key.
#[derive(Clone, Debug)]
pub struct Idempotency {
    pub key: String,
    pub method: String,
    /// The canonical target: the path, without query.
    pub target: String,
    /// Of the body's canonical JSON.
    pub body: Sha256Hash,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub actor: Actor,
    pub idempotency: Option<Idempotency>,
}

impl Call {
    pub fn new(actor: Actor) -> Self {
        Self { actor, idempotency: None }
    }

    /// Calls that the harness makes itself.
    pub(crate) fn harness() -> Self {
        Self::new(Actor::owner("harness"))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredResponse {
    pub id: String,
    pub body: String,
    pub response: Value,
    pub expires_at: Timestamp,
}

impl Tx<'_> {
    /// Runs a write once per idempotency key: a retry gets the first answer, another body is refused.
    /// The answer is stored in the same commit as what it answers for.
    pub fn once<T, F>(&mut self, workspace: Option<&WorkspaceId>, write: F) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&mut Self) -> Result<T>,
    {
        let Some(claim) = self.call.idempotency.clone() else { return write(self) };
        let scope = Sha256Hash::of_pieces(&[
            self.call.actor.id.as_bytes(),
            workspace.map_or("", |id| id.as_str()).as_bytes(),
            claim.method.as_bytes(),
            claim.target.as_bytes(),
            claim.key.as_bytes(),
        ])
        .to_string();
        let stored: Option<StoredResponse> = self.get(kind::IDEMPOTENCY, &scope)?;
        if let Some(stored) = stored.filter(|stored| stored.expires_at > self.now) {
            return replay(stored, &claim);
        }
        let result = write(self)?;
        let response = serde_json::to_value(&result).map_err(|error| fault(error.into()))?;
        let expires_at = self.now.plus_millis(IDEMPOTENCY_TTL_MS);
        let stored = StoredResponse { id: scope, body: claim.body.to_string(), response, expires_at };
        self.fact("idempotency.recorded", &stored)?;
        Ok(result)
    }
}

fn replay<T: DeserializeOwned>(stored: StoredResponse, claim: &Idempotency) -> Result<T> {
    if stored.body != claim.body.to_string() {
        return Err(Error::new(
            Code::IdempotencyKeyReused,
            format!("The idempotency key `{}` was used with another body. Use a new key.", claim.key),
        )
        .param("Idempotency-Key"));
    }
    serde_json::from_value(stored.response).map_err(|error| fault(error.into()))
}

/// Removes the answers that nobody may ask for any more.
pub(crate) fn prune(tx: &mut Tx<'_>) -> Result<()> {
    #[derive(Serialize)]
    struct Pruned {
        before: Timestamp,
    }
    let before = tx.now;
    let oldest = harn_log::DocQuery { limit: 1, ..harn_log::DocQuery::of(kind::IDEMPOTENCY) };
    let due = tx.find::<StoredResponse>(&oldest)?.first().is_some_and(|stored| stored.expires_at <= before);
    if due {
        tx.fact("idempotency.pruned", &Pruned { before })?;
    }
    Ok(())
}
