//! Commands that go on while the run does other things, and the handles that name them.

/// The background commands of one run. When it is dropped, all of them are stopped.
#[derive(Debug, Default)]
pub struct Background {}
