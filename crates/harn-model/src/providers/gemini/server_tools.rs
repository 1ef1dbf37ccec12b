//! Tools that Google runs while the model answers, put together from the parts that tell of them.

use harn_core::chat::ProviderToolUse;
use serde_json::{Map, Value};

use crate::Chunk;

/// No answer has this many tools running; those beyond it are told without their results.
const MOST_OPEN: usize = 256;

/// Uses of tools whose results have not come, with their ids.
#[derive(Default)]
pub(super) struct ServerTools {
    open: Vec<(String, ProviderToolUse)>,
    /// A part has told of a use, so what the answer says of searches at its end is nothing new.
    pub are_told: bool,
}

impl ServerTools {
    /// Reads a part that is neither text nor a call of ours.
    pub fn read(&mut self, part: &Map<String, Value>, chunks: &mut Vec<Chunk>) {
        let held = |name: &str| part.get(name).filter(|value| !value.is_null());
        if let Some(code) = held("executableCode") {
            // The result follows its code, so code that is still open has none.
            self.close(is_code, chunks);
            self.open.push((id(code), used("code_execution", code.clone())));
        } else if let Some(result) = held("codeExecutionResult") {
            self.result("code_execution", is_code, result, chunks);
        } else if let Some(call) = held("toolCall") {
            self.are_told = true;
            let begun = used(&kind(call), call.get("args").cloned().unwrap_or_default());
            match self.open.len() {
                0..MOST_OPEN => self.open.push((id(call), begun)),
                _ => chunks.push(Chunk::ProviderTool(begun)),
            }
        } else if let Some(response) = held("toolResponse") {
            let (wanted, name) = (id(response), kind(response));
            let is_it = |open: &(String, ProviderToolUse)| open.0 == wanted && open.1.name == name;
            self.result(&name, is_it, response.get("response").unwrap_or(&Value::Null), chunks);
        } else if let Some((name, value)) = part.iter().find(|(name, _)| name.ends_with("Call")) {
            chunks.push(Chunk::ProviderTool(used(name, value.clone())));
        }
    }

    /// Tells of the uses that have no result.
    pub fn finish(&mut self, chunks: &mut Vec<Chunk>) {
        self.close(|_| true, chunks);
    }

    fn close(&mut self, which: impl Fn(&(String, ProviderToolUse)) -> bool, chunks: &mut Vec<Chunk>) {
        chunks
            .extend(self.open.extract_if(.., |open| which(open)).map(|(_, used)| Chunk::ProviderTool(used)));
    }

    fn result(
        &mut self,
        name: &str,
        which: impl Fn(&(String, ProviderToolUse)) -> bool,
        output: &Value,
        chunks: &mut Vec<Chunk>,
    ) {
        let found = self.open.iter().position(which).map(|at| self.open.remove(at).1);
        let begun = found.unwrap_or_else(|| used(name, Value::Null));
        chunks.push(Chunk::ProviderTool(ProviderToolUse { output: Some(output.clone()), ..begun }));
    }
}

fn is_code(open: &(String, ProviderToolUse)) -> bool {
    open.1.name == "code_execution"
}

fn used(name: &str, input: Value) -> ProviderToolUse {
    ProviderToolUse { name: name.to_owned(), input, output: None }
}

fn id(part: &Value) -> String {
    part["id"].as_str().unwrap_or_default().to_owned()
}

fn kind(part: &Value) -> String {
    part["toolType"].as_str().unwrap_or("tool").to_ascii_lowercase()
}
