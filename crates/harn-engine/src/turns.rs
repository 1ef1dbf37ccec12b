//! Writes of one run to one file take turns: each is planned against what the one before it has left.

use std::collections::{HashMap, VecDeque};

use harn_core::decision::Access;
use harn_core::run::{EffectKey, Request};
use harn_core::tool::ToolSpec;
use serde_json::{Map, Value};

/// An authorised call that is about to begin.
pub struct Next {
    pub key: EffectKey,
    pub request: Request,
    pub args: Map<String, Value>,
    pub attempt: u32,
}

#[derive(Default)]
pub struct Turns {
    /// Whose turn it is, with the file.
    holders: HashMap<EffectKey, String>,
    /// Who comes after them, by file.
    queues: HashMap<String, VecDeque<Next>>,
    /// Whose turn has come.
    ready: VecDeque<Next>,
}

impl Turns {
    /// Gives a call back that may begin now. Any other is kept until it may.
    pub fn take(&mut self, spec: &ToolSpec, next: Next) -> Option<Next> {
        let Some(path) = written(spec, &next.args) else { return Some(next) };
        if self.holders.contains_key(&next.key) {
            return Some(next);
        }
        match self.queues.get_mut(&path) {
            Some(queue) => {
                queue.push_back(next);
                None
            }
            None => {
                self.queues.insert(path.clone(), VecDeque::new());
                self.holders.insert(next.key.clone(), path);
                Some(next)
            }
        }
    }

    /// A call is over, or given up.
    pub fn free(&mut self, key: &EffectKey) {
        let Some(path) = self.holders.remove(key) else { return };
        match self.queues.get_mut(&path).and_then(VecDeque::pop_front) {
            Some(next) => {
                self.holders.insert(next.key.clone(), path);
                self.ready.push_back(next);
            }
            None => {
                self.queues.remove(&path);
            }
        }
    }

    /// Whether a call waited for its turn and does so no longer.
    pub fn forget(&mut self, key: &EffectKey) -> bool {
        let all = self.queues.values_mut().chain([&mut self.ready]);
        let count: usize = all
            .map(|queue| {
                let before = queue.len();
                queue.retain(|next| next.key != *key);
                before - queue.len()
            })
            .sum();
        self.free(key);
        count > 0
    }

    pub fn ready(&mut self) -> Option<Next> {
        self.ready.pop_front()
    }
}

/// The file that a call writes, as it names it.
fn written(spec: &ToolSpec, args: &Map<String, Value>) -> Option<String> {
    let (name, _) = spec.annotations.paths.iter().find(|(_, access)| *access == Access::Write)?;
    let path = args.get(name)?.as_str()?;
    Some(path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/"))
}
