//! A part of jq: paths, iteration, pipes, comparisons, arithmetic, construction and the common functions.

mod functions;
mod order;
mod parse;
mod run;

use super::super::Cx;
use crate::fault::Fault;
use crate::value::Value;

/// All that a program gives for a value.
pub fn run(cx: &mut Cx<'_>, builtin: &str, program: &str, input: &Value) -> Result<Vec<Value>, Fault> {
    let filter =
        parse::parse(program).map_err(|error| Fault::thrown(format!("{builtin}: {error} in '{program}'")))?;
    run::Run { cx, builtin }.run(&filter, input)
}
