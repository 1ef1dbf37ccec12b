//! `@acp_tool` and `@acp_skill`: functions that are registered as tools and skills. `@budget`: what a function or a
//! pipeline may spend.

use super::names::Meaning;
use super::*;
use crate::syntax::ast::*;
use crate::value::Dict;

/// What a budget may limit.
const LIMITS: [&str; 4] = ["llm_cost_usd", "llm_tokens", "mcp_calls", "pg_queries"];

/// What an attribute makes of a function.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Registered {
    Tool,
    Skill,
}

/// The attribute of a declaration that registers it.
pub(crate) fn registration(decl: &Decl) -> Option<(&Attribute, Registered)> {
    decl.attributes.iter().find_map(|attribute| match &*attribute.name.name {
        "acp_tool" => Some((attribute, Registered::Tool)),
        "acp_skill" => Some((attribute, Registered::Skill)),
        _ => None,
    })
}

/// The name of the tool or skill, which is also that of the variable that holds its registry: the argument `name`, else
/// a text without a name that comes first, else the name of the function.
pub(crate) fn registered_name(attribute: &Attribute, function: &Function) -> Ident {
    let is_name = |at: usize, arg: &AttributeArg| match &arg.name {
        Some(name) => &*name.name == "name",
        None => at == 0,
    };
    let given = attribute.args.iter().enumerate().find(|(at, arg)| is_name(*at, arg));
    match given.map(|(_, arg)| (&arg.value, arg.span)) {
        Some((AttributeValue::Str(text) | AttributeValue::Name(text), span)) => {
            Ident { name: text.clone(), span }
        }
        _ => function.name.clone(),
    }
}

/// The name under which a function is called whose own name means its registry.
pub(crate) fn callable_name(name: &str) -> Name {
    format!("fn {name}").into()
}

/// Whether the name of a function means the registry that an attribute makes of it.
pub(crate) fn hides_function(decl: &Decl) -> bool {
    match (&decl.kind, registration(decl)) {
        (DeclKind::Function(function), Some((attribute, _))) => {
            registered_name(attribute, function).name == function.name.name
        }
        _ => false,
    }
}

fn budget_of(decl: &Decl) -> Option<&Attribute> {
    decl.attributes.iter().find(|attribute| &*attribute.name.name == "budget")
}

/// What `@budget` allows.
pub(crate) fn budget(decl: &Decl) -> Option<Dict> {
    budget_of(decl).map(other_args)
}

impl<'a> Compiler<'a> {
    /// Until the function ends, a budget is in force.
    pub(crate) fn within_budget(&mut self, limits: Dict) {
        let before = self.state().take_register();
        self.load(Value::dict(limits), before);
        self.builtin("__budget_enter", before, before, 1);
        self.state().has_defer = true;
        let low = self.state().next;
        let start = self.emit(Op::Defer { to: 0, low });
        self.state().pinned = low;
        let over = self.state().jump();
        self.state().land(start);
        let src = self.state().take_register();
        self.emit(Op::Move { dst: src, src: before });
        self.builtin("__budget_leave", src, src, 1);
        self.emit(Op::EndDefer);
        self.state().land(over);
    }

    /// Refuses what cannot be registered, or has no end at which a budget would end.
    pub(crate) fn check_attributes(&mut self, decl: &'a Decl) {
        if let Some(attribute) = budget_of(decl) {
            if !matches!(decl.kind, DeclKind::Function(_) | DeclKind::Pipeline(_)) {
                let message = "@budget can only be applied to functions and pipelines";
                self.error(Code::Misplaced, attribute.span, message);
            }
            // A limit that nobody can name is none, and the author believes that there is one.
            if attribute.args.is_empty() || attribute.args.iter().any(|arg| arg.name.is_none()) {
                let message = "@budget needs the names of its limits, as in `@budget(llm_tokens: 10000)`";
                self.error(Code::Misplaced, attribute.span, message);
            }
            attribute.args.iter().for_each(|arg| self.check_limit(arg));
        }
        if let Some((attribute, _)) = registration(decl)
            && !matches!(decl.kind, DeclKind::Function(_))
        {
            let message = format!("@{} can only be applied to function declarations", attribute.name.name);
            self.error(Code::Misplaced, attribute.span, message);
        }
    }

    fn check_limit(&mut self, arg: &AttributeArg) {
        let Some(name) = &arg.name else { return };
        let wrong = if !LIMITS.contains(&&*name.name) {
            Some(format!("a budget has no `{}`; it may have {}", name.name, LIMITS.join(", ")))
        } else if !matches!(arg.value, AttributeValue::Int(_) | AttributeValue::Float(_)) {
            Some(format!("@budget: '{}' must be a number", name.name))
        } else {
            None
        };
        if let Some(message) = wrong {
            self.error(Code::Misplaced, arg.span, message);
        }
    }

    /// Calls `tool_define` or `skill_define` for a function that has the attribute, and keeps the registry.
    pub(crate) fn register(&mut self, decl: &'a Decl, function: &'a Function) {
        let Some((attribute, kind)) = registration(decl) else { return };
        let mark = self.state().next;
        let held = self.state().take_register();
        let start = self.state().take_registers(4);
        let name = registered_name(attribute, function);
        let described = Value::str(decl.doc.as_deref().unwrap_or_default());
        let (make, define) = match kind {
            Registered::Tool => ("tool_registry", "tool_define"),
            Registered::Skill => ("skill_registry", "skill_define"),
        };
        self.builtin(make, start, start, 0);
        self.load(Value::str(&*name.name), start + 1);
        let (config, handler, count) = match kind {
            Registered::Tool => {
                let mut config = self.tool_config(&function.params, function.returns.as_ref());
                config.insert(text("annotations"), Value::dict(other_args(attribute)));
                self.load(described, start + 2);
                (config, "handler", 4)
            }
            Registered::Skill => {
                let mut config = other_args(attribute);
                if !config.has("description") {
                    config.insert(text("description"), described);
                }
                (config, "on_activate", 3)
            }
        };
        let dict = start + u16::from(count) - 1;
        self.load(Value::dict(config), dict);
        let callable = if hides_function(decl) {
            callable_name(&function.name.name)
        } else {
            function.name.name.clone()
        };
        if matches!(kind, Registered::Tool) {
            let number = match self.meaning(&callable) {
                Meaning::Function(number) => Some(number),
                Meaning::Local(at) => Some(self.locals[at].number),
                _ => None,
            };
            self.program.handlers.extend(number);
        }
        let src = self.state().take_register();
        self.read(&Ident { name: callable, span: function.name.span }, src);
        let key = self.name(handler);
        self.emit(Op::SetField { object: dict, name: key, src });
        self.builtin(define, held, start, count);
        self.state().release(held + 1);
        self.introduce(&name, false, held, mark);
    }
}

/// Everything but the name.
fn other_args(attribute: &Attribute) -> Dict {
    let named = attribute.args.iter().filter_map(|arg| Some((arg.name.as_ref()?, &arg.value)));
    named
        .filter(|(name, _)| &*name.name != "name")
        .map(|(name, value)| (text(&name.name), constant(value)))
        .collect()
}

fn constant(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Nil => Value::Nil,
        AttributeValue::Bool(value) => Value::Bool(*value),
        AttributeValue::Int(value) => Value::Int(*value),
        AttributeValue::Float(value) => Value::Float(*value),
        AttributeValue::Str(text) | AttributeValue::Name(text) => Value::str(&**text),
        AttributeValue::List(items) => Value::list(items.iter().map(constant).collect()),
    }
}

fn text(name: &str) -> Arc<Text> {
    Arc::new(Text::new(name))
}
