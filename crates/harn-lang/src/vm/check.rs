//! Arguments against their annotations.

use crate::compile::{ParamCheck, Wanted, WantedField};
use crate::fault::Fault;
use crate::value::{Dict, Value};

pub fn argument(check: &ParamCheck, value: &Value) -> Result<(), Fault> {
    fits(&check.wanted, value, &check.param)
}

/// What does not fit in what a program gave back, and where in it that is.
pub fn result(wanted: &Wanted, value: &Value) -> Option<String> {
    misfit(wanted, value, "result".into())
}

fn fits(wanted: &Wanted, value: &Value, param: &str) -> Result<(), Fault> {
    match wanted {
        Wanted::Any => Ok(()),
        Wanted::Shape(fields) => shape(fields, value, param),
        Wanted::List(_) if !matches!(value, Value::List(_)) => Err(simple("list", value, param)),
        Wanted::Dict(_) if !matches!(value, Value::Dict(_)) => Err(simple("dict", value, param)),
        Wanted::List(_) | Wanted::Dict(_) => match misfit(wanted, value, String::new()) {
            None => Ok(()),
            Some(told) => Err(Fault::Type(format!("parameter '{param}': {told}"))),
        },
        Wanted::Interface(name) => match value {
            Value::Struct(_) => Ok(()),
            other => Err(Fault::Type(format!(
                "parameter '{param}': expected value satisfying interface '{name}', got {}",
                other.type_name()
            ))),
        },
        other if matches(other, value) => Ok(()),
        Wanted::Union(members) if meant(members, value).is_some() => {
            meant(members, value).map_or(Ok(()), |member| fits(member, value, param))
        }
        other => Err(simple(&label(other), value, param)),
    }
}

fn simple(wanted: &str, value: &Value, param: &str) -> Fault {
    let (got, shown) = (value.type_name(), value.display());
    Fault::Runtime(format!("TypeError: parameter '{param}' expected {wanted}, got {got} ({shown})"))
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
            // A key that is a field itself was not meant to be another one.
            let others = given.keys().map(|key| key.as_str());
            let others = others.filter(|key| fields.iter().all(|field| &*field.name != *key));
            let near = crate::near::nearest(name, others);
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
            Wanted::List(_) if matches!(value, Value::List(_)) => {
                fits(&field.wanted, value, &format!("{param}.{name}"))?;
            }
            Wanted::Dict(_) if matches!(value, Value::Dict(_)) => {
                fits(&field.wanted, value, &format!("{param}.{name}"))?;
            }
            Wanted::Union(members) if meant(members, value).is_some() => {
                fits(&field.wanted, value, &format!("{param}.{name}"))?;
            }
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

/// What does not fit, and where inside of the value it is.
fn misfit(wanted: &Wanted, value: &Value, path: String) -> Option<String> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (wanted, value) {
        (Wanted::List(item), Value::List(list)) => {
            let (at, value) = list.iter().enumerate().find(|(_, value)| !matches(item, value))?;
            misfit(item, value, format!("{path}[{at}]"))
        }
        (Wanted::Dict(item), Value::Dict(dict)) => {
            let (key, value) = dict.iter().find(|(_, value)| !matches(item, value))?;
            misfit(item, value, below(key.as_str()))
        }
        (Wanted::Shape(fields), value) if value.as_dict().or_else(|| struct_fields(value)).is_some() => {
            let given = value.as_dict().or_else(|| struct_fields(value))?;
            let field = fields.iter().find(|field| !has_field(given, field))?;
            match given.get(&field.name) {
                Some(value) => misfit(&field.wanted, value, below(&field.name)),
                None => Some(format!("at {path}: missing field '{}' ({})", field.name, label(&field.wanted))),
            }
        }
        (wanted, value) if matches(wanted, value) => None,
        // Where one of several types is of the same kind, that one was meant.
        (Wanted::Union(members), value) if members.iter().any(|member| is_meant(member, value)) => {
            let first = || members.iter().find(|member| is_meant(member, value));
            misfit(meant(members, value).or_else(first)?, value, path)
        }
        (wanted, value) => {
            Some(format!("at {path}: expected type '{}', got '{}'", label(wanted), value.type_name()))
        }
    }
}

/// The shape of a union that a value was to be: the only one, or the only one whose literals it has.
fn meant<'w>(members: &'w [Wanted], value: &Value) -> Option<&'w Wanted> {
    let given = value.as_dict().or_else(|| struct_fields(value))?;
    let is_tagged = |field: &WantedField| {
        matches!(field.wanted, Wanted::Str(_) | Wanted::Int(_)) && has_field(given, field)
    };
    let only = |is_it: &dyn Fn(&[WantedField]) -> bool| {
        let mut found =
            members.iter().filter(|member| matches!(member, Wanted::Shape(fields) if is_it(fields)));
        found.next().filter(|_| found.next().is_none())
    };
    only(&|_| true).or_else(|| only(&|fields| fields.iter().any(is_tagged)))
}

/// Whether a value is of the kind that a type with something inside of it wants.
fn is_meant(wanted: &Wanted, value: &Value) -> bool {
    match wanted {
        Wanted::List(_) => matches!(value, Value::List(_)),
        Wanted::Dict(_) => matches!(value, Value::Dict(_)),
        Wanted::Shape(_) => value.as_dict().or_else(|| struct_fields(value)).is_some(),
        _ => false,
    }
}

fn has_field(given: &Dict, field: &WantedField) -> bool {
    match given.get(&field.name) {
        None | Some(Value::Nil) if field.optional => true,
        value => matches(&field.wanted, value.unwrap_or(&Value::Nil)),
    }
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
        Wanted::List(item) => {
            matches!(value, Value::List(list) if list.iter().all(|value| matches(item, value)))
        }
        Wanted::Dict(item) => {
            matches!(value, Value::Dict(dict) if dict.iter().all(|(_, value)| matches(item, value)))
        }
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
