//! When a request to people is resolved: a fold over their votes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    pub reviewer: String,
    pub approved: bool,
    /// Arguments that this person wants instead of the requested ones.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    #[serde(default)]
    pub reason: Option<String>,
    pub at: harn_core::Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    Pending,
    Approved { args: Option<Map<String, Value>> },
    Denied { reason: Option<String> },
}

/// The first denial denies. Approvals count when they agree on the newest arguments; the submitter of the
/// task does not count towards a quorum above one.
pub fn resolve(votes: &[Vote], quorum: usize, submitter: &str) -> Resolution {
    if let Some(no) = votes.iter().find(|vote| !vote.approved) {
        return Resolution::Denied { reason: no.reason.clone() };
    }
    let Some(newest) = votes.last() else { return Resolution::Pending };
    // Whoever says yes without arguments agrees with what was proposed last before them.
    let proposed = votes.iter().rev().find_map(|vote| vote.args.clone());
    let proposed_at = votes.iter().rposition(|vote| vote.args.is_some()).unwrap_or(0);
    let counted =
        votes[proposed_at..].iter().filter(|vote| quorum <= 1 || vote.reviewer != submitter).count();
    debug_assert!(newest.approved);
    if counted >= quorum.max(1) { Resolution::Approved { args: proposed } } else { Resolution::Pending }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn yes(reviewer: &str) -> Vote {
        let at = harn_core::Timestamp::from_millis(0);
        Vote { reviewer: reviewer.into(), approved: true, args: None, reason: None, at }
    }

    fn yes_with(reviewer: &str, path: &str) -> Vote {
        Vote { args: json!({ "path": path }).as_object().cloned(), ..yes(reviewer) }
    }

    fn no(reviewer: &str) -> Vote {
        Vote { approved: false, reason: Some("no".into()), ..yes(reviewer) }
    }

    #[test]
    fn votes_resolve_by_quorum_and_the_first_denial_denies() {
        let approved = |path: Option<&str>| Resolution::Approved {
            args: path.and_then(|path| json!({ "path": path }).as_object().cloned()),
        };
        let denied = Resolution::Denied { reason: Some("no".into()) };
        let table: Vec<(Vec<Vote>, usize, Resolution)> = vec![
            (vec![], 1, Resolution::Pending),
            (vec![yes("ann")], 1, approved(None)),
            (vec![yes("submitter")], 1, approved(None)),
            (vec![yes("submitter")], 2, Resolution::Pending),
            (vec![yes("submitter"), yes("ann")], 2, Resolution::Pending),
            (vec![yes("ann"), yes("bob")], 2, approved(None)),
            (vec![yes("ann"), no("bob")], 2, denied.clone()),
            (vec![no("ann")], 1, denied),
            (vec![yes_with("ann", "b")], 1, approved(Some("b"))),
            (vec![yes("ann"), yes_with("bob", "b")], 2, Resolution::Pending),
            (vec![yes("ann"), yes_with("bob", "b"), yes("cid")], 2, approved(Some("b"))),
        ];
        for (votes, quorum, expected) in table {
            assert_eq!(resolve(&votes, quorum, "submitter"), expected, "{votes:?} of {quorum}");
        }
    }
}
