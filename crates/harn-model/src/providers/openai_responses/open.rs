//! The items of an output while they come: which event belongs to which.

use serde_json::Value;

use crate::ModelError;

/// No answer has this many items; what does is broken or hostile.
const MOST: usize = 1024;

/// Where an event belongs: its index in the output, or the id of its item where a server leaves the index out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    index: Option<u64>,
    id: String,
}

impl Place {
    pub fn of(event: &Value) -> Self {
        let places = ["/item_id", "/item/id", "/item/call_id"];
        let id = places.iter().find_map(|place| event.pointer(place)?.as_str());
        let index = event.get("output_index").and_then(Value::as_u64);
        Self { index, id: id.unwrap_or_default().to_owned() }
    }

    pub fn in_output(index: usize, item: &Value) -> Self {
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        Self { index: u64::try_from(index).ok(), id: id.to_owned() }
    }

    /// Some gateways change ids from event to event, so an index counts for more.
    fn is(&self, other: &Self) -> bool {
        match (self.index, other.index) {
            (Some(index), Some(other)) => index == other,
            _ => self.id == other.id,
        }
    }
}

/// A call as far as it came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub id: String,
    pub name: String,
    pub raw: String,
}

#[derive(Debug)]
pub(super) struct OpenItem {
    place: Place,
    /// Words of it were shown as they came.
    pub is_shown: bool,
    pub is_done: bool,
    pub is_call: bool,
    pub parts: Parts,
}

#[derive(Debug, Default)]
pub(super) struct OpenItems(Vec<OpenItem>);

impl OpenItems {
    /// The item at this place, a new one if there is none.
    pub fn at(&mut self, place: Place) -> Result<&mut OpenItem, ModelError> {
        let found = self.0.iter().rposition(|item| item.place.is(&place));
        let at = found.unwrap_or(self.0.len());
        if at == MOST {
            let message = format!("it has more than {MOST} items");
            return Err(ModelError::Malformed { message });
        }
        if found.is_none() {
            let parts = Parts::default();
            self.0.push(OpenItem { place, is_shown: false, is_done: false, is_call: false, parts });
        }
        Ok(&mut self.0[at])
    }

    /// Takes out the calls that were begun and not told to be whole.
    pub fn open_calls(&mut self) -> Vec<Parts> {
        let is_open = |item: &OpenItem| !item.is_done && (item.is_call || !item.parts.raw.is_empty());
        self.0.drain(..).filter(is_open).map(|item| item.parts).collect()
    }
}
