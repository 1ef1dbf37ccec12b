//! How values are printed.

use std::fmt::{self, Display, Formatter, Write};

use super::{HandleKind, Value};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => f.write_str(&float(*value)),
            Self::Duration(ms) => duration(f, *ms),
            Self::Str(text) => f.write_str(text.as_str()),
            Self::Bytes(bytes) => print_bytes(f, bytes),
            Self::List(list) => sequence(f, "[", list.iter(), "]"),
            Self::Dict(dict) => fields(f, dict.iter().map(|(key, value)| (key.as_str(), value))),
            Self::Set(set) => sequence(f, "set(", set.iter(), ")"),
            Self::Range(range) => {
                write!(f, "{} to {}", range.start, range.end)?;
                if range.exclusive { f.write_str(" exclusive") } else { Ok(()) }
            }
            Self::Pair(pair) => write!(f, "({}, {})", pair.first, pair.second),
            Self::Enum(value) => {
                write!(f, "{}.{}", value.name, value.variant)?;
                if value.fields.is_empty() { Ok(()) } else { sequence(f, "(", value.fields.iter(), ")") }
            }
            Self::Struct(value) => {
                write!(f, "{} ", value.name)?;
                fields(f, value.fields.iter().map(|(key, value)| (key.as_str(), value)))
            }
            Self::Closure(closure) => {
                f.write_str("<fn(")?;
                for (at, param) in closure.params.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    f.write_str(param)?;
                }
                f.write_str(")>")
            }
            Self::Builtin(number) => write!(f, "<builtin {}>", crate::builtins::name_of(*number)),
            Self::Handle(handle) => match handle.kind {
                HandleKind::Iter => f.write_str("<iter>"),
                HandleKind::Generator => f.write_str("<generator>"),
                HandleKind::Stream => f.write_str("<stream>"),
                HandleKind::Task => write!(f, "<task:{}>", handle.label),
                HandleKind::Rng => f.write_str("<rng>"),
                kind => write!(f, "<{}:{}>", kind.type_name(), handle.label),
            },
        }
    }
}

/// The longest printed form that is shown to people.
const SHOWN: usize = 1 << 20;

/// Text that takes no more than so many bytes. A value that holds another one many times can be printed much larger
/// than it is.
struct Bounded {
    text: String,
    limit: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.limit - self.text.len();
        if more.len() > room {
            self.text.push_str(&more[..more.floor_char_boundary(room)]);
            self.limit = self.text.len();
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// The printed form, unless it has more than so many bytes.
pub fn printed_within(value: &Value, limit: usize) -> Option<String> {
    let mut bounded = Bounded { text: String::new(), limit };
    write!(bounded, "{value}").ok().map(|()| bounded.text)
}

/// The printed form, cut off where it is longer than anybody would read.
pub fn shown(value: &Value) -> String {
    let mut bounded = Bounded { text: String::new(), limit: SHOWN };
    if write!(bounded, "{value}").is_err() {
        bounded.text.push('…');
    }
    bounded.text
}

/// A whole float shows one decimal, any other the fewest that tell it apart.
pub fn float(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.1}")
    } else {
        value.to_string()
    }
}

/// In the largest unit that is exact.
fn duration(f: &mut Formatter<'_>, ms: i64) -> fmt::Result {
    let units = [(3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let unit = units.into_iter().find(|(size, _)| ms != 0 && ms % size == 0);
    match unit {
        Some((size, name)) => write!(f, "{}{name}", ms / size),
        None => write!(f, "{ms}ms"),
    }
}

fn print_bytes(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("b\"")?;
    for byte in bytes.iter().take(32) {
        write!(f, "{byte:02x}")?;
    }
    if bytes.len() > 32 {
        write!(f, "...+{}", bytes.len() - 32)?;
    }
    f.write_char('"')
}

fn sequence<'a>(
    f: &mut Formatter<'_>,
    open: &str,
    values: impl Iterator<Item = &'a Value>,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (at, value) in values.enumerate() {
        f.write_str(if at > 0 { ", " } else { "" })?;
        value.fmt(f)?;
    }
    f.write_str(close)
}

fn fields<'a>(f: &mut Formatter<'_>, values: impl Iterator<Item = (&'a str, &'a Value)>) -> fmt::Result {
    f.write_char('{')?;
    for (at, (key, value)) in values.enumerate() {
        write!(f, "{}{key}: {value}", if at > 0 { ", " } else { "" })?;
    }
    f.write_char('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_print_as_the_language_says() {
        let cases = [
            (Value::Float(5.0), "5.0"),
            (Value::Float(0.1), "0.1"),
            (Value::Float(1e20), "100000000000000000000"),
            (Value::Duration(7_200_000), "2h"),
            (Value::Duration(90_000), "90s"),
            (Value::Duration(1500), "1500ms"),
            (Value::Duration(-60_000), "-1m"),
            (Value::Duration(0), "0ms"),
            (Value::list(vec!["a".into(), Value::Nil]), "[a, nil]"),
            (Value::record([("b", Value::Int(1)), ("a", "x".into())]), "{a: x, b: 1}"),
            (Value::ok(Value::Int(1)), "Result.Ok(1)"),
        ];
        for (value, expected) in cases {
            assert_eq!(value.to_string(), expected);
        }
    }
}
