//! Names of tools and ids of calls within the letters that providers allow.

use std::collections::{HashMap, HashSet};

use harn_core::tool::ToolSpec;

/// Names that may be sent, for names of any kind, and the way back.
#[derive(Clone, Debug, Default)]
pub struct WireNames {
    sent: HashMap<String, String>,
    taken: HashMap<String, String>,
}

impl WireNames {
    /// The names of tools. Those that may be sent as they are keep their names, whatever the others are called.
    pub fn of_tools(tools: &[ToolSpec], longest: usize) -> Self {
        let mut names = Self::default();
        let (fine, strange): (Vec<_>, Vec<_>) =
            tools.iter().map(|tool| tool.name.as_str()).partition(|name| shortened(name, longest) == *name);
        for name in fine.into_iter().chain(strange) {
            names.send(name, longest);
        }
        names
    }

    /// What to send for a name: itself, or something like it that nothing else is sent as.
    pub fn send(&mut self, name: &str, longest: usize) -> String {
        if let Some(known) = self.sent.get(name) {
            return known.clone();
        }
        let mut candidate = shortened(name, longest);
        let mut number = 2_u32;
        while self.taken.contains_key(&candidate) {
            let suffix = format!("_{number}");
            candidate = shortened(name, longest.saturating_sub(suffix.len()).max(1)) + &suffix;
            number += 1;
        }
        self.sent.insert(name.to_owned(), candidate.clone());
        self.taken.insert(candidate.clone(), name.to_owned());
        candidate
    }

    /// The name that was sent as this one; a name that was not sent stays as it is.
    pub fn receive(&self, name: String) -> String {
        self.taken.get(&name).cloned().unwrap_or(name)
    }

    /// Whether something was sent under this name.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.contains_key(name)
    }
}

/// Letters, digits, `_` and `-`, and no more than `longest` of them.
fn shortened(name: &str, longest: usize) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let short: String = name.chars().map(allowed).take(longest).collect();
    if short.is_empty() { "_".to_owned() } else { short }
}

/// The ids of calls in one request, which may come from other providers.
#[derive(Default)]
pub struct WireIds {
    names: WireNames,
    asked: HashSet<String>,
}

impl WireIds {
    pub fn call(&mut self, id: &str, longest: usize) -> String {
        let sent = self.names.send(id, longest);
        self.asked.insert(sent.clone());
        sent
    }

    /// The id of a result; none if no call with it was sent, since providers refuse such a result.
    pub fn result(&mut self, id: &str, longest: usize) -> Option<String> {
        let sent = self.names.send(id, longest);
        self.asked.contains(&sent).then_some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sent_within_the_rules_and_come_back_as_they_were() {
        let mut names = WireNames::default();
        let cases = [
            ("read_file", "read_file"),
            ("mcp.server/tool", "mcp_server_tool"),
            ("mcp:server:tool", "mcp_server_tool_2"),
            ("grüße", "gr__e"),
            ("", "_"),
            ("a_name_that_is_far_too_long", "a_name_that_is_far_t"),
            ("a_name_that_is_far_too_short", "a_name_that_is_far_2"),
            ("a_name_that_is_far_too_large", "a_name_that_is_far_3"),
        ];
        for (name, sent) in cases {
            let got = names.send(name, 20);
            assert_eq!(got, sent);
            assert_eq!(names.send(name, 20), got);
            assert_eq!(names.receive(got), name);
        }
        assert_eq!(names.receive("never_sent".into()), "never_sent");
    }

    #[test]
    fn a_result_without_its_call_has_no_id() {
        let mut ids = WireIds::default();
        assert_eq!(ids.call("call:1", 64), "call_1");
        assert_eq!(ids.call("call.1", 64), "call_1_2");
        assert_eq!(ids.result("call.1", 64).as_deref(), Some("call_1_2"));
        assert_eq!(ids.result("call_3", 64), None);
    }
}
