//! Functions that nothing defines, where the host may have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, UnknownCalls, compile};
use harn_lang::value::Value;
use harn_lang::vm::{Limits, State, Vm};

/// What a program prints, and what it asks of the host, which answers everything with 42.
fn run(text: &str, unknown_calls: UnknownCalls) -> Result<(String, Vec<String>), String> {
    let source = Source { name: "test.harn".into(), text: text.into() };
    let settings = Settings { unknown_calls, ..Settings::default() };
    let program = compile(source, &NoModules, &settings).map_err(|failed| failed.all[0].message.clone())?;
    let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    let (mut output, mut asked) = (String::new(), Vec::new());
    loop {
        let turn = vm.run(1_000_000);
        turn.output.iter().for_each(|part| output.push_str(&part.text));
        for call in turn.calls {
            let args: Vec<String> = call.args.iter().map(Value::display).collect();
            asked.push(format!("{} {}", call.builtin, args.join(" ")));
            vm.complete(call.id, Ok(Value::Int(42)));
        }
        match turn.state {
            State::Done(_) => return Ok((output, asked)),
            State::Failed(failure) => return Err(failure.fault.to_string()),
            State::OutOfFuel | State::Waiting => {}
        }
    }
}

#[test]
fn a_call_of_an_unknown_function_is_left_to_the_host_with_its_arguments() {
    let code = "fn twice(n) { return n * 2 }
        println(twice(lights(1, \"a\")))
        let more = [2, 3]
        println([lights(), lights(1, ...more)])";
    let (output, asked) = run(code, UnknownCalls::LeftToHost).unwrap();
    assert_eq!(output, "84\n[42, 42]\n");
    let wanted =
        ["__builtin_call lights [1, a]", "__builtin_call lights []", "__builtin_call lights [1, 2, 3]"];
    assert_eq!(asked, wanted);
}

#[test]
fn otherwise_it_is_an_error() {
    let refused = run("println(lights(1))", UnknownCalls::Refused).unwrap_err();
    assert!(refused.starts_with("call target `lights` is not defined or imported"), "{refused}");
    // What is there already does not become a call of the host.
    let (output, asked) = run("println(len([1, 2]))", UnknownCalls::LeftToHost).unwrap();
    assert_eq!((output.as_str(), asked.len()), ("2\n", 0));
}
