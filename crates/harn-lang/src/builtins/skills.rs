//! Registries of skills: plain dicts that a program builds and passes on.

use std::borrow::Cow;

use super::args::{self, Metered, at, key};
use super::tools::{entries, named, with_entry, with_only, without_functions};
use super::{Cx, Group, prelude, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static SKILLS: Group = Group {
    title: "Skills",
    builtins: &[
        prelude("load_skill", "name, options?", "string", "The text of a skill that is installed."),
        prelude("__skills_found", "", "dict", "The skills that are installed, as a registry."),
        prelude(
            "render_always_on_catalog",
            "registry?, budget?",
            "string",
            "The skills of a registry, or those that are installed, as text for a model, in at most so many characters.",
        ),
        pure(
            "__skills_told",
            "registry, budget?",
            "string",
            "The skills of a registry as text for a model.",
            render_always_on_catalog,
        ),
        pure("skill_count", "reg", "int", "How many skills a registry has.", skill_count),
        pure(
            "skill_define",
            "registry, name, config",
            "dict",
            "A registry with one more skill, or with another one of this name.",
            skill_define,
        ),
        pure(
            "skill_describe",
            "reg",
            "string",
            "The skills of a registry as text, one in a line.",
            skill_describe,
        ),
        pure("skill_find", "reg, name", "any", "A skill of a registry by its name, or nil.", skill_find),
        pure("skill_list", "reg", "list", "The skills of a registry without their functions.", skill_list),
        pure("skill_registry", "", "dict", "A registry without skills.", skill_registry),
        pure("skill_remove", "reg, name", "dict", "A registry without a skill.", skill_remove),
        pure(
            "skill_render",
            "skill, args?",
            "string",
            "The prompt of a skill with `$ARGUMENTS`, `$1` and so on filled in.",
            skill_render,
        ),
        pure("skill_select", "reg, names", "dict", "A registry with only some of its skills.", skill_select),
        prelude(
            "skills_catalog_entries",
            "registry?",
            "list",
            "What a model hears of the skills of a registry, or of those that are installed: `name`, `description` and `when_to_use`, by name.",
        ),
        pure(
            "__skills_entries",
            "registry",
            "list",
            "What a model hears of the skills of a registry.",
            skills_catalog_entries,
        ),
    ],
};

fn skills<'a>(args: &'a [Value], builtin: &str) -> Result<&'a [Value], Fault> {
    entries(args, builtin, "skill_registry", "skills")
}

fn skill_registry(_: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Value::record([("_type", "skill_registry".into()), ("skills", Value::list(Vec::new()))]))
}

const TEXTS: &[&str] = &["short", "description", "when_to_use", "prompt", "invocation", "model", "effort"];
const LISTS: &[&str] = &["paths", "allowed_tools", "mcp", "requires_mcp"];

fn skill_define(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    skills(args, "skill_define")?;
    let name = args::text(cx, args, 1)?.into_owned();
    if name.is_empty() {
        return Err(Fault::thrown("skill_define: a skill needs a name"));
    }
    let mut entry = args::dict_of(args, 2, "skill_define", "config")?.clone();
    for (field, value) in entry.iter().filter(|(_, value)| **value != Value::Nil) {
        let field = field.as_str();
        if TEXTS.contains(&field) && value.as_str().is_none() {
            let message = format!("skill_define: '{field}' must be a string, got {}", value.type_name());
            return Err(Fault::thrown(message));
        }
        if LISTS.contains(&field) && value.as_list().is_none() {
            let message = format!("skill_define: '{field}' must be a list, got {}", value.type_name());
            return Err(Fault::thrown(message));
        }
    }
    entry.insert(key("name"), name.into());
    if !entry.has("description") {
        entry.insert(key("description"), "".into());
    }
    let registry = args::take(args, 0);
    with_entry(cx, registry, "skills", Value::dict(entry))
}

fn skill_count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(skills(args, "skill_count")?.len()))
}

fn skill_find(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 1)?;
    Ok(named(skills(args, "skill_find")?, &name).cloned().unwrap_or_default())
}

fn skill_list(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let skills = skills(args, "skill_list")?;
    cx.charge(skills.len().saturating_mul(512))?;
    Ok(without_functions(skills))
}

fn skill_remove(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    skills(args, "skill_remove")?;
    let name = args::text(cx, args, 1)?.into_owned();
    Ok(with_only(args::take(args, 0), "skills", |known| known != name))
}

fn skill_select(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    skills(args, "skill_select")?;
    let names: Vec<String> =
        args::list(args, 1).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(with_only(args::take(args, 0), "skills", |name| names.iter().any(|wanted| wanted == name)))
}

fn skill_describe(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let skills = skills(args, "skill_describe")?;
    let mut out = Metered::new(cx);
    for (at, skill) in skills.iter().enumerate() {
        let text = |name: &str| args::fields(skill).and_then(|dict| dict.get(name)).and_then(Value::as_str);
        out.push(if at > 0 { "\n- " } else { "- " })?;
        out.push(text("name").unwrap_or_default())?;
        out.push(": ")?;
        out.push(text("description").unwrap_or_default())?;
    }
    Ok(out.finish().into())
}

/// Name, description and when to use it, of every skill that a model may load, in the order of names.
fn catalog<'a>(args: &'a [Value], builtin: &str) -> Result<Vec<[&'a str; 3]>, Fault> {
    let is_hidden = |skill: &&Value| {
        let says = |name| args::fields(skill).and_then(|dict| dict.get(name));
        // Signatures cannot be checked yet.
        let reasons = ["disable_model_invocation", "require_signature"];
        reasons.into_iter().any(|name| matches!(says(name), Some(Value::Bool(true))))
    };
    let mut entries: Vec<[&str; 3]> = skills(args, builtin)?
        .iter()
        .filter(|skill| !is_hidden(skill))
        .map(|skill| {
            let text = |name: &str| args::fields(skill).and_then(|dict| dict.get(name)?.as_str());
            let description = text("short").or_else(|| text("description")).unwrap_or_default();
            [text("name").unwrap_or_default(), description, text("when_to_use").unwrap_or_default()]
        })
        .collect();
    entries.sort_unstable();
    Ok(entries)
}

fn skills_catalog_entries(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let entries = catalog(args, "skills_catalog_entries")?;
    cx.charge(entries.len().saturating_mul(512))?;
    let entry = |[name, description, when]: [&str; 3]| {
        Value::record([
            ("name", name.into()),
            ("description", description.into()),
            ("when_to_use", when.into()),
        ])
    };
    Ok(Value::list(entries.into_iter().map(entry).collect()))
}

/// How long the text about skills may be unless told otherwise, in characters.
const BUDGET: usize = 4000;

fn render_always_on_catalog(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let entries = catalog(args, "render_always_on_catalog")?;
    let budget = args::count_or(args, 1, BUDGET);
    let mut out = Metered::new(cx);
    let (mut used, mut told) = (0, 0);
    for [name, description, when] in &entries {
        let when = if when.is_empty() { String::new() } else { format!(" Use when: {when}") };
        let line = format!("- {name}: {description}{when}");
        used += line.chars().count() + 1;
        if used > budget {
            break;
        }
        out.push(if told > 0 { "\n" } else { "" })?;
        out.push(&line)?;
        told += 1;
    }
    if told < entries.len() {
        out.push(if told > 0 { "\n" } else { "" })?;
        out.push(&format!("- and {} more", entries.len() - told))?;
    }
    Ok(out.finish().into())
}

fn skill_render(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let skill = args::dict_of(args, 0, "skill_render", "skill")?;
    let prompt = ["prompt", "body"].iter().find_map(|name| skill.get(name)).and_then(Value::as_str);
    let prompt = prompt.unwrap_or_default();
    let mut given = Vec::new();
    match at(args, 1) {
        Value::List(list) => {
            for one in list.iter() {
                given.push(args::print(cx, one)?.into_owned());
            }
        }
        Value::Nil => {}
        other => given.push(args::print(cx, other)?.into_owned()),
    }
    let all = given.join(" ");
    let mut out = Metered::new(cx);
    let mut rest = prompt;
    while let Some((before, after)) = rest.split_once('$') {
        out.push(before)?;
        let (told, length) = substitute(skill, after, &given, &all);
        out.push(&told)?;
        rest = &after[length..];
    }
    out.push(rest)?;
    Ok(out.finish().into())
}

/// What stands for the words after a `$`, and how many bytes of them. What is not known stays as it is.
fn substitute<'a>(
    skill: &'a Dict,
    after: &'a str,
    given: &'a [String],
    all: &'a str,
) -> (Cow<'a, str>, usize) {
    if after.starts_with('$') {
        return ("$".into(), 1);
    }
    if after.starts_with("ARGUMENTS") {
        return (all.into(), "ARGUMENTS".len());
    }
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let place = after[..digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(value) = place.and_then(|place| given.get(place)) {
        return (value.into(), digits);
    }
    for (name, field) in [("{HARN_SKILL_DIR}", "dir"), ("{HARN_SESSION_ID}", "session_id")] {
        if let Some(value) = skill.get(field).and_then(Value::as_str)
            && after.starts_with(name)
        {
            return (value.into(), name.len());
        }
    }
    ("$".into(), 0)
}
