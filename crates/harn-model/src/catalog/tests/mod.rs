//! Tests of the catalog through its public surface, one file for each thing that somebody depends on.

mod ambient;
mod cost;
mod export;
mod overlays;
mod refusals;
mod rows;
mod selectors;

use super::{Catalog, OverlayError, OverlayFile, OverlayKind};

fn overlaid(kind: OverlayKind, text: &str) -> Result<Catalog, OverlayError> {
    Catalog::builtin().overlaid(&[OverlayFile { kind, path: "conf/file.toml", text }])
}

fn with(text: &str) -> Catalog {
    overlaid(OverlayKind::Providers, text).unwrap()
}

/// An environment that has these variables and no others.
fn env<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    |name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}
