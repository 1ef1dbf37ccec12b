//! Lists in pages. A cursor is opaque to clients and good only for the list that gave it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use harn_core::hash::Sha256Hash;
use harn_core::{Actor, Code, Error, Result, WorkspaceAccess};
use harn_log::{DocQuery, View};
use harn_wire::agents::Page;
use serde::de::DeserializeOwned;

use crate::fault;

/// What a client asks of a list.
#[derive(Clone, Debug, Default)]
pub struct PageQuery {
    pub limit: Option<u64>,
    pub cursor: Option<String>,
}

impl PageQuery {
    pub fn limit(&self) -> Result<usize> {
        match self.limit {
            None => Ok(50),
            Some(limit @ 1..=200) => Ok(limit as usize),
            Some(_) => Err(Error::invalid("limit", "`limit` must be from 1 to 200.")),
        }
    }
}

/// Lists that differ in anything have different fingerprints, so that their cursors cannot be mixed up.
fn fingerprint(query: &DocQuery<'_>) -> String {
    let pieces = [Some(query.kind), query.workspace, query.session, query.task, query.tag];
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.unwrap_or("*").as_bytes()).collect();
    Sha256Hash::of_pieces(&pieces).to_string()[..12].to_owned()
}

fn encode(fingerprint: &str, position: u64) -> String {
    URL_SAFE_NO_PAD.encode(format!("{fingerprint}.{position}"))
}

fn decode(cursor: &str, fingerprint: &str, head: u64) -> Result<u64> {
    let bad = |why: &str| Error::invalid("cursor", format!("The cursor {why}. Start again without one."));
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad("was not made by this server"))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("was not made by this server"))?;
    let (list, position) = text.split_once('.').ok_or_else(|| bad("was not made by this server"))?;
    let position: u64 = position.parse().map_err(|_| bad("was not made by this server"))?;
    if list != fingerprint {
        return Err(bad("belongs to another list"));
    }
    if position > head {
        return Err(
            Error::new(Code::CursorExpired, "The cursor points beyond the end of this list.").param("cursor")
        );
    }
    Ok(position)
}

/// One page of documents that `keep` lets through, after the workspace check.
pub fn page<T: DeserializeOwned>(
    view: &dyn View,
    actor: &Actor,
    mut query: DocQuery<'_>,
    wanted: &PageQuery,
    keep: impl Fn(&T) -> bool,
) -> Result<Page<T>> {
    let limit = wanted.limit()?;
    let fingerprint = fingerprint(&query);
    if let Some(cursor) = &wanted.cursor {
        query.after = decode(cursor, &fingerprint, view.head().map_err(fault)?)?;
    }
    query.limit = limit + 1;
    let mut found: Vec<(u64, T)> = Vec::new();
    loop {
        let docs = view.docs(&query).map_err(fault)?;
        let last = docs.len() < query.limit;
        for doc in docs {
            query.after = doc.position;
            if sees(actor, doc.workspace.as_deref()) {
                let item = doc.parse::<T>().map_err(fault)?;
                if keep(&item) {
                    found.push((doc.position, item));
                }
            }
            if found.len() > limit {
                break;
            }
        }
        if last || found.len() > limit {
            break;
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(position, _)| encode(&fingerprint, *position));
    Ok(Page::new(found.into_iter().map(|(_, item)| item).collect(), next))
}

/// Resources without a workspace are the harness's own and visible to all.
fn sees(actor: &Actor, workspace: Option<&str>) -> bool {
    match (&actor.workspaces, workspace) {
        (WorkspaceAccess::All, _) | (_, None) => true,
        (WorkspaceAccess::Only(allowed), Some(id)) => allowed.contains(&id.into()),
    }
}
