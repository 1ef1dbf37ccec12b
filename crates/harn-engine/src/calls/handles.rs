//! What a run has opened: streams, sockets, watchers. They live as long as the driver; after a recovery the first use
//! of one is told that it is gone.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Pieces;
use crate::tools::ToolFailure;

#[derive(Default)]
pub struct Handles {
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    thing: Arc<dyn Any + Send + Sync>,
    closed: CancellationToken,
}

impl Handles {
    /// Keeps something under an id that the program chose or was given.
    pub fn put<T: Any + Send + Sync>(&self, id: impl Into<String>, thing: T) {
        self.put_shared(id, Arc::new(thing));
    }

    /// The same with something that is used from elsewhere too.
    pub fn put_shared<T: Any + Send + Sync>(&self, id: impl Into<String>, thing: Arc<T>) {
        let open = Open { thing, closed: CancellationToken::new() };
        self.open.lock().insert(id.into(), open);
    }

    /// Keeps something under an id of its own.
    pub fn put_new<T: Any + Send + Sync>(&self, kind: &str, thing: T) -> String {
        let id = format!("{kind}-{}", uuid::Uuid::now_v7().simple());
        self.put(id.as_str(), thing);
        id
    }

    pub fn get<T: Any + Send + Sync>(&self, id: &str) -> Result<Arc<T>, ToolFailure> {
        let found = self.open.lock().get(id).map(|open| Arc::clone(&open.thing));
        found.and_then(|thing| thing.downcast::<T>().ok()).ok_or_else(|| {
            ToolFailure::categorised(
                "interrupted",
                format!("`{id}` is not open: it was closed, or Harn was restarted since. Open it again."),
            )
        })
    }

    /// Whether all that is open can be had again: what an answer has said so far is in the answer, too.
    pub fn may_go(&self) -> bool {
        self.open.lock().values().all(|open| open.thing.is::<Pieces>())
    }

    /// What comes of work with something; none if that is closed meanwhile.
    pub async fn while_open<T>(&self, id: &str, work: impl Future<Output = T>) -> Option<T> {
        let closed = self.open.lock().get(id).map(|open| open.closed.clone())?;
        closed.run_until_cancelled(work).await
    }

    /// Whether there was such a thing.
    pub fn close(&self, id: &str) -> bool {
        let open = self.open.lock().remove(id);
        open.is_some_and(|open| {
            open.closed.cancel();
            true
        })
    }
}
