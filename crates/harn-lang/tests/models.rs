//! What programs ask of the host about models and to them, where no mock answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Limits, State, Vm};

/// A program's output, what was asked of the host, and when it ended.
struct Ran {
    output: String,
    asked: Vec<String>,
    ended_at: i64,
}

type Answer = Result<Value, Fault>;

/// Runs a program with a clock that moves when it sleeps. Other questions are noted and answered by the function.
fn run(text: &str, mut answer: impl FnMut(&Call) -> Answer) -> Ran {
    let source = Source { name: "test.harn".into(), text: text.into() };
    let program = compile(source, &NoModules, &Settings::default()).unwrap_or_else(|failed| {
        panic!("{:?}", failed.all.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>())
    });
    let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    let mut ran = Ran { output: String::new(), asked: Vec::new(), ended_at: 0 };
    loop {
        let turn = vm.run(1_000_000);
        turn.output.iter().for_each(|part| ran.output.push_str(&part.text));
        for call in turn.calls {
            let answered = match call.builtin {
                "monotonic_ms" | "__monotonic_ms" => Ok(Value::Int(ran.ended_at)),
                "sleep" | "__sleep" => {
                    if let Some(Value::Int(ms) | Value::Duration(ms)) = call.args.first() {
                        ran.ended_at += ms;
                    }
                    Ok(Value::Nil)
                }
                name => {
                    let args: Vec<String> = call.args.iter().map(Value::display).collect();
                    ran.asked.push(format!("{name} {}", args.join(" ")));
                    answer(&call)
                }
            };
            vm.complete(call.id, answered);
        }
        match turn.state {
            State::Done(_) => return ran,
            State::Failed(failure) => panic!("{}\n{}", failure.fault, ran.output),
            State::OutOfFuel | State::Waiting => {}
        }
    }
}

fn said(text: &str) -> Answer {
    Ok(Value::record([
        ("text", text.into()),
        ("model", "m-1".into()),
        ("provider", "p".into()),
        ("input_tokens", Value::Int(10)),
        ("output_tokens", Value::Int(4)),
        ("cost_usd", Value::Float(0.5)),
    ]))
}

#[test]
fn without_mocks_the_host_is_asked() {
    let ran = run(
        "let a = llm_call(\"hi\", \"Be kind.\", {model: \"m\", max_tokens: 5})\nprintln([a.text, a.model, a.tool_calls, a.usage.total_tokens, llm_session_cost().total_cost])",
        |_| said("hello"),
    );
    let asked =
        "__llm {max_tokens: 5, messages: [{content: hi, role: user}], model: m, system: Be kind., tools: []}";
    assert_eq!(ran.asked, [asked]);
    assert_eq!(ran.output, "[hello, m-1, [], 14, 0.5]\n");
}

#[test]
fn errors_of_the_host_that_may_pass_are_tried_again() {
    let mut failures = vec![
        Fault::Categorised { category: "network", message: "gone".into() },
        Fault::Thrown(Value::record([("category", "overloaded".into()), ("message", "busy".into())])),
    ];
    let ran =
        run("println(llm_call(\"a\", nil, {retries: 2}).text)", |_| failures.pop().map_or(said("fine"), Err));
    assert_eq!((ran.output.as_str(), ran.asked.len(), ran.ended_at), ("fine\n", 3, 3000));

    let fault = Fault::Categorised { category: "context_overflow", message: "too long".into() };
    let ran = run("println(llm_call_safe(\"a\", nil, {retries: 2}).error)", |_| Err(fault.clone()));
    let told = "{category: context_overflow, message: too long}\n";
    assert_eq!((ran.output.as_str(), ran.asked.len()), (told, 1));
}

#[test]
fn a_provider_is_asked_no_more_often_than_allowed() {
    let program = "llm_rate_limit(\"p\", {rpm: 2})
for i in 1 to 5 { llm_call(\"x\", nil, {provider: \"p\"}) }
llm_call(\"x\", nil, {provider: \"other\"})";
    let ran = run(program, |_| said("-"));
    assert_eq!((ran.asked.len(), ran.ended_at), (6, 120_000));
}

#[test]
fn an_exhausted_budget_is_told_to_whoever_watches() {
    let program = "println(llm_call_safe(\"a\", nil, {schema: {type: \"dict\"}, schema_retries: 3, budget: {llm_tokens: 20}}).error)";
    let ran = run(program, |call| if call.builtin == "__llm" { said("no") } else { Ok(Value::Nil) });
    assert_eq!(
        ran.output,
        "{category: budget_exhausted, message: budget exhausted: llm_tokens: 28 of 20 spent}\n"
    );
    assert_eq!(ran.asked.len(), 3);
    assert_eq!(
        ran.asked[2],
        "__emit update {budget: llm_tokens, limit: 20, spent: 28, update: budget_exhausted}"
    );
}

/// Every question about providers and models, as the host gets it.
#[test]
fn what_is_known_about_models_is_asked_of_the_host() {
    let cases = [
        ("llm_available_providers()", "available {}"),
        ("llm_config()", "config {provider: nil}"),
        ("llm_config(\"p\")", "config {provider: p}"),
        ("llm_infer_provider(\"m\")", "infer {model: m}"),
        ("llm_known_models()", "models {}"),
        ("llm_model_info(\"m\")", "model {model: m}"),
        ("llm_model_tier(\"m\")", "tier {model: m}"),
        ("llm_pick_model(\"small\", {provider: \"p\"})", "pick {provider: p, target: small}"),
        ("llm_provider_catalog()", "catalog {}"),
        ("llm_qc_default_model(\"p\")", "qc_model {provider: p}"),
        ("llm_resolve_model(\"a\")", "resolve {alias: a}"),
    ];
    for (call, asked) in cases {
        let ran = run(&format!("println({call})"), |_| Ok("known".into()));
        assert_eq!(
            (ran.asked, ran.output),
            (vec![format!("__catalog {asked}")], "known\n".to_owned()),
            "{call}"
        );
    }
}

#[test]
fn a_program_adds_to_what_the_host_knows() {
    let program = "println(llm_providers())
provider_capabilities_install(\"[[provider.p]]\\nmodel_match = \\\"big*\\\"\\nvision = true\\n\")
println(provider_capabilities(\"p\", \"big-1\"))
println(provider_capabilities(\"p\", \"small\"))
println(provider_capabilities_clear())
println(provider_capabilities(\"p\", \"big-1\"))
println(llm_cost(\"m\", 1000000, 200000))
println(llm_info())";
    let ran = run(program, |call| {
        Ok(match call.args[0].as_str() {
            Some("providers") => Value::list(vec!["p".into()]),
            Some("prices") => Value::record([("input", Value::Float(3.0)), ("output", Value::Float(15.0))]),
            Some("config") => Value::record([("model", "m".into()), ("provider", "p".into())]),
            _ => Value::record([("tools", true.into()), ("vision", false.into())]),
        })
    });
    let expected = "[p]
{tools: true, vision: true}
{tools: true, vision: false}
true
{tools: true, vision: false}
6.0
{model: m, provider: p}
";
    assert_eq!(ran.output, expected);
}

#[test]
fn a_provider_that_the_host_has_forgotten_is_registered_again() {
    let program = "provider_register({name: \"own\", base_url: \"http://localhost:1\"})
for model in [\"own:m\", \"own:m\", \"other:m\"] { llm_call(\"a\", nil, {model: model}) }";
    let mut knows = false;
    let ran = run(program, |call| {
        Ok(match call.builtin {
            "__catalog" if !std::mem::replace(&mut knows, true) => Value::Nil,
            _ => Value::record([("text", "x".into())]),
        })
    });
    let asked: Vec<&str> = ran.asked.iter().filter_map(|asked| asked.split(' ').next()).collect();
    let register = "__provider_register";
    assert_eq!(asked, [register, "__catalog", register, "__llm", "__catalog", "__llm", "__llm"]);
}

#[test]
fn mocks_never_reach_the_host() {
    let program = "llm_mock({text: \"x\", match: \"*\"})
llm_rate_limit(\"p\", {rpm: 1})
for i in 1 to 3 { llm_call(\"a\", nil, {provider: \"p\"}) }
println(transcript_summarize(transcript_from_messages([{role: \"user\", content: \"a\"}])).summary)
println(receive(llm_stream(\"b\")))";
    let ran = run(program, |_| panic!("the host was asked"));
    assert_eq!((ran.output.as_str(), ran.ended_at), ("x\nx\n", 0));
}

#[test]
fn a_deadline_is_not_taken_for_an_error_that_may_pass() {
    let program = "println(try { deadline 5ms { llm_call(\"a\", nil, {retries: 3, fallbacks: [\"b\"]}) } } catch (e) { e })";
    let mut count = 0;
    let ran = run(program, |call| {
        count += usize::from(call.builtin == "__llm");
        Err(Fault::thrown("Deadline exceeded"))
    });
    assert_eq!((ran.output.as_str(), count), ("Deadline exceeded\n", 1));
}
