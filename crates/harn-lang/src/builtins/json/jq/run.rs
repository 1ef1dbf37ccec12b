//! What a jq program does to a value.

use super::order::order;
use super::parse::Filter;
use crate::builtins::Cx;
use crate::builtins::args;
use crate::fault::Fault;
use crate::value::{Dict, Text, Value};

pub struct Run<'r, 'c> {
    pub cx: &'r mut Cx<'c>,
    pub builtin: &'r str,
}

type Outputs = Result<Vec<Value>, Fault>;

impl Run<'_, '_> {
    pub fn error(&self, message: impl std::fmt::Display) -> Fault {
        Fault::thrown(format!("{}: {message}", self.builtin))
    }

    /// Every output is paid for, so that none of the ways to multiply them goes on for ever.
    fn paid(&mut self, outputs: Vec<Value>) -> Outputs {
        self.cx.charge(outputs.len().saturating_mul(16).saturating_add(16))?;
        self.cx.work(outputs.len() * 8 + 16);
        Ok(outputs)
    }

    pub fn run(&mut self, filter: &Filter, input: &Value) -> Outputs {
        let outputs = match filter {
            Filter::Identity => vec![input.clone()],
            Filter::Literal(value) => vec![value.clone()],
            Filter::Recurse => {
                let mut all = Vec::new();
                self.recurse(input, &mut all)?;
                all
            }
            Filter::Index(of, index) => self.each_pair(of, index, input, Self::index)?,
            Filter::Slice(of, start, end) => {
                self.each(of, input, |run, value| run.slice(value, *start, *end).map(|value| vec![value]))?
            }
            Filter::Iterate(of) => self.each(of, input, Self::iterate)?,
            Filter::Try(of) => match self.run(of, input) {
                Err(Fault::Thrown(_)) => Vec::new(),
                other => other?,
            },
            Filter::Pipe(left, right) => self.each(left, input, |run, value| run.run(right, value))?,
            Filter::Comma(left, right) => {
                let mut outputs = self.run(left, input)?;
                outputs.extend(self.run(right, input)?);
                outputs
            }
            Filter::Binary(sign, left, right) => self.binary(sign, left, right, input)?,
            Filter::Array(None) => vec![Value::list(Vec::new())],
            Filter::Array(Some(inner)) => vec![Value::list(self.run(inner, input)?)],
            Filter::Object(entries) => self.object(entries, input)?,
            Filter::Call(name, given) => super::functions::call(self, name, given, input)?,
            Filter::If(arms, otherwise) => self.choose(arms, otherwise.as_deref(), input)?,
        };
        self.paid(outputs)
    }

    pub fn each(
        &mut self,
        filter: &Filter,
        input: &Value,
        mut then: impl FnMut(&mut Self, &Value) -> Outputs,
    ) -> Outputs {
        let mut outputs = Vec::new();
        for value in self.run(filter, input)? {
            outputs.extend(then(self, &value)?);
        }
        Ok(outputs)
    }

    fn choose(&mut self, arms: &[(Filter, Filter)], otherwise: Option<&Filter>, input: &Value) -> Outputs {
        match (arms, otherwise) {
            ([(condition, then), rest @ ..], _) => self.each(condition, input, |run, value| {
                if is_true(value) { run.run(then, input) } else { run.choose(rest, otherwise, input) }
            }),
            ([], Some(otherwise)) => self.run(otherwise, input),
            ([], None) => Ok(vec![input.clone()]),
        }
    }

    fn each_pair(
        &mut self,
        left: &Filter,
        right: &Filter,
        input: &Value,
        combine: impl Fn(&mut Self, &Value, &Value) -> Result<Value, Fault>,
    ) -> Outputs {
        let rights = self.run(right, input)?;
        let lefts = self.run(left, input)?;
        self.cx.charge(rights.len().saturating_mul(lefts.len()).saturating_mul(16))?;
        let mut outputs = Vec::new();
        for right in &rights {
            for left in &lefts {
                outputs.push(combine(self, left, right)?);
            }
        }
        Ok(outputs)
    }

    fn recurse(&mut self, value: &Value, all: &mut Vec<Value>) -> Result<(), Fault> {
        self.cx.charge(16)?;
        all.push(value.clone());
        match value {
            Value::List(list) => list.iter().try_for_each(|item| self.recurse(item, all)),
            other => args::fields(other)
                .into_iter()
                .flat_map(|dict| dict.values())
                .try_for_each(|value| self.recurse(value, all)),
        }
    }

    fn index(&mut self, value: &Value, index: &Value) -> Result<Value, Fault> {
        let found = match (value, index) {
            (Value::Nil, _) => None,
            (Value::List(list), Value::Int(_) | Value::Float(_)) => {
                let index = args::int_or(std::slice::from_ref(index), 0, 0);
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let index = if index < 0 { index.saturating_add(length) } else { index };
                usize::try_from(index).ok().and_then(|index| list.get(index))
            }
            (Value::Dict(_) | Value::Struct(_), Value::Str(key)) => {
                args::fields(value).and_then(|dict| dict.get(key.as_str()))
            }
            _ => {
                let message = format!("cannot index {} with {}", value.type_name(), index.display());
                return Err(self.error(message));
            }
        };
        Ok(found.cloned().unwrap_or_default())
    }

    fn slice(&mut self, value: &Value, start: Option<i64>, end: Option<i64>) -> Result<Value, Fault> {
        match value {
            Value::Nil => Ok(Value::Nil),
            Value::List(list) => {
                let (start, end) = args::bounds(list.len(), start, end);
                self.cx.charge((end - start) * 16)?;
                Ok(Value::list(list[start..end].to_vec()))
            }
            Value::Str(text) => {
                let (start, end) = args::bounds(text.chars(), start, end);
                Ok(Text::slice(text, start, end).into())
            }
            other => Err(self.error(format!("cannot slice {}", other.type_name()))),
        }
    }

    pub fn iterate(&mut self, value: &Value) -> Outputs {
        match value {
            Value::List(list) => Ok(list.to_vec()),
            Value::Set(set) => Ok(set.iter().cloned().collect()),
            other => match args::fields(other) {
                Some(dict) => Ok(dict.values().cloned().collect()),
                None => Err(self.error(format!("cannot iterate over {}", other.type_name()))),
            },
        }
    }

    fn binary(&mut self, sign: &'static str, left: &Filter, right: &Filter, input: &Value) -> Outputs {
        match sign {
            "//" => {
                let lefts = match self.run(left, input) {
                    Err(Fault::Thrown(_)) => Vec::new(),
                    other => other?,
                };
                let found: Vec<_> = lefts.into_iter().filter(is_true).collect();
                if found.is_empty() { self.run(right, input) } else { Ok(found) }
            }
            "and" | "or" => self.each(left, input, |run, value| {
                if is_true(value) == (sign == "or") {
                    return Ok(vec![Value::Bool(sign == "or")]);
                }
                let rights = run.run(right, input)?;
                Ok(rights.iter().map(|value| Value::Bool(is_true(value))).collect())
            }),
            _ => self.each_pair(left, right, input, |run, left, right| run.operate(sign, left, right)),
        }
    }

    fn operate(&mut self, sign: &str, left: &Value, right: &Value) -> Result<Value, Fault> {
        args::weigh(self.cx, left)?;
        let order = order(left, right);
        Ok(match sign {
            "==" => (left == right).into(),
            "!=" => (left != right).into(),
            "<" => order.is_lt().into(),
            "<=" => order.is_le().into(),
            ">" => order.is_gt().into(),
            ">=" => order.is_ge().into(),
            "+" => self.add(left, right)?,
            _ => match (left, right) {
                (Value::List(a), Value::List(b)) if sign == "-" => {
                    self.cx.charge(a.len() * 16)?;
                    self.cx.work(a.len().saturating_mul(b.len()));
                    Value::list(a.iter().filter(|item| !b.contains(item)).cloned().collect())
                }
                (Value::Int(_), Value::Int(0)) if sign == "/" || sign == "%" => {
                    return Err(self.error("division by zero"));
                }
                (Value::Int(a), Value::Int(b)) => match sign {
                    "-" => Value::Int(a.wrapping_sub(*b)),
                    "*" => Value::Int(a.wrapping_mul(*b)),
                    "%" => Value::Int(a.wrapping_rem(*b)),
                    _ if a.wrapping_rem(*b) == 0 => Value::Int(a.wrapping_div(*b)),
                    _ => Value::Float(*a as f64 / *b as f64),
                },
                _ => match (left.as_number(), right.as_number()) {
                    (Some(a), Some(b)) => Value::Float(match sign {
                        "-" => a - b,
                        "*" => a * b,
                        "%" => a % b,
                        _ => a / b,
                    }),
                    _ => {
                        let (left, right) = (left.type_name(), right.type_name());
                        return Err(self.error(format!("cannot compute {left} {sign} {right}")));
                    }
                },
            },
        })
    }

    pub fn add(&mut self, left: &Value, right: &Value) -> Result<Value, Fault> {
        Ok(match (left, right) {
            (Value::Nil, other) | (other, Value::Nil) => other.clone(),
            (Value::Int(a), Value::Int(b)) => Value::Int(a.wrapping_add(*b)),
            (Value::Str(a), Value::Str(b)) => {
                self.cx.charge(a.as_str().len() + b.as_str().len())?;
                format!("{}{}", a.as_str(), b.as_str()).into()
            }
            (Value::List(a), Value::List(b)) => {
                self.cx.charge((a.len() + b.len()) * 16)?;
                Value::list(a.iter().chain(b.iter()).cloned().collect())
            }
            (Value::Dict(a), Value::Dict(b)) => {
                self.cx.charge((a.len() + b.len()) * 40)?;
                let both = a.iter().chain(b.iter()).map(|(key, value)| (key.clone(), value.clone()));
                Value::dict(both.collect())
            }
            _ => match (left.as_number(), right.as_number()) {
                (Some(a), Some(b)) => Value::Float(a + b),
                _ => {
                    let (left, right) = (left.type_name(), right.type_name());
                    return Err(self.error(format!("cannot compute {left} + {right}")));
                }
            },
        })
    }

    fn object(&mut self, entries: &[(Filter, Filter)], input: &Value) -> Outputs {
        let mut made = vec![Dict::new()];
        for (key, value) in entries {
            let keys = self.run(key, input)?;
            let values = self.run(value, input)?;
            let count = made.len().saturating_mul(keys.len()).saturating_mul(values.len());
            self.cx.charge(count.saturating_mul(40 * entries.len()))?;
            let mut next = Vec::with_capacity(count);
            for dict in &made {
                for key in &keys {
                    let Value::Str(key) = key else {
                        return Err(self.error(format!("a key must be a string, got {}", key.type_name())));
                    };
                    for value in &values {
                        let mut dict = dict.clone();
                        dict.insert(key.clone(), value.clone());
                        next.push(dict);
                    }
                }
            }
            made = next;
        }
        Ok(made.into_iter().map(Value::dict).collect())
    }
}

/// In jq, only `false` and `null` are not true.
pub fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Nil | Value::Bool(false))
}
