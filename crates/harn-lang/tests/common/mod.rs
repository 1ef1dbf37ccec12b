//! Calls of builtins and methods, written as a program would write them.
#![allow(dead_code)]

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use harn_lang::builtins::{self, Body, Cx, Meter, Rng};
use harn_lang::fault::Fault;
use harn_lang::methods::{self, Method};
use harn_lang::value::{Range, Text, Value};

/// Checks that every call prints what it should, or fails with the text of an uncaught error.
pub fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(call, expected)| (call, expected, told(call)))
        .filter(|(_, expected, got)| *expected != got)
        .map(|(call, expected, got)| format!("{call}\n  expected {expected}\n  got      {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub fn told(call: &str) -> String {
    run(call).map_or_else(|fault| fault.to_string(), |value| value.to_string())
}

pub fn run(call: &str) -> Result<Value, Fault> {
    run_with(call, 64 << 20)
}

/// With so many bytes of memory.
pub fn run_with(call: &str, memory_limit: u64) -> Result<Value, Fault> {
    let meter = Meter { fuel: i64::MAX, ..Meter::new(memory_limit) };
    let mut reader = Reader { chars: call.chars().peekable(), meter, rng: Rng::new(1) };
    let value = reader.expression()?;
    reader.blanks();
    assert_eq!(reader.chars.next(), None, "the rest of {call}");
    Ok(value)
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    meter: Meter,
    rng: Rng,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
    }

    fn sign(&mut self, sign: char) -> bool {
        self.blanks();
        self.chars.next_if_eq(&sign).is_some()
    }

    fn name(&mut self) -> String {
        self.blanks();
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        name
    }

    fn expression(&mut self) -> Result<Value, Fault> {
        let mut value = self.operand()?;
        while self.sign('.') {
            let method = self.name();
            let mut args = vec![value];
            assert!(self.sign('('), "a method is called");
            self.arguments(')', &mut args)?;
            value = match methods::find(args[0].type_name(), &method) {
                Some(Method::Pure(method)) => self.call(method, &mut args)?,
                Some(Method::Prelude(name)) => panic!("{name} is part of the prelude"),
                None => Value::Nil,
            };
        }
        Ok(value)
    }

    fn call(&mut self, body: builtins::PureFn, args: &mut [Value]) -> Result<Value, Fault> {
        body(&mut Cx { meter: &mut self.meter, rng: &mut self.rng }, args)
    }

    fn arguments(&mut self, end: char, values: &mut Vec<Value>) -> Result<(), Fault> {
        while !self.sign(end) {
            values.push(self.expression()?);
            assert!(
                self.sign(',') || {
                    self.blanks();
                    self.chars.peek() == Some(&end)
                },
                "a list goes on"
            );
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Value, Fault> {
        self.blanks();
        match self.chars.peek().copied() {
            Some('\'') => Ok(self.quoted().into()),
            Some('[') => {
                self.chars.next();
                let mut items = Vec::new();
                self.arguments(']', &mut items)?;
                Ok(Value::list(items))
            }
            Some('{') => {
                self.chars.next();
                self.dict()
            }
            Some(c) if c.is_ascii_digit() || c == '-' => Ok(self.number()),
            _ => self.named(),
        }
    }

    fn quoted(&mut self) -> String {
        self.chars.next();
        let mut text = String::new();
        loop {
            match self.chars.next() {
                Some('\'') | None => return text,
                Some('\\') => match self.chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('0') => text.push('\0'),
                    Some(other) => text.push(other),
                    None => return text,
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn dict(&mut self) -> Result<Value, Fault> {
        let mut entries = Vec::new();
        while !self.sign('}') {
            self.blanks();
            let key = if self.chars.peek() == Some(&'\'') { self.quoted() } else { self.name() };
            assert!(self.sign(':'), "a key has a value");
            entries.push((Arc::new(Text::new(key)), self.expression()?));
            self.sign(',');
        }
        Ok(Value::dict(entries.into_iter().collect()))
    }

    fn number(&mut self) -> Value {
        let mut text = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_digit() || *c == '.' || *c == '-') {
            text.push(c);
        }
        text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float)).expect("a number")
    }

    fn named(&mut self) -> Result<Value, Fault> {
        let name = self.name();
        match name.as_str() {
            "nil" => return Ok(Value::Nil),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "nan" => return Ok(Value::Float(f64::NAN)),
            "inf" => return Ok(Value::Float(f64::INFINITY)),
            "closure" => return Ok(builtins::find("len").map_or(Value::Nil, Value::Builtin)),
            _ => {}
        }
        assert!(self.sign('('), "{name} is called");
        let mut args = Vec::new();
        self.arguments(')', &mut args)?;
        match name.as_str() {
            "to" => {
                let (start, end) = (args[0].as_int().unwrap(), args[1].as_int().unwrap());
                return Ok(Value::Range(Arc::new(Range { start, end, exclusive: false })));
            }
            "nested" => {
                let times = args[1].as_int().unwrap();
                return Ok((0..times).fold(args[0].clone(), |value, _| Value::list(vec![value])));
            }
            "under" => {
                let (name, times) = (args[1].to_string(), args[2].as_int().unwrap());
                let wrap = |value, _| Value::record([(name.as_str(), value)]);
                return Ok((0..times).fold(args[0].clone(), wrap));
            }
            "doubled" => {
                let times = args[1].as_int().unwrap();
                return Ok(
                    (0..times).fold(args[0].clone(), |value, _| Value::list(vec![value.clone(), value]))
                );
            }
            _ => {}
        }
        let builtin =
            builtins::find(&name).and_then(builtins::get).unwrap_or_else(|| panic!("no builtin {name}"));
        match builtin.body {
            Body::Pure(body) => self.call(body, &mut args),
            _ => panic!("{name} is not pure"),
        }
    }
}
