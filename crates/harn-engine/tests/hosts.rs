//! What scripts get from a host, and what they get without one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use harn_core::chat::ModelRef;
use harn_core::ports::{HostFailure, HostPort};
use harn_core::run::{Shown, Trust};
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::guard::GuardCommand;
use harn_engine::script::{Ending, ScriptProgram};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, UnknownCalls, compile};
use harn_lang::vm::{Limits, Vm};
use harn_model::Models;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A host with lamps.
struct Lamps;

#[async_trait]
impl HostPort for Lamps {
    async fn capabilities(&self) -> Result<Value, HostFailure> {
        Ok(json!({ "lamps": ["on"] }))
    }

    async fn call(&self, capability: &str, operation: &str, params: Value) -> Result<Value, HostFailure> {
        match (capability, operation) {
            ("lamps", "on") => Ok(json!({ "lit": params["room"] })),
            _ => Err(HostFailure { message: format!("no {capability}.{operation} here"), category: None }),
        }
    }

    async fn tools(&self) -> Result<Value, HostFailure> {
        Ok(json!([{ "name": "dim" }]))
    }

    async fn call_tool(&self, name: &str, args: Value) -> Result<Value, HostFailure> {
        Ok(json!([name, args]))
    }

    async fn builtin(&self, name: &str, args: Value) -> Result<Value, HostFailure> {
        match name {
            "lights" => Ok(json!({ "of": args })),
            _ => Err(HostFailure { message: format!("Undefined builtin: {name}"), category: None }),
        }
    }
}

#[derive(Default)]
struct Printed(Mutex<String>);

impl Witness for Printed {
    fn printed(&self, shown: &[Shown]) -> io::Result<()> {
        shown.iter().for_each(|part| self.0.lock().push_str(&part.text));
        Ok(())
    }
}

async fn prints(code: &str, host: Option<Arc<dyn HostPort>>) -> String {
    let source = Source { name: "test.harn".into(), text: code.into() };
    let settings = Settings { unknown_calls: UnknownCalls::LeftToHost, ..Settings::default() };
    let program = compile(source, &NoModules, &settings).unwrap_or_else(|failed| {
        panic!("{:?}", failed.all.iter().map(|one| &one.message).collect::<Vec<_>>())
    });
    let vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    let program = ScriptProgram::new(Arc::new(Mutex::new(vm)));
    let ending = program.ending();
    let model = ModelRef { provider: "none".into(), model: "none".into() };
    let guard = GuardCommand { program: "false".into(), args: Vec::new() };
    let options = EngineOptions { host, ..EngineOptions::new(Models::new(Vec::new()), model, guard) };
    let printed = Arc::new(Printed::default());
    let setup = Setup {
        policy: Arc::default(),
        trust: Trust::Own,
        limits: options.limits,
        place: Arc::new(Place::default()),
        witness: Arc::clone(&printed) as Arc<dyn Witness>,
        interrupts: Arc::new(Interrupts::default()),
        people: None,
        fixture: None,
    };
    ephemeral::run(&options, setup, Box::new(program)).await;
    if let Some(Ending::Failed(failure)) = &*ending.lock() {
        printed.0.lock().push_str(&failure.fault.to_string());
    }
    std::mem::take(&mut *printed.0.lock())
}

const CODE: &str = r#"
println(try { lights("kitchen", 2) } catch (e) { e })
println(try { nothing_of_it() } catch (e) { e })
println(try { host_call("lamps.on", {room: "hall"}) } catch (e) { e })
println(host_has("lamps", "on"))
println(host_tool_list().map({ one -> one.name }))
println(try { host_tool_call("dim", {by: 3}) } catch (e) { e })
"#;

#[tokio::test]
async fn a_host_is_asked_for_what_only_it_has() {
    let expected =
        "{of: [kitchen, 2]}\nUndefined builtin: nothing_of_it\n{lit: hall}\ntrue\n[dim]\n[dim, {by: 3}]\n";
    assert_eq!(prints(CODE, Some(Arc::new(Lamps))).await, expected);
}

#[tokio::test]
async fn without_a_host_each_is_refused_by_its_name() {
    let expected = "Undefined builtin: lights\nUndefined builtin: nothing_of_it\n\
                    host_call: no host is attached that has `lamps.on`; host_has() tells what there is, and a test can \
                    pretend it with host_mock()\nfalse\n[]\n\
                    host_tool_call: no host is attached that has the tool `dim`\n";
    assert_eq!(prints(CODE, None).await, expected);
}
