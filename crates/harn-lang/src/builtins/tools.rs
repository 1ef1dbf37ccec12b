//! Registries of tools: plain dicts that a program builds and passes on.

use std::sync::Arc;

use super::args::{self, Metered, at, key};
use super::{Cx, Group, json, prelude, pure, refused, schema, vm};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

const NO_SYNTHESIS: &str =
    "tools that are made on the way come in a later version; write them with `tool_define`";
const NO_PLANS: &str = "plans as artifacts come in a later version; `std/plan` has plans";

pub static TOOLS: Group = Group {
    title: "Tool registry",
    builtins: &[
        refused("plan_artifact", "value", "dict", "A plan as an artifact.", NO_PLANS),
        refused("plan_entries", "value", "list", "The steps of a plan.", NO_PLANS),
        vm(
            "tool_bind",
            "registry",
            "any",
            "Makes a registry the one that `tool_ref` and `tool_def` look into.",
        ),
        pure("tool_count", "registry", "int", "How many tools a registry has.", tool_count),
        vm("tool_def", "name", "dict", "The definition of a tool of the bound registry."),
        pure(
            "tool_define",
            "registry, name, desc, config",
            "dict",
            "A registry with one more tool, or with another one of this name.",
            tool_define,
        ),
        pure(
            "tool_describe",
            "registry",
            "string",
            "The tools of a registry as text, one in a line.",
            tool_describe,
        ),
        pure("tool_find", "registry, name", "any", "A tool of a registry by its name, or nil.", tool_find),
        pure(
            "tool_format_result",
            "name, result",
            "string",
            "The result of a tool as text for a model.",
            tool_format_result,
        ),
        pure("tool_list", "registry", "list", "The tools of a registry without their functions.", tool_list),
        pure(
            "tool_parse_call",
            "text",
            "any",
            "The calls in a model's text, as dicts of `name` and `arguments`.",
            tool_parse_call,
        ),
        pure(
            "tool_prompt",
            "registry",
            "string",
            "How a model calls the tools of a registry in text.",
            tool_prompt,
        ),
        vm(
            "tool_ref",
            "name",
            "string",
            "The name of a tool of the bound registry; throws if there is none.",
        ),
        pure("tool_registry", "", "dict", "A registry without tools.", tool_registry),
        pure("tool_remove", "registry, name", "dict", "A registry without a tool.", tool_remove),
        pure(
            "tool_schema",
            "registry, components?",
            "dict",
            "The tools of a registry as JSON Schema.",
            tool_schema,
        ),
        pure(
            "tool_select",
            "registry, names",
            "dict",
            "A registry with only some of its tools.",
            tool_select,
        ),
        prelude(
            "tool_surface_validate",
            "surface, options?",
            "dict",
            "Whether tools and the policy for them fit together.",
        ),
        refused(
            "tool_synth_invoke",
            "id, args",
            "any",
            "Calls a tool that was made on the way.",
            NO_SYNTHESIS,
        ),
        refused("tool_synthesis_cache", "", "list", "The tools that were made on the way.", NO_SYNTHESIS),
        refused(
            "tool_synthesis_clear",
            "",
            "nil",
            "Forgets the tools that were made on the way.",
            NO_SYNTHESIS,
        ),
        refused("tool_synthesize", "config", "any", "Has a tool made for a purpose.", NO_SYNTHESIS),
    ],
};

fn tool_registry(_: &mut Cx<'_>, _: &mut [Value]) -> Answer {
    Ok(Value::record([("_type", "tool_registry".into()), ("tools", Value::list(Vec::new()))]))
}

/// The entries of a registry of tools or skills.
pub fn entries<'a>(args: &'a [Value], builtin: &str, kind: &str, list: &str) -> Result<&'a [Value], Fault> {
    let registry = args::dict(args, 0).filter(|dict| dict.get("_type").and_then(Value::as_str) == Some(kind));
    let entries = registry.and_then(|dict| dict.get(list)).and_then(Value::as_list);
    entries.ok_or_else(|| {
        let what = kind.replace('_', " ");
        Fault::thrown(format!("{builtin}: first argument must be a {what} (created with {kind}())"))
    })
}

pub fn tools<'a>(args: &'a [Value], builtin: &str) -> Result<&'a [Value], Fault> {
    entries(args, builtin, "tool_registry", "tools")
}

pub fn named<'a>(entries: &'a [Value], name: &str) -> Option<&'a Value> {
    entries.iter().find(|entry| field(entry, "name").and_then(Value::as_str) == Some(name))
}

fn field<'a>(entry: &'a Value, name: &str) -> Option<&'a Value> {
    args::fields(entry).and_then(|dict| dict.get(name))
}

/// The registry with an entry, in the place of the one of the same name.
pub fn with_entry(cx: &mut Cx<'_>, registry: Value, list: &str, entry: Value) -> Answer {
    let Value::Dict(mut registry) = registry else { return Ok(registry) };
    let dict = Arc::make_mut(&mut registry);
    let mut entries = dict.remove(list).and_then(args::items).unwrap_or_default();
    cx.charge(entries.len() * 16 + 256)?;
    cx.work(entries.len());
    let name = field(&entry, "name").cloned();
    match entries.iter_mut().find(|known| field(known, "name") == name.as_ref()) {
        Some(known) => *known = entry,
        None => entries.push(entry),
    }
    dict.insert(key(list), Value::list(entries));
    Ok(Value::Dict(registry))
}

/// The registry with the entries that are wanted.
pub fn with_only(registry: Value, list: &str, is_wanted: impl Fn(&str) -> bool) -> Value {
    let Value::Dict(mut registry) = registry else { return registry };
    let dict = Arc::make_mut(&mut registry);
    let entries = dict.remove(list).and_then(args::items).unwrap_or_default();
    let keeps = |entry: &Value| field(entry, "name").and_then(Value::as_str).is_some_and(&is_wanted);
    dict.insert(key(list), Value::list(entries.into_iter().filter(keeps).collect()));
    Value::Dict(registry)
}

/// The entries without what only the program can call.
pub fn without_functions(entries: &[Value]) -> Value {
    let plain = |entry: &Value| {
        let fields = args::fields(entry).into_iter().flat_map(|dict| dict.iter());
        let kept = fields.filter(|(_, value)| !args::is_callable(value));
        Value::dict(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    Value::list(entries.iter().map(plain).collect())
}

const EXECUTORS: &[&str] = &["harn", "host_bridge", "mcp_server", "provider_native"];

fn tool_define(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    tools(args, "tool_define")?;
    let name = args::text(cx, args, 1)?.into_owned();
    if name.is_empty() {
        return Err(Fault::thrown("tool_define: a tool needs a name"));
    }
    let description = args::text_or(cx, args, 2, "")?.into_owned();
    let Some(config) = args::dict(args, 3) else {
        return Err(Fault::thrown("tool_define: config must be a dict with parameters and handler"));
    };
    let executor = executor(&name, config)?;
    let mut entry = config.clone();
    let parameters = match config.get("parameters") {
        Some(Value::Dict(parameters)) => Value::dict(parameters.iter().map(parameter).collect()),
        Some(other) if *other != Value::Nil => {
            let message = format!(
                "tool_define: parameters of tool \"{name}\" must be a dict, got {}",
                other.type_name()
            );
            return Err(Fault::thrown(message));
        }
        _ => Value::dict(Dict::new()),
    };
    if let Some(returns) = config.get("returns").filter(|_| !config.has("outputSchema")) {
        entry.insert(key("outputSchema"), returns.clone());
    }
    entry.insert(key("name"), name.into());
    entry.insert(key("description"), description.into());
    entry.insert(key("parameters"), parameters);
    entry.insert(key("executor"), executor.into());
    let registry = args::take(args, 0);
    with_entry(cx, registry, "tools", Value::dict(entry))
}

/// `{name: "string"}` is short for `{name: {type: "string"}}`.
fn parameter((name, rule): (&Arc<crate::value::Text>, &Value)) -> (Arc<crate::value::Text>, Value) {
    let rule = match rule {
        Value::Str(kind) => Value::record([("type", Value::Str(kind.clone()))]),
        other => other.clone(),
    };
    (name.clone(), rule)
}

/// Who runs a tool, if what is said about it fits together.
fn executor(name: &str, config: &Dict) -> Result<&'static str, Fault> {
    let given = |field: &str| config.get(field).filter(|value| **value != Value::Nil);
    let has_handler = given("handler").is_some();
    let wrong = |message: String| Err(Fault::thrown(format!("tool_define: {message}")));
    if let Some(handler) = given("handler").filter(|handler| !args::is_callable(handler)) {
        let found = handler.type_name();
        return wrong(format!("the `handler` of tool \"{name}\" must be a function, got {found}"));
    }
    if let Some(about) = given("annotations").filter(|about| !matches!(about, Value::Dict(_))) {
        let found = about.type_name();
        return wrong(format!("the `annotations` of tool \"{name}\" must be a dict, got {found}"));
    }
    let Some(executor) = given("executor") else {
        return if has_handler {
            Ok("harn")
        } else {
            wrong(format!(
                "tool \"{name}\" has no `handler` and no `executor`. Either attach a `handler` fn (executor: \
                 \"harn\") or declare an alternate backend, e.g. executor: \"host_bridge\" + host_capability: \
                 \"cap.op\", executor: \"mcp_server\" + mcp_server: \"name\", or executor: \"provider_native\"."
            ))
        };
    };
    let known = EXECUTORS.iter().find(|known| executor.as_str() == Some(known));
    match known.copied() {
        Some("harn") if !has_handler => wrong(format!(
            "tool \"{name}\" declares executor: \"harn\" but has no `handler`. Attach a handler fn."
        )),
        Some("host_bridge") if has_handler => wrong(format!(
            "tool \"{name}\" declares executor: \"host_bridge\" but also has a `handler`. Drop the handler — \
             host-bridge tools are dispatched by the host shell, not the VM."
        )),
        Some("host_bridge") if given("host_capability").is_none() => wrong(format!(
            "tool \"{name}\" declares executor: \"host_bridge\" but is missing `host_capability`. Set it to the \
             canonical bridge identifier (e.g. \"interaction.ask\") so `harn check` can validate the binding \
             against the host capability manifest."
        )),
        Some("mcp_server") if given("mcp_server").is_none() => wrong(format!(
            "tool \"{name}\" declares executor: \"mcp_server\" but is missing `mcp_server`. Set it to the name of \
             the server."
        )),
        Some(known) => Ok(known),
        None => {
            let expected = EXECUTORS.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            wrong(format!("unknown executor \"{executor}\" for tool \"{name}\". Expected one of: {expected}"))
        }
    }
}

fn tool_count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(tools(args, "tool_count")?.len()))
}

fn tool_list(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let tools = tools(args, "tool_list")?;
    cx.charge(tools.len().saturating_mul(512))?;
    Ok(without_functions(tools))
}

fn tool_find(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 1)?;
    Ok(named(tools(args, "tool_find")?, &name).cloned().unwrap_or_default())
}

fn tool_remove(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    tools(args, "tool_remove")?;
    let name = args::text(cx, args, 1)?.into_owned();
    Ok(with_only(args::take(args, 0), "tools", |known| known != name))
}

fn tool_select(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let known = tools(args, "tool_select")?;
    let names: Vec<String> =
        args::list(args, 1).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(missing) = names.iter().find(|name| named(known, name).is_none()) {
        return Err(Fault::thrown(format!("tool_select: the registry has no tool \"{missing}\"")));
    }
    Ok(with_only(args::take(args, 0), "tools", |name| names.iter().any(|wanted| wanted == name)))
}

fn text_of<'a>(entry: &'a Value, name: &str) -> &'a str {
    field(entry, name).and_then(Value::as_str).unwrap_or_default()
}

/// `name(a: string, b?: int)`.
fn signature(tool: &Value) -> String {
    let parameters = field(tool, "parameters").and_then(args::fields);
    let told = parameters.into_iter().flat_map(|dict| dict.iter()).map(|(name, rule)| {
        let optional = if is_required(rule) { "" } else { "?" };
        let kind = field(rule, "type").and_then(Value::as_str).unwrap_or("any");
        format!("{}{optional}: {kind}", name.as_str())
    });
    format!("{}({})", text_of(tool, "name"), told.collect::<Vec<_>>().join(", "))
}

fn is_required(rule: &Value) -> bool {
    field(rule, "required") != Some(&Value::Bool(false)) && field(rule, "default").is_none()
}

fn tool_describe(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let tools = tools(args, "tool_describe")?;
    let mut out = Metered::new(cx);
    for (at, tool) in tools.iter().enumerate() {
        out.push(if at > 0 { "\n" } else { "" })?;
        out.push(&format!("- {}: {}", signature(tool), text_of(tool, "description")))?;
    }
    Ok(out.finish().into())
}

fn tool_prompt(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let tools = tools(args, "tool_prompt")?;
    let mut out = Metered::new(cx);
    out.push("These tools are available. To call one, write:\n\n<tool_call>\n")?;
    out.push("{\"name\": \"TOOL\", \"arguments\": {\"NAME\": VALUE}}\n</tool_call>\n")?;
    for tool in tools {
        out.push(&format!("\n- {}: {}", signature(tool), text_of(tool, "description")))?;
    }
    Ok(out.finish().into())
}

/// The JSON Schema of the arguments of a tool.
fn input_schema(cx: &mut Cx<'_>, tool: &Value) -> Answer {
    let (mut properties, mut required) = (Dict::new(), Vec::new());
    for (name, rule) in
        field(tool, "parameters").and_then(args::fields).into_iter().flat_map(|dict| dict.iter())
    {
        if is_required(rule) {
            required.push(Value::Str(name.clone()));
        }
        let mut rule = rule.clone();
        if let Value::Dict(dict) = &mut rule
            && matches!(dict.get("required"), Some(Value::Bool(_)))
        {
            Arc::make_mut(dict).remove("required");
        }
        properties.insert(name.clone(), schema::schema_to_json_schema(cx, &mut [rule])?);
    }
    Ok(Value::record([
        ("type", "object".into()),
        ("properties", Value::dict(properties)),
        ("required", Value::list(required)),
    ]))
}

fn tool_schema(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut described = Vec::new();
    for tool in tools(args, "tool_schema")? {
        let mut entry = Dict::new();
        for name in ["name", "description", "annotations"] {
            if let Some(value) = field(tool, name) {
                entry.insert(key(name), value.clone());
            }
        }
        entry.insert(key("inputSchema"), input_schema(cx, tool)?);
        if let Some(output) = field(tool, "outputSchema") {
            let output = schema::schema_to_json_schema(cx, &mut [output.clone()])?;
            entry.insert(key("outputSchema"), output);
        }
        described.push(Value::dict(entry));
    }
    let mut all = Dict::new();
    all.insert(key("tools"), Value::list(described));
    if let Some(components) = args::dict(args, 1) {
        all.insert(key("components"), Value::dict(components.clone()));
    }
    Ok(Value::dict(all))
}

fn tool_format_result(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let result = Value::record([("name", at(args, 0).clone()), ("result", at(args, 1).clone())]);
    let text = json::write::compact(cx, &result)?;
    Ok(format!("<tool_result>\n{text}\n</tool_result>").into())
}

fn tool_parse_call(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let mut calls = Vec::new();
    let mut rest = &*text;
    while let Some((_, after)) = rest.split_once("<tool_call>") {
        let Some((body, next)) = after.split_once("</tool_call>") else { break };
        rest = next;
        if let Ok(call) = json::read::json(cx, body.trim())?
            && field(&call, "name").and_then(Value::as_str).is_some()
        {
            let arguments = field(&call, "arguments").or_else(|| field(&call, "args"));
            let arguments = arguments.cloned().unwrap_or_else(|| Value::dict(Dict::new()));
            let name = field(&call, "name").cloned().unwrap_or_default();
            calls.push(Value::record([("name", name), ("arguments", arguments)]));
        }
    }
    Ok(Value::list(calls))
}
