//! Calls, methods and pipes.

use super::names::Meaning;
use super::*;
use crate::builtins;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    pub(crate) fn call(&mut self, callee: &'a Ident, args: &'a [Element], dst: Reg) {
        // The name of a function that is registered as a tool means its registry, unless it is called.
        let hidden = self.hides_functions.then(|| attribute::callable_name(&callee.name));
        let hidden = hidden.filter(|hidden| self.meaning(hidden) != Meaning::Nothing);
        let callee = &Ident { name: hidden.unwrap_or_else(|| callee.name.clone()), span: callee.span };
        let meaning = self.meaning_of_callee(&callee.name);
        if self.type_argument(&callee.name, &meaning, args, dst) {
            return;
        }
        if self.types.has_struct(&callee.name) && matches!(meaning, Meaning::Nothing) {
            return self.construct(&callee.name, args, dst);
        }
        if meaning == Meaning::Nothing && self.leaves_unknown && builtins::named_group(&callee.name).is_none()
        {
            return self.call_of_host(callee, args, dst);
        }
        let mark = self.state().next;
        if args.iter().any(|arg| matches!(arg, Element::Spread(_))) || args.len() > 200 {
            self.call_with_list(callee, meaning, args, dst);
            self.state().release(mark);
            return;
        }
        let held = match meaning {
            Meaning::Register { register, .. } => Some(register),
            Meaning::Captured { .. } | Meaning::Global { .. } | Meaning::Local(_) => {
                let register = self.state().take_register();
                self.read_meaning(callee, meaning.clone(), register);
                Some(register)
            }
            _ => None,
        };
        let start = self.arguments(args);
        let count = args.len() as u8;
        self.state().at(callee.span.start);
        match (held, meaning) {
            (Some(callee), _) => {
                self.emit(Op::Call { dst, start, callee, count });
            }
            (None, Meaning::Function(function)) => {
                self.emit(Op::CallFunction { dst, start, function, count });
            }
            (None, Meaning::Builtin(builtin)) => self.call_builtin(builtin, dst, start, count),
            _ => {
                let message = format!("Undefined builtin: {}{}", callee.name, self.suggestion(&callee.name));
                self.fail(message);
            }
        }
        self.state().release(mark);
    }

    /// Something that nothing here defines, but the host may.
    fn call_of_host(&mut self, callee: &Ident, args: &'a [Element], dst: Reg) {
        let mark = self.state().next;
        let start = self.state().take_registers(2);
        self.load(Value::str(&*callee.name), start);
        self.list(args, after(start, 1));
        self.state().at(callee.span.start);
        self.builtin("__builtin_call", dst, start, 2);
        self.state().release(mark);
    }

    pub(crate) fn call_builtin(&mut self, builtin: u16, dst: Reg, start: Reg, count: u8) {
        let written = builtins::get(builtin).filter(|known| matches!(known.body, builtins::Body::Prelude));
        match written.and_then(|known| self.prelude.get(known.name).copied()) {
            Some(function) => self.emit(Op::CallFunction { dst, start, function, count }),
            None => self.emit(Op::CallBuiltin { dst, start, builtin, count }),
        };
    }

    /// The arguments in neighbouring registers, at the top, where they become the callee's first.
    fn arguments(&mut self, args: &'a [Element]) -> Reg {
        let start = self.state().take_registers(args.len());
        self.arguments_from(args, start);
        start
    }

    fn arguments_from(&mut self, args: &'a [Element], start: Reg) {
        for (offset, arg) in args.iter().enumerate() {
            let (Element::Plain(value) | Element::Spread(value)) = arg;
            self.expr(value, after(start, offset));
        }
    }

    fn call_with_list(&mut self, callee: &Ident, meaning: Meaning, args: &'a [Element], dst: Reg) {
        let held = self.state().take_register();
        self.read_meaning(callee, meaning, held);
        let start = self.state().take_register();
        self.list(args, start);
        self.emit(Op::CallList { dst, start, callee: held });
    }

    /// `P({x: 1})`.
    /// The function that makes a struct of a dict.
    pub(crate) fn constructor(&mut self, name: &Name) -> u16 {
        if let Some(number) = self.constructors.get(name) {
            return *number;
        }
        let number = self.reserve_function(name, &[]);
        self.stack.push(FunctionState::new(name.clone(), Arc::new(["fields".into()]), self.module));
        let fields = self.state().take_register();
        let named = self.name(name);
        self.emit(Op::Struct { dst: fields, fields, name: named });
        self.emit(Op::Return { src: fields });
        self.end_function(number);
        self.constructors.insert(name.clone(), number);
        number
    }

    fn construct(&mut self, name: &Name, args: &'a [Element], dst: Reg) {
        let mark = self.state().next;
        let fields = self.state().take_register();
        match args.first() {
            Some(Element::Plain(value) | Element::Spread(value)) => self.expr(value, fields),
            None => self.load(Value::dict(crate::value::Dict::new()), fields),
        }
        let name = self.name(name);
        self.emit(Op::Struct { dst, fields, name });
        self.state().release(mark);
    }

    /// `schema_of(T)` and its like take the name of a type for the schema that it stands for.
    fn type_argument(&mut self, name: &str, meaning: &Meaning, args: &'a [Element], dst: Reg) -> bool {
        if !matches!(meaning, Meaning::Builtin(_) | Meaning::Function(_)) {
            return false;
        }
        let at = match name {
            "schema_of" => 0,
            "schema_is" | "schema_expect" | "schema_parse" | "schema_check" | "is_type" | "json_validate"
            | "get_typed_result" | "get_typed_value" => 1,
            _ => return false,
        };
        let Some(Element::Plain(Expr { kind: ExprKind::Name(alias), .. })) = args.get(at) else {
            return false;
        };
        if !self.types.has_alias(alias) {
            return false;
        }
        let schema = self.schema_of_alias(alias);
        if at == 0 {
            self.load(schema, dst);
            return true;
        }
        let mark = self.state().next;
        let start = self.state().take_registers(args.len());
        for (offset, arg) in args.iter().enumerate() {
            let into = after(start, offset);
            let (Element::Plain(value) | Element::Spread(value)) = arg;
            if offset == at { self.load(schema.clone(), into) } else { self.expr(value, into) }
        }
        let count = args.len() as u8;
        match *meaning {
            Meaning::Function(function) => {
                self.emit(Op::CallFunction { dst, start, function, count });
            }
            Meaning::Builtin(builtin) => self.call_builtin(builtin, dst, start, count),
            _ => {}
        }
        self.state().release(mark);
        true
    }

    pub(crate) fn method(
        &mut self,
        object: &'a Expr,
        method: &'a Ident,
        args: &'a [Element],
        optional: bool,
        dst: Reg,
    ) {
        if self.namespaced(object, method, args, dst) {
            return;
        }
        let mark = self.state().next;
        let has_list = args.iter().any(|arg| matches!(arg, Element::Spread(_))) || args.len() > 200;
        if let Some((name, variant)) = self.variant_named(object, &method.name) {
            if has_list {
                self.error(Code::Misplaced, method.span, "An enum value cannot spread its fields");
            }
            let start = self.arguments(args);
            let shape = self.variant(&name, &variant, args.len() as u16);
            self.emit(Op::Variant { dst, start, shape });
            self.state().release(mark);
            return;
        }
        if has_list {
            self.method_with_list(object, method, args, optional, dst);
            self.state().release(mark);
            return;
        }
        let start = self.state().take_registers(1 + args.len());
        self.expr(object, start);
        self.arguments_from(args, after(start, 1));
        self.state().at(method.span.start);
        let (name, count) = (self.name(&method.name), 1 + args.len() as u8);
        self.emit(match optional {
            true => Op::MethodIfAny { dst, start, name, count },
            false => Op::Method { dst, start, name, count },
        });
        self.state().release(mark);
    }

    /// `object.method(...args)`.
    fn method_with_list(
        &mut self,
        object: &'a Expr,
        method: &'a Ident,
        args: &'a [Element],
        optional: bool,
        dst: Reg,
    ) {
        let start = self.state().take_registers(2);
        self.expr(object, start);
        self.list(args, start + 1);
        let nothing = optional.then(|| self.emit(Op::JumpIfNil { a: start, to: 0 }));
        self.state().at(method.span.start);
        let name = self.name(&method.name);
        self.emit(Op::MethodList { dst: start, start, name });
        nothing.into_iter().for_each(|jump| self.state().land(jump));
        self.emit(Op::Take { dst, src: start });
    }

    /// `stream.map(...)`: a builtin whose name has a dot.
    fn namespaced(&mut self, object: &'a Expr, method: &'a Ident, args: &'a [Element], dst: Reg) -> bool {
        let Some(path) = dotted(object) else { return false };
        let root = path.split('.').next().unwrap_or_default();
        if !matches!(self.meaning(root), Meaning::Nothing | Meaning::Builtin(_)) {
            return false;
        }
        let Some(number) = builtins::find(&format!("{path}.{}", method.name)) else { return false };
        let mark = self.state().next;
        if args.iter().any(|arg| matches!(arg, Element::Spread(_))) {
            let callee = self.state().take_register();
            self.load(Value::Builtin(number), callee);
            let start = self.state().take_register();
            self.list(args, start);
            self.emit(Op::CallList { dst, start, callee });
            self.state().release(mark);
            return true;
        }
        let start = self.arguments(args);
        self.state().at(method.span.start);
        self.call_builtin(number, dst, start, args.len() as u8);
        self.state().release(mark);
        true
    }

    pub(crate) fn pipes(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)], dst: Reg) {
        let mark = self.state().next;
        let value = self.state().take_register();
        self.expr(first, value);
        for (at, (_, right)) in rest.iter().enumerate() {
            // The last one is the instruction that a tail call is made of.
            self.pipe(right, value, if at + 1 == rest.len() { dst } else { value });
        }
        self.state().release(mark);
    }

    /// Gives the value in a register to what is on the right.
    fn pipe(&mut self, right: &'a Expr, value: Reg, dst: Reg) {
        let mark = self.state().next;
        self.state().at(right.span.start);
        if has_placeholder(right) {
            self.state().open();
            let held = self.declare(&"_".into(), false);
            self.emit(Op::Take { dst: held, src: value });
            self.expr(right, dst);
            self.state().close();
        } else {
            let callee = self.state().take_register();
            self.expr(right, callee);
            let start = self.state().take_register();
            self.emit(Op::Take { dst: start, src: value });
            self.emit(Op::Pipe { dst, start, callee });
        }
        self.state().release(mark);
    }
}

/// `a.b.c` as text.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::Field { object, name, optional: false } => {
            Some(format!("{}.{}", dotted(object)?, name.name))
        }
        _ => None,
    }
}

/// Whether `_` stands for the piped value somewhere in here. Not looked for in dicts, closures, ternaries, texts.
fn has_placeholder(expr: &Expr) -> bool {
    let any = |args: &[Element]| {
        args.iter().any(|arg| {
            let (Element::Plain(value) | Element::Spread(value)) = arg;
            has_placeholder(value)
        })
    };
    match &expr.kind {
        ExprKind::Name(name) => &**name == "_",
        ExprKind::Paren(inner)
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::Field { object: inner, .. } => has_placeholder(inner),
        ExprKind::Call { args, .. } | ExprKind::List(args) => any(args),
        ExprKind::Method { object, args, .. } => has_placeholder(object) || any(args),
        ExprKind::Binary { first, rest } => {
            has_placeholder(first) || rest.iter().any(|(_, operand)| has_placeholder(operand))
        }
        ExprKind::Index { object, index, .. } => has_placeholder(object) || has_placeholder(index),
        ExprKind::Slice { object, start, end } => {
            has_placeholder(object) || [start, end].into_iter().flatten().any(|bound| has_placeholder(bound))
        }
        _ => false,
    }
}
