//! Values of scripts as JSON: what crosses to the host and what journals keep.
//!
//! What JSON has stands for itself. Anything else is an object with one key that begins with `$`; a dict of the program
//! with such a key is wrapped, so that nothing is mistaken for something else. Functions and handles do not cross: they
//! arrive as text that says what they were.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harn_lang::value::{Dict, Range, Set, StructValue, Text, Value};
use serde_json::{Map, Value as Json, json};

pub fn encode(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) if number.is_finite() => json!(number),
        Value::Float(number) => json!({ "$float": number.to_string() }),
        Value::Duration(ms) => json!({ "$duration": ms }),
        Value::Str(text) => text.as_str().into(),
        Value::Bytes(bytes) => json!({ "$bytes": STANDARD.encode(&**bytes) }),
        Value::List(list) => list.iter().map(encode).collect(),
        Value::Dict(dict) => encode_dict(dict),
        Value::Set(set) => json!({ "$set": set.iter().map(encode).collect::<Vec<_>>() }),
        Value::Range(range) => json!({ "$range": [range.start, range.end, range.exclusive] }),
        Value::Pair(pair) => json!({ "$pair": [encode(&pair.first), encode(&pair.second)] }),
        Value::Enum(value) => {
            let fields: Vec<Json> = value.fields.iter().map(encode).collect();
            json!({ "$enum": [&*value.name, &*value.variant, fields] })
        }
        Value::Struct(value) => json!({ "$struct": [&*value.name, fields(&value.fields)] }),
        other => json!({ "$opaque": other.display() }),
    }
}

fn fields(dict: &Dict) -> Map<String, Json> {
    dict.iter().map(|(key, value)| (key.as_str().to_owned(), encode(value))).collect()
}

fn encode_dict(dict: &Dict) -> Json {
    let fields = fields(dict);
    match fields.len() == 1 && fields.keys().any(|key| key.starts_with('$')) {
        true => json!({ "$dict": fields }),
        false => Json::Object(fields),
    }
}

pub fn decode(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::str(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(decode).collect()),
        Json::Object(fields) => tagged(fields).unwrap_or_else(|| Value::dict(dict(fields))),
    }
}

/// The same for what comes from outside with a schema that was made of a type: what JSON does not have becomes what the
/// type wants.
pub fn typed(json: &Json, schema: &Json) -> Value {
    match json {
        Json::Number(ms) if schema["format"] == "milliseconds" => {
            ms.as_i64().map_or_else(|| decode(json), Value::Duration)
        }
        Json::String(text) if schema["contentEncoding"] == "base64" => {
            STANDARD.decode(text).map_or_else(|_| decode(json), |bytes| Value::Bytes(Arc::new(bytes)))
        }
        Json::Array(items) => {
            let items = items.iter().map(|item| typed(item, &schema["items"]));
            match schema["uniqueItems"] == true {
                true => Value::Set(Arc::new(items.collect::<Set>())),
                false => Value::list(items.collect()),
            }
        }
        Json::Object(fields) if schema["properties"].is_object() => {
            let field = |(key, value): (&String, &Json)| {
                (Arc::new(Text::new(key.as_str())), typed(value, &schema["properties"][key]))
            };
            Value::dict(fields.iter().map(field).collect())
        }
        other => decode(other),
    }
}

fn dict(fields: &Map<String, Json>) -> Dict {
    fields.iter().map(|(key, value)| (Arc::new(Text::new(key.as_str())), decode(value))).collect()
}

/// JSON from elsewhere as a value crosses: what looks like one of our tags is only a dict.
pub fn escape(json: Json) -> Json {
    match json {
        Json::Array(items) => items.into_iter().map(escape).collect(),
        Json::Object(fields) => {
            let is_tag = fields.len() == 1 && fields.keys().any(|key| key.starts_with('$'));
            let fields = fields.into_iter().map(|(key, value)| (key, escape(value))).collect();
            if is_tag { json!({ "$dict": Json::Object(fields) }) } else { Json::Object(fields) }
        }
        other => other,
    }
}

/// What a value is to those outside, who know JSON alone. Bytes stay as they cross: whoever takes them knows them.
pub fn plain(json: &Json) -> Json {
    let fields = match json {
        Json::Array(items) => return items.iter().map(plain).collect(),
        Json::Object(fields) => fields,
        other => return other.clone(),
    };
    let all = |fields: &Map<String, Json>| {
        Json::Object(fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
    };
    let tag = fields.iter().next().filter(|_| fields.len() == 1);
    match tag.map(|(tag, inner)| (tag.as_str(), inner)) {
        Some(("$dict", Json::Object(fields))) => all(fields),
        Some(("$struct", Json::Array(parts))) => parts.get(1).map(plain).unwrap_or_default(),
        Some(("$enum", Json::Array(parts))) => parts.get(1).cloned().unwrap_or_default(),
        Some(("$set" | "$pair" | "$duration" | "$float" | "$opaque", inner)) => plain(inner),
        Some(("$range", Json::Array(parts))) => parts.first().cloned().unwrap_or_default(),
        _ => all(fields),
    }
}

/// A value that JSON has no word for.
fn tagged(fields: &Map<String, Json>) -> Option<Value> {
    let (tag, inner) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let items = || inner.as_array();
    Some(match tag.as_str() {
        "$float" => Value::Float(inner.as_str()?.parse().ok()?),
        "$duration" => Value::Duration(inner.as_i64()?),
        "$bytes" => Value::Bytes(Arc::new(STANDARD.decode(inner.as_str()?).ok()?)),
        "$set" => Value::Set(Arc::new(items()?.iter().map(decode).collect::<Set>())),
        "$range" => {
            let [start, end, exclusive] = &items()?[..] else { return None };
            let (start, end) = (start.as_i64()?, end.as_i64()?);
            Value::Range(Arc::new(Range { start, end, exclusive: exclusive.as_bool()? }))
        }
        "$pair" => {
            let [first, second] = &items()?[..] else { return None };
            Value::pair(decode(first), decode(second))
        }
        "$enum" => {
            let [name, variant, fields] = &items()?[..] else { return None };
            let fields = fields.as_array()?.iter().map(decode).collect();
            Value::variant(name.as_str()?.into(), variant.as_str()?.into(), fields)
        }
        "$struct" => {
            let [name, fields] = &items()?[..] else { return None };
            let fields = dict(fields.as_object()?);
            Value::Struct(Arc::new(StructValue { name: name.as_str()?.into(), fields }))
        }
        "$dict" => Value::dict(dict(inner.as_object()?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_from_elsewhere_is_never_mistaken_for_a_value_of_ours_and_comes_back_as_it_was() {
        let foreign = json!({"schema": {"$ref": "#/a"}, "x": [{"$bytes": "AA=="}, {"$set": [1]}], "$a": 1});
        let value = decode(&escape(foreign.clone()));
        assert_eq!(plain(&encode(&value)), foreign);
    }

    #[test]
    fn values_that_only_we_know_are_plain_to_others() {
        let list = Value::Set(Arc::new([Value::Int(1)].into_iter().collect()));
        let value = Value::record([("in", Value::Duration(1500)), ("of", list)]);
        assert_eq!(plain(&encode(&value)), json!({"in": 1500, "of": [1]}));
    }

    #[test]
    fn every_value_that_can_cross_comes_back_as_it_was() {
        let values = [
            Value::Nil,
            Value::Int(-7),
            Value::Float(1.0),
            Value::Float(f64::INFINITY),
            Value::Duration(1500),
            Value::str("text"),
            Value::Bytes(Arc::new(vec![0, 255])),
            Value::list(vec![Value::Int(1), Value::Bool(true)]),
            Value::record([("a", Value::Int(1)), ("b", Value::Nil)]),
            Value::record([("$set", Value::Int(1))]),
            Value::Set(Arc::new([Value::Int(1), Value::Int(2)].into_iter().collect())),
            Value::Range(Arc::new(Range { start: 1, end: 4, exclusive: true })),
            Value::pair(Value::Int(1), Value::str("x")),
            Value::ok(Value::Int(3)),
            Value::Struct(Arc::new(StructValue { name: "P".into(), fields: Dict::new() })),
        ];
        for value in values {
            let there = serde_json::to_string(&encode(&value)).unwrap();
            let back = decode(&serde_json::from_str(&there).unwrap());
            // In the language no duration equals another, so what they cross as is compared.
            assert_eq!((value.type_name(), encode(&value)), (back.type_name(), encode(&back)), "{there}");
        }
    }
}
