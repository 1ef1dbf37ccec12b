//! The part of a host that agents need: a policy that allows, skills in files, and two tools.

use harn_lang::fault::Fault;
use harn_lang::value::Value;

/// The answer to a call, if it is one of these.
pub fn answer(builtin: &str, args: &[Value]) -> Option<Result<Value, Fault>> {
    let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
    Some(Ok(match builtin {
        "__tool_begin" => begin(&arg(0)),
        "__tool_end" | "__emit" | "__provider_register" => Value::Nil,
        "__skill_files" => skill_files(),
        "__catalog" if text(&arg(0)) == "tool" => tool(field(&arg(1), "name").as_str().unwrap_or_default()),
        "__tool" => called(&text(&arg(0)), &arg(1)),
        "cwd" => "/work".into(),
        "stat" if text(&arg(0)).starts_with("/work") => Value::record([("is_dir", Value::Bool(true))]),
        _ => return None,
    }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn field(value: &Value, name: &str) -> Value {
    value.as_dict().and_then(|dict| dict.get(name)).cloned().unwrap_or_default()
}

/// What is called `drop_…` is not allowed, nor what the rules of the loop name; what is called `careful_…` gets other
/// arguments.
fn begin(call: &Value) -> Value {
    let name = text(&field(call, "name"));
    let rules = field(&field(&field(call, "annotations"), "policy"), "auto_deny");
    let is_named = rules.as_list().unwrap_or_default().iter().any(|rule| rule.as_str() == Some(&name));
    let (decision, reason) = if name.starts_with("drop_") {
        ("deny", "it deletes things")
    } else if is_named {
        ("deny", "the rules say so")
    } else {
        ("allow", "")
    };
    let args = if name.starts_with("careful_") {
        Value::record([("path", "elsewhere".into())])
    } else {
        field(call, "args")
    };
    Value::record([("decision", decision.into()), ("reason", reason.into()), ("args", args)])
}

fn tool(name: &str) -> Value {
    if name != "read_file" {
        return Value::Nil;
    }
    let path = Value::record([("type", "string".into())]);
    let schema = Value::record([
        ("type", "object".into()),
        ("properties", Value::record([("path", path)])),
        ("required", Value::list(vec!["path".into()])),
    ]);
    Value::record([("name", name.into()), ("description", "Reads a file.".into()), ("input_schema", schema)])
}

fn called(name: &str, args: &Value) -> Value {
    let path = text(&field(args, "path"));
    let (status, output) = match (name, path.as_str()) {
        ("read_file", "missing.txt") => ("error", "there is no missing.txt".to_owned()),
        ("read_file", path) => ("ok", format!("the text of {path}")),
        _ => ("error", format!("there is no tool {name}")),
    };
    Value::record([("status", status.into()), ("output", output.into())])
}

fn skill_files() -> Value {
    let file = |name: &str, layer: &str, text: &str| {
        Value::record([
            ("name", name.into()),
            ("layer", layer.into()),
            ("path", format!("/skills/{layer}/{name}/SKILL.md").into()),
            ("text", text.into()),
        ])
    };
    Value::list(vec![
        file(
            "deploy",
            "project",
            "---\nname: deploy\nshort: Ship it\ndescription: Deploy a release to production\n\
             when-to-use: The user says ship or deploy\nallowed-tools: [run_deploy]\npaths: \"infra/**\"\n---\n\
             Deploy $1 from ${HARN_SKILL_DIR}.\n",
        ),
        file("broken", "project", "---\nname: [\n---\nNothing.\n"),
        file("open", "project", "---\nname: open\n"),
        file("odd", "project", "---\nshort: Odd\ncolour: blue\n---\n"),
        file("deploy", "user", "---\nname: deploy\nshort: Another one\n---\nOld text.\n"),
        file(
            "review",
            "user",
            "---\nshort: Review code\ndisable-model-invocation: true\n---\nRead all of it.\n",
        ),
    ])
}
