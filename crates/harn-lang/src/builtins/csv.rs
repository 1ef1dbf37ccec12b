//! Tables as comma-separated text.

use std::collections::BTreeSet;
use std::sync::Arc;

use csv::{ReaderBuilder, Writer, WriterBuilder};

use super::args::{self, key};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Text, Value};

type Answer = Result<Value, Fault>;

pub static CSV: Group = Group {
    title: "CSV",
    builtins: &[
        pure(
            "csv_parse",
            "text, options?",
            "list",
            "The rows of a CSV text: dicts by the names in the first row, or by a list of names as `headers`; lists if that is false.",
            csv_parse,
        ),
        pure(
            "csv_stringify",
            "rows, options?",
            "string",
            "Rows as CSV text, of dicts all keys in order; a list of names as `headers` says which columns are written.",
            csv_stringify,
        ),
    ],
};

fn delimiter(args: &[Value], name: &str) -> Result<u8, Fault> {
    match args::dict(args, 1).and_then(|options| options.get("delimiter")) {
        None | Some(Value::Nil) => Ok(b','),
        Some(Value::Str(text)) if text.as_str().len() == 1 => Ok(text.as_str().as_bytes()[0]),
        Some(other) => {
            let shown = other.display();
            Err(Fault::thrown(format!("{name}: delimiter must be one ASCII character, got {shown}")))
        }
    }
}

fn option<'a>(args: &'a [Value], name: &str) -> Option<&'a Value> {
    args::dict(args, 1).and_then(|options| options.get(name))
}

fn csv_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.work(text.len());
    let delimiter = delimiter(args, "csv_parse")?;
    refuse_open_quote(&text, delimiter)?;
    let headers = option(args, "headers");
    let has_names = headers.is_none_or(Value::is_truthy);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let mut names: Option<Vec<Arc<Text>>> = match headers {
        Some(Value::List(list)) => Some(given_names(cx, list)?.iter().map(|name| key(name)).collect()),
        _ => None,
    };
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Fault::thrown(format!("csv_parse: {error}")))?;
        // A row has every name, also of cells that it does not have.
        let cells = names.as_ref().map_or(record.len(), Vec::len);
        cx.charge(record.as_slice().len() + cells.saturating_mul(112) + 64)?;
        cx.work(cells);
        match &names {
            None if has_names => names = Some(record.iter().map(key).collect()),
            Some(names) if record.len() > names.len() => {
                let (line, cells) = (record.position().map_or(0, csv::Position::line), record.len());
                let message =
                    format!("csv_parse: line {line} has {cells} cells, but there are {} names", names.len());
                return Err(Fault::thrown(message));
            }
            Some(names) => {
                let pairs = names.iter().enumerate();
                let value = |at: usize| record.get(at).unwrap_or_default().into();
                rows.push(Value::dict(pairs.map(|(at, name)| (Arc::clone(name), value(at))).collect()));
            }
            None => rows.push(args::strings(record.iter())),
        }
    }
    Ok(Value::list(rows))
}

fn csv_stringify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let rows = args::list(args, 0);
    let writer = WriterBuilder::new()
        .flexible(true)
        .delimiter(delimiter(args, "csv_stringify")?)
        .from_writer(Vec::new());
    let names = match option(args, "headers") {
        Some(Value::List(list)) => Some(given_names(cx, list)?),
        _ => names_of(cx, rows),
    };
    let shows_names = names.is_some() && option(args, "headers") != Some(&Value::Bool(false));
    let mut table = Table { writer, names: names.unwrap_or_default() };
    if shows_names {
        let names = table.names.clone();
        table.row(cx, names)?;
    }
    for row in rows {
        table.value(cx, row)?;
    }
    let bytes =
        table.writer.into_inner().map_err(|error| Fault::thrown(format!("csv_stringify: {error}")))?;
    String::from_utf8(bytes)
        .map(Value::from)
        .map_err(|error| Fault::thrown(format!("csv_stringify: {error}")))
}

fn given_names(cx: &mut Cx<'_>, list: &[Value]) -> Result<Vec<String>, Fault> {
    list.iter().map(|name| Ok(args::print(cx, name)?.into_owned())).collect()
}

/// Every key of any row, in order; nothing when no row is a dict.
fn names_of(cx: &mut Cx<'_>, rows: &[Value]) -> Option<Vec<String>> {
    let mut dicts = rows.iter().filter_map(args::fields).peekable();
    dicts.peek()?;
    let names: BTreeSet<&str> =
        dicts.inspect(|dict| cx.work(dict.len())).flat_map(Dict::keys).map(|name| name.as_str()).collect();
    Some(names.into_iter().map(str::to_owned).collect())
}

/// A quote opens a cell only at its start, and two within are one: an odd number of them is left open. The reader takes such
/// a cell as it is, with all of the text that follows.
fn refuse_open_quote(text: &str, delimiter: u8) -> Result<(), Fault> {
    let (mut line, mut opened) = (1usize, None);
    let mut is_start = true;
    for byte in text.bytes() {
        match (byte, opened) {
            (b'"', Some(_)) => opened = None,
            // The second of two quotes within a cell opens it again.
            (b'"', None) if is_start => opened = Some(line),
            _ => {}
        }
        is_start = match opened {
            Some(_) => false,
            None => byte == delimiter || matches!(byte, b'\n' | b'\r' | b'"'),
        };
        line += usize::from(byte == b'\n');
    }
    match opened {
        Some(line) => Err(Fault::thrown(format!("csv_parse: the quote in line {line} is never closed"))),
        None => Ok(()),
    }
}

struct Table {
    writer: Writer<Vec<u8>>,
    names: Vec<String>,
}

impl Table {
    fn value(&mut self, cx: &mut Cx<'_>, row: &Value) -> Result<(), Fault> {
        let mut cells = Vec::new();
        match (row, args::fields(row)) {
            (_, Some(dict)) => {
                for name in &self.names {
                    cells.push(cell(cx, dict.get(name))?);
                }
            }
            (Value::List(list), _) => {
                for value in list.iter() {
                    cells.push(cell(cx, Some(value))?);
                }
            }
            (other, None) => {
                let message =
                    format!("csv_stringify: a row must be a list or dict, got {}", other.type_name());
                return Err(Fault::thrown(message));
            }
        }
        self.row(cx, cells)
    }

    fn row(&mut self, cx: &mut Cx<'_>, cells: Vec<String>) -> Result<(), Fault> {
        cx.charge(cells.iter().map(|cell| cell.len().saturating_mul(2) + 4).sum())?;
        self.writer.write_record(cells).map_err(|error| Fault::thrown(format!("csv_stringify: {error}")))
    }
}

fn cell(cx: &mut Cx<'_>, value: Option<&Value>) -> Result<String, Fault> {
    match value {
        None | Some(Value::Nil) => Ok(String::new()),
        Some(value) => Ok(args::print(cx, value)?.into_owned()),
    }
}
