//! Arguments against their annotations.

use crate::compile::{ParamCheck, Wanted, WantedField};
use crate::fault::Fault;
use crate::value::{Dict, Value};

pub fn argument(check: &ParamCheck, value: &Value) -> Result<(), Fault> {
    fits(&check.wanted, value, &check.param)
}

fn fits(wanted: &Wanted, value: &Value, param: &str) -> Result<(), Fault> {
    match wanted {
        Wanted::Any => Ok(()),
        Wanted::Shape(fields) => shape(fields, value, param),
        Wanted::List(item) => {
            let Value::List(list) = value else { return Err(simple("list", value, param)) };
            for (at, value) in list.iter().enumerate() {
                if !matches(item, value) {
                    let (label, got) = (label(item), value.type_name());
                    let message =
                        format!("parameter '{param}': at [{at}]: expected type '{label}', got '{got}'");
                    return Err(Fault::Type(message));
                }
            }
            Ok(())
        }
        Wanted::Dict(item) => {
            let Value::Dict(dict) = value else { return Err(simple("dict", value, param)) };
            for (key, value) in dict.iter() {
                if !matches(item, value) {
                    let (key, label, got) = (key.as_str(), label(item), value.type_name());
                    let message =
                        format!("parameter '{param}': at {key}: expected type '{label}', got '{got}'");
                    return Err(Fault::Type(message));
                }
            }
            Ok(())
        }
        Wanted::Interface(name) => match value {
            Value::Struct(_) => Ok(()),
            other => Err(Fault::Type(format!(
                "parameter '{param}': expected value satisfying interface '{name}', got {}",
                other.type_name()
            ))),
        },
        other if matches(other, value) => Ok(()),
        other => Err(simple(&label(other), value, param)),
    }
}

fn simple(wanted: &str, value: &Value, param: &str) -> Fault {
    let got = value.type_name();
    Fault::Runtime(format!("TypeError: parameter '{param}' expected {wanted}, got {got} ({value})"))
}

fn shape(fields: &[WantedField], value: &Value, param: &str) -> Result<(), Fault> {
    let Some(given) = value.as_dict().or_else(|| struct_fields(value)) else {
        let message = format!("parameter '{param}': expected dict or struct, got {}", value.type_name());
        return Err(Fault::Type(message));
    };
    for field in fields {
        let name = &field.name;
        let Some(value) = given.get(name) else {
            if field.optional || matches(&field.wanted, &Value::Nil) {
                continue;
            }
            let near = crate::near::nearest(name, given.keys().map(|key| key.as_str()));
            let hint = near.map(|near| format!(", did you mean '{near}'?")).unwrap_or_default();
            let label = label(&field.wanted);
            return Err(Fault::Type(format!("parameter '{param}': missing field '{name}' ({label}){hint}")));
        };
        if field.optional && matches!(value, Value::Nil) {
            continue;
        }
        match &field.wanted {
            Wanted::Shape(inner) if value.as_dict().is_some() || struct_fields(value).is_some() => {
                shape(inner, value, &format!("{param}.{name}"))?;
            }
            Wanted::Shape(_) => {
                let got = value.type_name();
                let message =
                    format!("parameter '{param}': field '{name}' expected dict or struct, got {got}");
                return Err(Fault::Type(message));
            }
            other if matches(other, value) => {}
            other => {
                let (label, got) = (label(other), value.type_name());
                return Err(Fault::Type(format!(
                    "parameter '{param}': field '{name}' expected {label}, got {got}"
                )));
            }
        }
    }
    Ok(())
}

fn struct_fields(value: &Value) -> Option<&Dict> {
    match value {
        Value::Struct(object) => Some(&object.fields),
        _ => None,
    }
}

fn matches(wanted: &Wanted, value: &Value) -> bool {
    match wanted {
        Wanted::Any => true,
        Wanted::Kind(kind) => match (&**kind, value) {
            ("int" | "float", Value::Int(_) | Value::Float(_)) => true,
            ("closure", Value::Builtin(_)) => true,
            (kind, value) => kind == value.type_name(),
        },
        Wanted::Union(members) => members.iter().any(|member| matches(member, value)),
        Wanted::Str(text) => value.as_str() == Some(text),
        Wanted::Int(number) => value.as_int() == Some(*number),
        other => fits(other, value, "").is_ok(),
    }
}

fn label(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Any => "any".into(),
        Wanted::Kind(name) | Wanted::Interface(name) => name.to_string(),
        Wanted::List(_) => "list".into(),
        Wanted::Dict(_) | Wanted::Shape(_) => "dict".into(),
        Wanted::Union(members) => members.iter().map(label).collect::<Vec<_>>().join("|"),
        Wanted::Str(text) => format!("\"{text}\""),
        Wanted::Int(number) => number.to_string(),
    }
}
