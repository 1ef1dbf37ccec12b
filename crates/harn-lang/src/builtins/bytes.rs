//! Bytes, and what text they are.

use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};

use super::args::{self, at};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static BYTES: Group = Group {
    title: "Bytes",
    builtins: &[
        pure("bytes_concat", "a, b", "bytes", "The bytes of one value after those of another.", bytes_concat),
        pure("bytes_eq", "a, b", "bool", "Whether two values have the same bytes.", bytes_eq),
        pure("bytes_from_base64", "str", "bytes", "The bytes that a base64 text says.", bytes_from_base64),
        pure("bytes_from_hex", "str", "bytes", "The bytes that a hexadecimal text says.", bytes_from_hex),
        pure("bytes_from_string", "str", "bytes", "A text as UTF-8.", bytes_from_string),
        pure("bytes_len", "bytes", "int", "How many bytes there are.", bytes_len),
        pure(
            "bytes_slice",
            "bytes, start, end",
            "bytes",
            "The bytes from one place up to another; negative places count from the end.",
            bytes_slice,
        ),
        pure("bytes_to_base64", "bytes", "string", "Bytes as base64.", bytes_to_base64),
        pure("bytes_to_hex", "bytes", "string", "Bytes as hexadecimal digits.", bytes_to_hex),
        pure(
            "bytes_to_string",
            "bytes",
            "string",
            "The text that UTF-8 bytes say; throws if they say none.",
            bytes_to_string,
        ),
        pure(
            "bytes_to_string_lossy",
            "bytes",
            "string",
            "The text that UTF-8 bytes say, with a mark for what is none.",
            bytes_to_string_lossy,
        ),
    ],
};

fn bytes_from_string(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?.into_owned();
    cx.charge(bytes.len())?;
    Ok(args::bytes(bytes))
}

fn bytes_to_string(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?.into_owned();
    cx.charge(bytes.len())?;
    String::from_utf8(bytes).map(Value::from).map_err(|error| {
        Fault::thrown(format!(
            "bytes_to_string: the bytes are not UTF-8 from place {} on",
            error.utf8_error().valid_up_to()
        ))
    })
}

fn bytes_to_string_lossy(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.charge(bytes.len().saturating_mul(3))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn bytes_len(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(args::octets(cx, args, 0)?.len()))
}

fn bytes_eq(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let second = args::octets(cx, args, 1)?;
    Ok((args::octets(cx, args, 0)? == second).into())
}

fn bytes_concat(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (first, second) = (args::octets(cx, args, 0)?, args::octets(cx, args, 1)?);
    cx.charge(first.len() + second.len())?;
    Ok(args::bytes([&*first, &*second].concat()))
}

fn bytes_slice(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    let end = if *at(args, 2) == Value::Nil { None } else { args::int(args, 2) };
    let (start, end) = args::bounds(bytes.len(), args::int(args, 1), end);
    cx.charge(end - start)?;
    Ok(args::bytes(bytes[start..end].to_vec()))
}

fn bytes_to_hex(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.charge(bytes.len().saturating_mul(2))?;
    Ok(HEXLOWER.encode(&bytes).into())
}

fn bytes_to_base64(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = args::octets(cx, args, 0)?;
    cx.charge(bytes.len().saturating_mul(2))?;
    Ok(BASE64.encode(&bytes).into())
}

fn bytes_from_hex(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len())?;
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
    bytes.map(args::bytes).map_err(|error| Fault::thrown(format!("bytes_from_hex: {error}")))
}

fn bytes_from_base64(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len())?;
    let bytes = BASE64.decode(text.as_bytes());
    bytes.map(args::bytes).map_err(|error| Fault::thrown(format!("bytes_from_base64: {error}")))
}
