//! What a run has opened: streams, sockets, watchers. They live as long as the driver; after a recovery the first use
//! of one is told that it is gone.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::tools::ToolFailure;

#[derive(Default)]
pub struct Handles {
    open: Mutex<HashMap<String, Arc<dyn Any + Send + Sync>>>,
}

impl Handles {
    /// Keeps something under an id that the program chose or was given.
    pub fn put<T: Any + Send + Sync>(&self, id: impl Into<String>, thing: T) {
        self.open.lock().insert(id.into(), Arc::new(thing));
    }

    /// Keeps something under an id of its own.
    pub fn put_new<T: Any + Send + Sync>(&self, kind: &str, thing: T) -> String {
        let id = format!("{kind}-{}", uuid::Uuid::now_v7().simple());
        self.put(id.as_str(), thing);
        id
    }

    pub fn get<T: Any + Send + Sync>(&self, id: &str) -> Result<Arc<T>, ToolFailure> {
        let found = self.open.lock().get(id).cloned();
        found.and_then(|thing| thing.downcast::<T>().ok()).ok_or_else(|| {
            ToolFailure::categorised(
                "interrupted",
                format!("`{id}` is not open: it was closed, or Harn was restarted since. Open it again."),
            )
        })
    }

    pub fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// Whether there was such a thing.
    pub fn close(&self, id: &str) -> bool {
        self.open.lock().remove(id).is_some()
    }
}
