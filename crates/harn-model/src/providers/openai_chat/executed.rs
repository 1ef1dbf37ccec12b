//! Tools that a server ran by itself while it answered, as Groq's compound systems tell them in `executed_tools`.

use harn_core::chat::ProviderToolUse;
use serde_json::{Map, Value};

use crate::Chunk;

/// No answer runs this many; what says so is broken or hostile.
const MOST: usize = 512;

#[derive(Default)]
pub(super) struct Executed(Vec<(u64, Map<String, Value>)>);

impl Executed {
    /// Reads the tools of a delta or a message. A tool comes in several pieces of one index; what is told last counts.
    pub fn read(&mut self, delta: &Value) {
        let told = delta.get("executed_tools").and_then(Value::as_array);
        for (place, tool) in (0..).zip(told.into_iter().flatten()) {
            let Some(tool) = tool.as_object() else { continue };
            let index = tool.get("index").and_then(Value::as_u64).unwrap_or(place);
            let at = match self.0.iter().position(|(known, _)| *known == index) {
                Some(at) => at,
                None if self.0.len() == MOST => continue,
                None => {
                    self.0.push((index, Map::new()));
                    self.0.len() - 1
                }
            };
            let told = tool.iter().filter(|(_, value)| !value.is_null());
            self.0[at].1.extend(told.map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    pub fn finish(&mut self, chunks: &mut Vec<Chunk>) {
        chunks.extend(self.0.drain(..).map(|(_, tool)| Chunk::ProviderTool(used(tool))));
    }
}

fn used(mut tool: Map<String, Value>) -> ProviderToolUse {
    let name = ["name", "type"].iter().find_map(|field| Some(tool.get(*field)?.as_str()?.to_owned()));
    let input = match tool.remove("arguments") {
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other.unwrap_or_default(),
    };
    let output = tool.remove("output").or_else(|| tool.remove("search_results"));
    ProviderToolUse { name: name.unwrap_or_else(|| "tool".into()), input, output }
}
