//! Dates as seconds since 1970, times in zones, and durations.

use jiff::fmt::{rfc2822, strtime, temporal};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned, civil};

use super::args::{self, at};
use super::{Cx, Group, prelude, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static DATES: Group = Group {
    title: "Date and duration",
    builtins: &[
        pure("date_add", "dt, duration", "any", "A date so much later.", date_add),
        pure("date_diff", "a, b", "duration", "How much later the first date is than the second.", date_diff),
        pure(
            "date_format",
            "dt, format?, tz?",
            "string",
            "A date as text; `%Y-%m-%d %H:%M:%S` in UTC unless told otherwise.",
            date_format,
        ),
        pure(
            "date_from_components",
            "parts, tz?",
            "any",
            "The date of `year`, `month`, `day` and maybe `hour`, `minute`, `second`, `millisecond`.",
            date_from_components,
        ),
        pure(
            "date_in_zone",
            "dt, tz",
            "dict",
            "The parts of a date as a clock in a time zone shows it.",
            date_in_zone,
        ),
        prelude("date_now", "", "dict", "The parts of the current date in UTC."),
        prelude("date_now_iso", "", "string", "The current date as ISO 8601 in UTC."),
        pure("date_parse", "str", "any", "The date that a text says, in seconds since 1970.", date_parse),
        pure(
            "date_to_zone",
            "dt, tz",
            "string",
            "A date as ISO 8601 with the offset of a time zone.",
            date_to_zone,
        ),
        pure("duration_days", "n", "duration", "So many days.", duration_days),
        pure("duration_hours", "n", "duration", "So many hours.", duration_hours),
        pure("duration_minutes", "n", "duration", "So many minutes.", duration_minutes),
        pure("duration_ms", "n", "duration", "So many milliseconds.", duration_ms),
        pure("duration_seconds", "n", "duration", "So many seconds.", duration_seconds),
        pure(
            "duration_to_human",
            "duration",
            "string",
            "A duration as people write it: `1h 30m`.",
            duration_to_human,
        ),
        pure(
            "duration_to_seconds",
            "duration",
            "int",
            "The whole seconds of a duration.",
            duration_to_seconds,
        ),
        pure("month_name", "dt, tz?", "string", "The English name of a date's month.", month_name),
        pure(
            "weekday_name",
            "dt, tz?",
            "string",
            "The English name of a date's day of the week.",
            weekday_name,
        ),
    ],
};

/// The zones that come with the program: what it computes does not depend on the machine.
fn zones() -> &'static TimeZoneDatabase {
    static ZONES: std::sync::OnceLock<TimeZoneDatabase> = std::sync::OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

fn zone(cx: &mut Cx<'_>, args: &[Value], index: usize, builtin: &str) -> Result<TimeZone, Fault> {
    let name = args::text_or(cx, args, index, "UTC")?;
    temporal::DateTimeParser::new()
        .parse_time_zone_with(zones(), &*name)
        .map_err(|_| Fault::thrown(format!("{builtin}: unknown time zone '{name}'")))
}

/// What a text says; without a zone it is UTC.
fn parsed(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let utc = |date: civil::DateTime| date.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse::<Timestamp>()
        .ok()
        .or_else(|| text.parse::<civil::DateTime>().ok().and_then(utc))
        .or_else(|| rfc2822::parse(text).ok().map(|zoned| zoned.timestamp()))
        .or_else(|| from_numbers(text).and_then(utc))
        .or_else(|| outermost(text))
}

/// The last hours of the year 9999 are later than what can be computed with, and those that `-9999` begins with earlier: they
/// are taken as the nearest time that can.
fn outermost(text: &str) -> Option<Timestamp> {
    let pieces = temporal::Pieces::parse(text).ok()?;
    match pieces.date().year() {
        9999 => Timestamp::from_second(Timestamp::MAX.as_second()).ok(),
        -9999 => Some(Timestamp::MIN),
        _ => None,
    }
}

/// A time in seconds since 1970 as headers of HTTP have it.
pub fn http_date(seconds: f64) -> Option<String> {
    strtime::format("%a, %d %b %Y %H:%M:%S GMT", &from_seconds(seconds)?.to_zoned(TimeZone::UTC)).ok()
}

/// `2024/01/15 10:30`: a year of four digits and whatever follows.
fn from_numbers(text: &str) -> Option<civil::DateTime> {
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || " /.:-".contains(c));
    let year = text.split(|c: char| !c.is_ascii_digit()).next()?;
    let numbers: Vec<i8> = text
        .get(year.len()..)?
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let part = |at: usize| numbers.get(at).copied().unwrap_or(0);
    if !is_plain || year.len() != 4 || !(2..=5).contains(&numbers.len()) {
        return None;
    }
    civil::DateTime::new(year.parse().ok()?, part(0), part(1), part(2), part(3), part(4), 0).ok()
}

/// A date is a number of seconds, a text, or a dict with a `timestamp` or with parts.
fn date(cx: &mut Cx<'_>, args: &[Value], index: usize, builtin: &str) -> Result<Timestamp, Fault> {
    let given = at(args, index);
    let found = match given {
        Value::Int(seconds) => Timestamp::from_second(*seconds).ok(),
        Value::Float(seconds) => from_seconds(*seconds),
        Value::Str(text) => parsed(text.as_str()),
        other => match args::fields(other) {
            Some(dict) => match dict.get("timestamp").and_then(Value::as_number) {
                Some(seconds) => from_seconds(seconds),
                None => from_parts(dict, TimeZone::UTC),
            },
            None => None,
        },
    };
    match found {
        Some(found) => Ok(found),
        None => {
            let text = args::print(cx, given)?;
            Err(Fault::thrown(format!("{builtin}: Cannot parse date: {text}")))
        }
    }
}

fn from_seconds(seconds: f64) -> Option<Timestamp> {
    let milliseconds = (seconds * 1000.0).round();
    if milliseconds.abs() < 1e17 { Timestamp::from_millisecond(milliseconds as i64).ok() } else { None }
}

fn seconds(date: Timestamp) -> Value {
    Value::Float(date.as_millisecond() as f64 / 1000.0)
}

fn date_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    parsed(&text).map(seconds).ok_or_else(|| Fault::thrown(format!("Cannot parse date: {text}")))
}

fn from_parts(parts: &Dict, zone: TimeZone) -> Option<Timestamp> {
    let part = |name: &str, otherwise: i64| match parts.get(name) {
        None | Some(Value::Nil) => Some(otherwise),
        Some(value) => value.as_int(),
    };
    let small = |name: &str, otherwise: i64| i8::try_from(part(name, otherwise)?).ok();
    let date = civil::DateTime::new(
        i16::try_from(parts.get("year")?.as_int()?).ok()?,
        small("month", 1)?,
        small("day", 1)?,
        small("hour", 0)?,
        small("minute", 0)?,
        small("second", 0)?,
        i32::try_from(part("millisecond", 0)?.checked_mul(1_000_000)?).ok()?,
    );
    Some(date.ok()?.to_zoned(zone).ok()?.timestamp())
}

fn date_from_components(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let zone = zone(cx, args, 1, "date_from_components")?;
    let parts = args::dict_of(args, 0, "date_from_components", "parts")?;
    from_parts(parts, zone)
        .map(seconds)
        .ok_or_else(|| Fault::thrown("date_from_components: there is no such date"))
}

fn at_millisecond(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// A time in milliseconds since 1970 as ISO 8601, always with three digits of a second.
pub fn iso_of(ms: i64) -> String {
    format!("{:.3}", at_millisecond(ms))
}

/// `date_now_iso` at a time in milliseconds.
pub fn iso_at(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(iso_of(args::int_or(args, 0, 0)).into())
}

/// `date_now` at a time in milliseconds.
pub fn date_at(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(parts_of(&at_millisecond(args::int_or(args, 0, 0)).to_zoned(TimeZone::UTC)))
}

/// The parts of a date, as `date_now` and `date_in_zone` give them.
pub fn parts_of(date: &Zoned) -> Value {
    let small = |part: i8| Value::Int(part.into());
    Value::record([
        ("year", Value::Int(date.year().into())),
        ("month", small(date.month())),
        ("day", small(date.day())),
        ("hour", small(date.hour())),
        ("minute", small(date.minute())),
        ("second", small(date.second())),
        ("millisecond", Value::Int(date.millisecond().into())),
        // 0 is Sunday; `weekday_name` has the name.
        ("weekday", small(date.weekday().to_sunday_zero_offset())),
        ("offset_seconds", Value::Int(date.offset().seconds().into())),
        ("zone", date.time_zone().iana_name().unwrap_or("").into()),
        ("timestamp", seconds(date.timestamp())),
        ("iso8601", iso(date).into()),
    ])
}

fn iso(date: &Zoned) -> String {
    if date.time_zone() == &TimeZone::UTC {
        return date.timestamp().to_string();
    }
    let text = date.timestamp().display_with_offset(date.offset());
    text.to_string()
}

fn in_zone(cx: &mut Cx<'_>, args: &[Value], index: usize, builtin: &str) -> Result<Zoned, Fault> {
    let zone = zone(cx, args, index, builtin)?;
    Ok(date(cx, args, 0, builtin)?.to_zoned(zone))
}

fn date_in_zone(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(parts_of(&in_zone(cx, args, 1, "date_in_zone")?))
}

fn date_to_zone(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(iso(&in_zone(cx, args, 1, "date_to_zone")?).into())
}

fn date_format(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let date = in_zone(cx, args, 2, "date_format")?;
    let format = args::text_or(cx, args, 1, "%Y-%m-%d %H:%M:%S")?;
    cx.charge(format.len().saturating_mul(32))?;
    strtime::format(as_in_c(&format), &date)
        .map(Value::from)
        .map_err(|error| Fault::thrown(format!("date_format: cannot use the format '{format}': {error}")))
}

/// What C prints for these, and the formats of dates that came after it, spelt out: jiff has its own.
fn as_in_c(format: &str) -> String {
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, directive) = rest.split_at(at);
        out.push_str(before);
        let length = 1 + directive[1..].chars().next().map_or(0, char::len_utf8);
        out.push_str(match &directive[..length] {
            "%c" => "%a %b %e %H:%M:%S %Y",
            "%x" | "%D" => "%m/%d/%y",
            "%X" => "%H:%M:%S",
            "%r" => "%I:%M:%S %p",
            "%v" => "%e-%b-%Y",
            "%f" => "%9f",
            "%+" => "%Y-%m-%dT%H:%M:%S%.f%:z",
            other => other,
        });
        rest = &directive[length..];
    }
    out + rest
}

fn weekday_name(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let date = in_zone(cx, args, 1, "weekday_name")?;
    Ok(strtime::format("%A", &date).unwrap_or_default().into())
}

fn month_name(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let date = in_zone(cx, args, 1, "month_name")?;
    Ok(strtime::format("%B", &date).unwrap_or_default().into())
}

fn date_add(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let start = date(cx, args, 0, "date_add")?;
    let Value::Duration(more) = at(args, 1) else {
        let message = format!("date_add: expected a duration, got {}", at(args, 1).type_name());
        return Err(Fault::thrown(message));
    };
    let moved = start.as_millisecond().checked_add(*more).and_then(|ms| Timestamp::from_millisecond(ms).ok());
    moved.map(seconds).ok_or_else(|| Fault::thrown("date_add: there is no such date"))
}

fn date_diff(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = (date(cx, args, 0, "date_diff")?, date(cx, args, 1, "date_diff")?);
    Ok(Value::Duration(first.as_millisecond() - second.as_millisecond()))
}

fn duration(args: &[Value], unit: i64) -> Answer {
    Ok(Value::Duration(match at(args, 0) {
        Value::Int(count) => count.saturating_mul(unit),
        Value::Float(count) => (count * unit as f64) as i64,
        Value::Duration(already) => *already,
        other => {
            return Err(Fault::thrown(format!("a duration needs a number, got {}", other.type_name())));
        }
    }))
}

fn duration_ms(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    duration(args, 1)
}

fn duration_seconds(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    duration(args, 1000)
}

fn duration_minutes(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    duration(args, 60_000)
}

fn duration_hours(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    duration(args, 3_600_000)
}

fn duration_days(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    duration(args, 86_400_000)
}

fn given_duration(args: &[Value], builtin: &str) -> Result<i64, Fault> {
    match at(args, 0) {
        Value::Duration(ms) => Ok(*ms),
        other => Err(Fault::type_error(format!("{builtin}: expected a duration, got {}", other.type_name()))),
    }
}

fn duration_to_seconds(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::Int(given_duration(args, "duration_to_seconds")? / 1000))
}

fn duration_to_human(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let whole = given_duration(args, "duration_to_human")?;
    let mut rest = whole.unsigned_abs();
    let mut parts = Vec::new();
    for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")] {
        if rest >= unit {
            parts.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    let text = if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") };
    Ok(if whole < 0 { format!("-{text}") } else { text }.into())
}
