//! From the tree of a template and a program's values to text.

use super::expression::{Expr, Operator, Step};
use super::parse::{Node, parse};
use super::{Includes, MAX_DEPTH, Mistake, filters};
use crate::builtins::{Cx, args, types};
use crate::fault::Fault;
use crate::value::{Value, compare};

pub fn render(
    cx: &mut Cx<'_>,
    source: &str,
    bindings: &Value,
    includes: &mut dyn Includes,
    open: Vec<String>,
) -> Result<String, Fault> {
    cx.work(source.len());
    let nodes = parse(source)?;
    let mut renderer = Renderer { cx, includes, bindings, names: Vec::new(), open, out: String::new() };
    renderer.nodes(&nodes)?;
    Ok(renderer.out)
}

struct Renderer<'r, 'c> {
    cx: &'r mut Cx<'c>,
    includes: &'r mut dyn Includes,
    bindings: &'r Value,
    /// What loops and includes added, the nearest last.
    names: Vec<(String, Value)>,
    /// The templates that are being filled, outermost first.
    open: Vec<String>,
    out: String,
}

impl Renderer<'_, '_> {
    fn nodes(&mut self, nodes: &[Node<'_>]) -> Result<(), Fault> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &Node<'_>) -> Result<(), Fault> {
        match node {
            Node::Text(text) => self.print(text),
            Node::Print { value, source } => match value {
                Expr::Path(name, steps) if steps.is_empty() && self.find(name).is_none() => {
                    self.print(source)
                }
                value => {
                    let value = self.value(value)?;
                    let text = filters::printed(self.cx, &value)?;
                    self.print(&text)
                }
            },
            Node::If { branches, otherwise } => {
                for (test, body) in branches {
                    if is_truthy(&self.value(test)?) {
                        return self.nodes(body);
                    }
                }
                self.nodes(otherwise)
            }
            Node::For { names, items, body, otherwise } => self.repeat(names, items, body, otherwise),
            Node::Include { path, with, line } => self.include(path, with, *line),
        }
    }

    fn print(&mut self, text: &str) -> Result<(), Fault> {
        self.cx.charge(text.len())?;
        self.cx.work(text.len() + 16);
        self.out.push_str(text);
        Ok(())
    }

    fn repeat(
        &mut self,
        names: &[String],
        items: &Expr,
        body: &[Node<'_>],
        otherwise: &[Node<'_>],
    ) -> Result<(), Fault> {
        let source = self.value(items)?;
        let items = match &source {
            Value::Str(_) => Vec::new(),
            other => types::spread(self.cx, other)?,
        };
        if items.is_empty() {
            return self.nodes(otherwise);
        }
        let is_dict = args::fields(&source).is_some();
        let count = items.len();
        let kept = self.names.len();
        for (at, item) in items.into_iter().enumerate() {
            let entry = |field: &str| args::fields(&item).and_then(|entry| entry.get(field)).cloned();
            let (first, second) = match (is_dict, names) {
                (true, [_, _]) => (entry("key").unwrap_or_default(), entry("value").unwrap_or_default()),
                (true, _) => (entry("key").unwrap_or_default(), Value::Nil),
                (false, [_, _]) => (args::number(at), item),
                (false, _) => (item, Value::Nil),
            };
            self.names.push(("loop".to_owned(), place(at, count)));
            self.names.extend(names.iter().cloned().zip([first, second]));
            self.cx.work(32);
            let done = self.nodes(body);
            self.names.truncate(kept);
            done?;
        }
        Ok(())
    }

    fn include(&mut self, path: &Expr, with: &[(String, Expr)], line: usize) -> Result<(), Fault> {
        let path = self.value(path)?;
        let path = args::print(self.cx, &path)?.into_owned();
        let mistake = |message: String| Fault::from(Mistake { line, message });
        let from = self.open.last().cloned().unwrap_or_default();
        let included = self.includes.load(&path, &from).map_err(mistake)?;
        if self.open.contains(&included.name) {
            return Err(mistake(format!("circular include detected: {}", included.name)));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(mistake(format!("includes may be nested {MAX_DEPTH} deep")));
        }
        let mut added = Vec::new();
        for (name, value) in with {
            added.push((name.clone(), self.value(value)?));
        }
        // Templates that include each other twice would otherwise go on for ever without printing anything.
        self.cx.charge(included.source.len() + 64)?;
        self.cx.work(included.source.len());
        let nodes = parse(&included.source)?;
        let kept = self.names.len();
        self.names.extend(added);
        self.open.push(included.name);
        let done = self.nodes(&nodes);
        self.open.pop();
        self.names.truncate(kept);
        done
    }

    fn find(&self, name: &str) -> Option<Value> {
        let near = self.names.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
        near.or_else(|| args::fields(self.bindings)?.get(name)).cloned()
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, Fault> {
        Ok(match expr {
            Expr::Literal(value) => value.clone(),
            Expr::Path(name, steps) => {
                let start = self.find(name).unwrap_or_default();
                steps.iter().fold(start, |value, step| step_into(&value, step))
            }
            Expr::Not(value) => Value::Bool(!is_truthy(&self.value(value)?)),
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            Expr::Filter(value, name, given) => {
                let value = self.value(value)?;
                let mut values = Vec::with_capacity(given.len());
                for arg in given {
                    values.push(self.value(arg)?);
                }
                filters::apply(self.cx, name, value, &values)?
            }
        })
    }

    fn binary(&mut self, operator: Operator, left: &Expr, right: &Expr) -> Result<Value, Fault> {
        let left = self.value(left)?;
        match operator {
            Operator::Or if is_truthy(&left) => return Ok(Value::Bool(true)),
            Operator::And if !is_truthy(&left) => return Ok(Value::Bool(false)),
            _ => {}
        }
        let right = self.value(right)?;
        Ok(Value::Bool(match operator {
            Operator::Or | Operator::And => is_truthy(&right),
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
            Operator::Less => compare(&left, &right).is_lt(),
            Operator::LessOrEqual => compare(&left, &right).is_le(),
            Operator::Greater => compare(&left, &right).is_gt(),
            Operator::GreaterOrEqual => compare(&left, &right).is_ge(),
        }))
    }
}

/// As in programs, but a text of blanks alone counts as nothing.
pub fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Str(text) => !text.as_str().trim().is_empty(),
        other => other.is_truthy(),
    }
}

fn place(at: usize, count: usize) -> Value {
    Value::record([
        ("index", args::number(at + 1)),
        ("index0", args::number(at)),
        ("first", (at == 0).into()),
        ("last", (at + 1 == count).into()),
        ("length", args::number(count)),
    ])
}

fn step_into(value: &Value, step: &Step) -> Value {
    let found = match (value, step) {
        (Value::List(list), Step::Index(index)) => {
            let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
            let index = if *index < 0 { length.saturating_add(*index) } else { *index };
            usize::try_from(index).ok().and_then(|index| list.get(index))
        }
        (Value::Pair(pair), Step::Key(key)) => match key.as_str() {
            "first" => Some(&pair.first),
            "second" => Some(&pair.second),
            _ => None,
        },
        (other, Step::Key(key)) => args::fields(other).and_then(|dict| dict.get(key)),
        (other, Step::Index(index)) => args::fields(other).and_then(|dict| dict.get(&index.to_string())),
    };
    found.cloned().unwrap_or_default()
}
