//! What a program prints and reads, and universally unique ids.

use uuid::Uuid;

use super::{Cx, Group, args, prelude, pure, vm};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static OUTPUT: Group = Group {
    title: "Output, input, logging, uuid",
    builtins: &[
        prelude("bold", "text", "string", "A text in bold, if colours are on."),
        vm("capture_stderr_start", "", "nil", "From now on, what is written to the error stream is kept."),
        vm("capture_stderr_take", "", "string", "What was written to the error stream since it is kept."),
        prelude("color", "text, name", "string", "A text in a colour, if colours are on."),
        prelude("dim", "text", "string", "A text in a faint colour, if colours are on."),
        vm("eprint", "s", "nil", "Writes to the error stream."),
        vm("eprintln", "s", "nil", "Writes a line to the error stream."),
        vm("is_stderr_tty", "", "bool", "Whether the error stream is a terminal."),
        vm("is_stdin_tty", "", "bool", "Whether the input is a terminal."),
        vm("is_stdout_tty", "", "bool", "Whether the output is a terminal."),
        vm("log", "msg", "nil", "Prints a line that starts with `[harn]`."),
        prelude("log_debug", "msg, fields?", "nil", "Writes a log line for whoever looks for an error."),
        prelude("log_error", "msg, fields?", "nil", "Writes a log line about something that failed."),
        prelude("log_info", "msg, fields?", "nil", "Writes a log line."),
        prelude("log_json", "key, value", "nil", "Writes a value as JSON under a name."),
        vm("log_set_level", "level", "nil", "From which level on log lines are written."),
        prelude("log_warn", "msg, fields?", "nil", "Writes a log line about something that may go wrong."),
        vm("mock_stdin", "text", "nil", "Lets a text be the input."),
        vm("mock_tty", "stream, is_tty", "nil", "Lets a stream be, or not be, a terminal."),
        vm("print", "msg", "nil", "Prints a value."),
        vm("println", "msg", "nil", "Prints a value and a line end."),
        vm("progress", "phase, message, progress?, total?", "nil", "Tells how far the work has come."),
        vm("prompt_user", "msg", "string|nil", "Shows a message and reads a line of input."),
        vm("read_line", "", "string|nil", "A line of input, or nil at its end."),
        vm("read_stdin", "", "string|nil", "All of the input."),
        vm("set_color_mode", "mode", "nil", "When to use colours: `auto`, `always` or `never`."),
        vm("unmock_stdin", "", "nil", "Ends `mock_stdin`."),
        vm("unmock_tty", "", "nil", "Ends `mock_tty`."),
        pure(
            "uuid",
            "",
            "string",
            "A new random id, from the same generator as `random`: not a secret.",
            uuid,
        ),
        pure("uuid_nil", "", "string", "The id that is all zeros.", uuid_nil),
        pure(
            "uuid_parse",
            "str",
            "string|nil",
            "An id in its usual form, or nil if the text is none.",
            uuid_parse,
        ),
        pure(
            "uuid_v5",
            "namespace, name",
            "string",
            "The id of a name within a namespace: an id, or one of `dns`, `url`, `oid` and `x500`.",
            uuid_v5,
        ),
        prelude("uuid_v7", "", "string", "A new random id that sorts by time."),
    ],
};

/// Ids are part of what a replay must give again, so they come from the VM's generator and not from the system.
fn chance(cx: &mut Cx<'_>) -> [u8; 16] {
    let (high, low) = (cx.rng.number(), cx.rng.number());
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

fn uuid(cx: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(uuid::Builder::from_random_bytes(chance(cx)).into_uuid().to_string().into())
}

/// `uuid_v7` of a time in milliseconds.
pub fn uuid_at(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let millis = u64::try_from(args::int_or(args, 0, 0)).unwrap_or(0);
    let mut random = [0; 10];
    random.copy_from_slice(&chance(cx)[..10]);
    Ok(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string().into())
}

fn uuid_nil(_: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Uuid::nil().to_string().into())
}

fn uuid_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    Ok(Uuid::parse_str(text.trim()).map_or(Value::Nil, |id| id.to_string().into()))
}

fn uuid_v5(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let namespace = args::text(cx, args, 0)?;
    let known = match &*namespace.to_ascii_lowercase() {
        "dns" => Some(Uuid::NAMESPACE_DNS),
        "url" => Some(Uuid::NAMESPACE_URL),
        "oid" => Some(Uuid::NAMESPACE_OID),
        "x500" => Some(Uuid::NAMESPACE_X500),
        other => Uuid::parse_str(other).ok(),
    };
    let Some(known) = known else {
        let message =
            format!("uuid_v5: unknown namespace '{namespace}', expected an id, dns, url, oid or x500");
        return Err(Fault::thrown(message));
    };
    let name = args::text(cx, args, 1)?;
    Ok(Uuid::new_v5(&known, name.as_bytes()).to_string().into())
}
