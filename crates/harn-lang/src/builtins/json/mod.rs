//! JSON, YAML and TOML: read, written, looked into.

mod extract;
mod jq;
mod pointer;
pub(crate) mod read;
pub(crate) mod write;

use super::args::{self, at};
use super::{Cx, Group, pure, schema};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static JSON: Group = Group {
    title: "JSON, YAML, TOML, schema",
    builtins: &[
        pure(
            "is_type",
            "value, schema",
            "bool",
            "Whether a value is of a type, given by its name or as a schema.",
            schema::is_type,
        ),
        pure(
            "jq",
            "value, expr",
            "list",
            "All results of a jq expression: paths, `[]`, pipes, `select`, `map`, comparisons and the common functions.",
            jq_all,
        ),
        pure("jq_first", "value, expr", "any", "The first result of a jq expression, or nil.", jq_first),
        pure(
            "json_extract",
            "text, key?",
            "any",
            "The JSON value within a text, such as a model's answer, or the value of one key of it.",
            json_extract,
        ),
        pure("json_parse", "str", "any", "The value that a JSON text says.", json_parse),
        pure(
            "json_pointer",
            "value, ptr",
            "any",
            "What a JSON pointer such as `/a/0` points to, or nil.",
            json_pointer,
        ),
        pure(
            "json_pointer_delete",
            "value, ptr",
            "any",
            "A value without what a JSON pointer points to.",
            json_pointer_delete,
        ),
        pure(
            "json_pointer_set",
            "value, ptr, new",
            "any",
            "A value with something else where a JSON pointer points to.",
            json_pointer_set,
        ),
        pure("json_stringify", "value", "string", "A value as JSON text without blanks.", json_stringify),
        pure(
            "json_validate",
            "data, schema",
            "bool",
            "Throws unless a value fits a schema.",
            schema::json_validate,
        ),
        pure(
            "schema_check",
            "data, schema",
            "any",
            "A result: the value if it fits a schema, or what is wrong with it.",
            schema::schema_check,
        ),
        pure(
            "schema_expect",
            "data, schema, apply_defaults?",
            "any",
            "The value if it fits a schema; throws what is wrong with it otherwise.",
            schema::schema_expect,
        ),
        pure(
            "schema_extend",
            "base, overrides",
            "dict",
            "A schema with the keys and properties of another.",
            schema::schema_extend,
        ),
        pure(
            "schema_from_json_schema",
            "schema",
            "dict",
            "The schema that a JSON Schema describes.",
            schema::schema_from_json_schema,
        ),
        pure(
            "schema_from_openapi_schema",
            "schema",
            "dict",
            "The schema that an OpenAPI schema describes.",
            schema::schema_from_json_schema,
        ),
        pure("schema_is", "data, schema", "bool", "Whether a value fits a schema.", schema::schema_is),
        pure("schema_of", "T", "dict", "The schema of a type alias.", schema::schema_of),
        pure(
            "schema_omit",
            "schema, keys",
            "dict",
            "A schema without some of its properties.",
            schema::schema_omit,
        ),
        pure(
            "schema_parse",
            "data, schema",
            "any",
            "A result: the value with defaults filled in if it fits a schema, or what is wrong with it.",
            schema::schema_parse,
        ),
        pure(
            "schema_partial",
            "schema",
            "dict",
            "A schema none of whose properties are required.",
            schema::schema_partial,
        ),
        pure(
            "schema_pick",
            "schema, keys",
            "dict",
            "A schema with only some of its properties.",
            schema::schema_pick,
        ),
        pure(
            "schema_to_json_schema",
            "schema",
            "dict",
            "A schema as JSON Schema.",
            schema::schema_to_json_schema,
        ),
        pure(
            "schema_to_openapi_schema",
            "schema",
            "dict",
            "A schema as OpenAPI writes it.",
            schema::schema_to_openapi_schema,
        ),
        pure("toml_parse", "str", "any", "The value that a TOML text says.", toml_parse),
        pure("toml_stringify", "value", "string", "A dict as TOML text.", toml_stringify),
        pure("yaml_parse", "str", "any", "The value that a YAML text says.", yaml_parse),
        pure("yaml_stringify", "value", "string", "A value as YAML text.", yaml_stringify),
    ],
};

fn json_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    read::json(cx, &text)?.map_err(|error| Fault::thrown(format!("JSON parse error: {error}")))
}

fn json_stringify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(write::compact(cx, at(args, 0))?.into())
}

fn yaml_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    read::yaml(cx, &text)?.map_err(|error| Fault::thrown(format!("YAML parse error: {error}")))
}

fn yaml_stringify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let plain = write::plain(cx, at(args, 0))?;
    serde_saphyr::to_string(&plain)
        .map(Value::from)
        .map_err(|error| Fault::thrown(format!("yaml_stringify: {error}")))
}

fn toml_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    read::toml(cx, &text)?.map_err(|error| Fault::thrown(format!("TOML parse error: {error}")))
}

fn toml_stringify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    if args::dict(args, 0).is_none() {
        let message = format!("toml_stringify: value must be a dict, got {}", at(args, 0).type_name());
        return Err(Fault::thrown(message));
    }
    let plain = write::plain(cx, at(args, 0))?;
    toml::to_string(&plain.without_nil())
        .map(Value::from)
        .map_err(|error| Fault::thrown(format!("toml_stringify: {error}")))
}

fn json_extract(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let value = extract::extract(cx, &text)?
        .map_err(|error| Fault::thrown(format!("json_extract: failed to parse JSON: {error}")))?;
    if at(args, 1) == &Value::Nil {
        return Ok(value);
    }
    let key = args::text(cx, args, 1)?;
    args::fields(&value)
        .and_then(|dict| dict.get(&key))
        .cloned()
        .ok_or_else(|| Fault::thrown(format!("json_extract: key '{key}' not found")))
}

fn json_pointer(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = pointer::steps("json_pointer", &args::text(cx, args, 1)?)?;
    Ok(pointer::get(at(args, 0), &path).cloned().unwrap_or_default())
}

fn json_pointer_set(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = pointer::steps("json_pointer_set", &args::text(cx, args, 1)?)?;
    cx.charge(path.len().saturating_mul(160))?;
    let (mut root, new) = (args::take(args, 0), args::take(args, 2));
    pointer::set(&mut root, &path, new)?;
    Ok(root)
}

fn json_pointer_delete(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = pointer::steps("json_pointer_delete", &args::text(cx, args, 1)?)?;
    let mut root = args::take(args, 0);
    pointer::delete(&mut root, &path);
    Ok(root)
}

fn jq_all(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let program = args::text(cx, args, 1)?;
    Ok(Value::list(jq::run(cx, "jq", &program, at(args, 0))?))
}

fn jq_first(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let program = args::text(cx, args, 1)?;
    Ok(jq::run(cx, "jq_first", &program, at(args, 0))?.into_iter().next().unwrap_or_default())
}
