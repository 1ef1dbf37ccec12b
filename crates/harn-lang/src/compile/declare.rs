//! Functions, closures, tools, skills, structs and what else a block may declare.

use hashbrown::HashSet;

use super::free::{Names, mentioned};
use super::function::{Binding, LocalFunction, Place};
use super::names::Meaning;
use super::*;
use crate::bytecode::{Function as Compiled, FunctionKind, OwnMethod};
use crate::syntax::ast::*;
use crate::value::Dict;

/// How many variables the functions of a block may capture, all of them together.
const MAX_CAPTURES: usize = 1 << 20;

/// A named function of a block, before it is compiled.
struct Hoisted<'a> {
    ast: &'a Function,
    /// What it is called by.
    name: Name,
    names: Names,
    number: u16,
    captures: Vec<u32>,
    snapshots: HashMap<u32, u32>,
    budget: Option<Dict>,
}

impl<'a> Compiler<'a> {
    /// Makes the functions of a block known in all of it.
    pub(crate) fn hoist(&mut self, body: &'a [Stmt]) {
        let mut group: Vec<Hoisted<'a>> = Vec::new();
        for stmt in body {
            let StmtKind::Decl(decl) = &stmt.kind else { continue };
            if let DeclKind::Function(ast) = &decl.kind {
                let is_hidden = attribute::hides_function(decl);
                self.hides_functions |= is_hidden;
                let name = match is_hidden {
                    true => attribute::callable_name(&ast.name.name),
                    false => ast.name.name.clone(),
                };
                let number = self.reserve_function(&ast.name.name, &ast.params);
                let names = mentioned(&ast.body, &ast.params);
                let (captures, snapshots) = (Vec::new(), HashMap::new());
                let budget = attribute::budget(decl);
                group.push(Hoisted { ast, name, names, number, captures, snapshots, budget });
            }
        }
        if group.is_empty() {
            return;
        }
        self.reserve_variables(body, &group);
        self.find_captures(&mut group);
        let mut bodies = Vec::new();
        for hoisted in group {
            let Hoisted { ast, name, names, number, captures, snapshots, budget } = hoisted;
            let id = self.new_id();
            let place = if captures.is_empty() {
                Place::Function(number)
            } else {
                self.locals.push(LocalFunction { number, captures: captures.clone() });
                Place::Local(self.locals.len() - 1)
            };
            let itself = if let Place::Local(at) = place { Some(at) } else { None };
            self.state().bind(Binding { id, name, place, mutable: false, is_ahead: false });
            if !snapshots.is_empty() {
                self.pending_snapshots.insert(std::ptr::from_ref(ast) as usize, snapshots.clone());
            }
            bodies.push((ast, names, number, captures, snapshots, itself, budget));
        }
        for (ast, names, number, captures, snapshots, itself, budget) in bodies {
            self.begin_function(&ast.name.name, &ast.params);
            let state = self.state();
            (state.captures, state.snapshots, state.itself) = (captures, snapshots, itself);
            state.type_params = &ast.type_params;
            state.budget = budget;
            self.function_body(
                &ast.params,
                &ast.body,
                &names,
                function_kind(ast.is_gen, &names, self.is_prelude),
                false,
            );
            self.end_function(number);
        }
    }

    /// Registers for variables that are declared later in the block and that its functions mention.
    fn reserve_variables(&mut self, body: &'a [Stmt], group: &[Hoisted<'a>]) {
        let mentioned: HashSet<&Name> = group.iter().flat_map(|hoisted| &hoisted.names.found).collect();
        for stmt in body {
            let StmtKind::Bind { mutable, pattern, .. } = &stmt.kind else { continue };
            for name in bound_names(pattern) {
                if !mentioned.contains(&name.name)
                    || self.state().find_here(&name.name).is_some()
                    || self.top_level_variable(&name.name).is_some()
                {
                    continue;
                }
                let id = self.new_id();
                let state = self.state();
                let place = Place::Register(state.take_register());
                state.bind(Binding { id, name: name.name.clone(), place, mutable: *mutable, is_ahead: true });
            }
        }
    }

    /// What each function of a block captures, also for those that it calls.
    fn find_captures(&mut self, group: &mut [Hoisted<'a>]) {
        let known: hashbrown::HashMap<Name, usize> =
            group.iter().enumerate().map(|(at, hoisted)| (hoisted.ast.name.name.clone(), at)).collect();
        let mut captured: HashSet<(usize, u32)> = HashSet::new();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); group.len()];
        for (at, hoisted) in group.iter_mut().enumerate() {
            for name in std::mem::take(&mut hoisted.names.found) {
                if let Some(sibling) = known.get(&name) {
                    callers[*sibling].push(at);
                    continue;
                }
                for (id, needs_snapshot) in self.variables_behind(&name) {
                    let id = if needs_snapshot { self.snapshot(id, hoisted) } else { id };
                    if captured.insert((at, id)) {
                        hoisted.captures.push(id);
                    }
                }
            }
        }
        // Whatever a function captures goes to those that call it, once.
        let all = group.iter().enumerate();
        let mut waiting: Vec<(usize, u32)> =
            all.flat_map(|(at, hoisted)| hoisted.captures.iter().map(move |id| (at, *id))).collect();
        while let Some((at, id)) = waiting.pop() {
            if captured.len() > MAX_CAPTURES {
                let message = "The functions of this block use too many variables of the code around them, \
                               themselves or through those that they call";
                return self.error(Code::TooLarge, group[at].ast.name.span, message);
            }
            for caller in &callers[at] {
                if captured.insert((*caller, id)) {
                    group[*caller].captures.push(id);
                    waiting.push((*caller, id));
                }
            }
        }
    }

    /// The variables that a name stands for, seen from a function of the block at hand, and whether each changes.
    fn variables_behind(&self, name: &str) -> Vec<(u32, bool)> {
        let top = self.stack.len() - 1;
        if let Some(binding) = self.stack[top].find(name, true) {
            return match binding.place {
                Place::Register(_) => vec![(binding.id, binding.mutable)],
                Place::Local(at) => self.locals[at].captures.iter().map(|id| (*id, false)).collect(),
                Place::Global(_) | Place::Function(_) => Vec::new(),
            };
        }
        match self.meaning(name) {
            Meaning::Captured { id, .. } => vec![(id, false)],
            Meaning::Local(at) => self.locals[at].captures.iter().map(|id| (*id, false)).collect(),
            _ => Vec::new(),
        }
    }

    /// A register that keeps a changing variable as it is when the function is declared.
    fn snapshot(&mut self, id: u32, hoisted: &mut Hoisted<'a>) -> u32 {
        if let Some(known) = hoisted.snapshots.get(&id) {
            return *known;
        }
        let copy = self.new_id();
        let state = self.state();
        let place = Place::Register(state.take_register());
        state.bind(Binding { id: copy, name: "".into(), place, mutable: false, is_ahead: false });
        hoisted.snapshots.insert(id, copy);
        copy
    }

    pub(crate) fn declaration(&mut self, decl: &'a Decl) {
        self.check_attributes(decl);
        match &decl.kind {
            DeclKind::Function(function) => {
                let key = std::ptr::from_ref(function) as usize;
                for (id, copy) in self.pending_snapshots.remove(&key).unwrap_or_default() {
                    if self.state().is_ahead(id) {
                        self.late_snapshots.push((id, copy));
                        continue;
                    }
                    let (from, to) = (self.state().register_of(id), self.state().register_of(copy));
                    if let (Some(src), Some(dst)) = (from, to) {
                        self.emit(Op::Move { dst, src });
                    }
                }
                self.register(decl, function);
            }
            DeclKind::Impl(inner) => self.impl_(inner),
            DeclKind::Tool(tool) => self.tool(tool),
            DeclKind::Skill(skill) => self.skill(skill),
            DeclKind::EvalPack(pack) => self.eval_pack(pack),
            DeclKind::Pipeline(_)
            | DeclKind::Struct(_)
            | DeclKind::Enum(_)
            | DeclKind::Interface(_)
            | DeclKind::Alias(_) => {}
        }
    }

    /// A number for a function that is compiled later.
    pub(crate) fn reserve_function(&mut self, name: &Name, params: &[Param]) -> u16 {
        let params = params.iter().map(|param| param.name.name.clone()).collect();
        self.program.functions.push(Compiled { name: name.clone(), params, ..Compiled::default() });
        u16::try_from(self.program.functions.len() - 1).unwrap_or_else(|_| {
            self.error(Code::TooLarge, Span::default(), "The program has too many functions");
            0
        })
    }

    pub(crate) fn begin_function(&mut self, name: &Name, params: &[Param]) {
        let params: Arc<[Name]> = params.iter().map(|param| param.name.name.clone()).collect();
        self.stack.push(FunctionState::new(name.clone(), params, self.module));
    }

    /// Parameters, their checks and defaults, then the body.
    pub(crate) fn function_body(
        &mut self,
        params: &'a [Param],
        body: &'a Block,
        names: &Names,
        kind: FunctionKind,
        gives_last: bool,
    ) {
        let is_prelude = self.is_prelude;
        let state = self.state();
        state.function.kind = kind;
        state.function.is_prelude = is_prelude;
        state.function.has_rest = params.last().is_some_and(|param| param.is_rest);
        state.has_defer = names.defers;
        state.gives_last = gives_last;
        state.at(body.span.start);
        let first = state.take_registers(params.len());
        if let Some(name) = self.state().own_name.take() {
            let dst = self.declare(&name, false);
            self.emit(Op::Itself { dst });
        }
        self.copy_assigned(&names.assigned);
        for (at, param) in params.iter().enumerate() {
            self.parameter(after(first, at), at, param);
        }
        if let Some(budget) = self.state().budget.take() {
            self.within_budget(budget);
        }
        let out = gives_last.then(|| self.state().take_register());
        // A scope of its own: a variable of the body may have the name of a parameter.
        self.block(body, out);
        self.state().at(body.span.end.saturating_sub(1));
        self.emit(out.map_or(Op::ReturnNil, |src| Op::Return { src }));
    }

    fn parameter(&mut self, register: Reg, at: usize, param: &'a Param) {
        if let Some(default) = &param.default {
            self.emit(Op::TestGiven { index: at as u16 });
            // Jumps to the default where the argument is missing.
            let missing = self.state().jump();
            let given = self.state().jump();
            self.state().land(missing);
            self.expr(default, register);
            self.state().land(given);
        }
        if let Some(check) = param.ty.as_ref().and_then(|ty| self.param_check(&param.name.name, ty)) {
            self.emit(Op::CheckParam { param: register, check });
        }
        if &*param.name.name != "_" {
            let id = self.new_id();
            let (name, place) = (param.name.name.clone(), Place::Register(register));
            self.state().bind(Binding { id, name, place, mutable: false, is_ahead: false });
        }
    }

    /// A captured variable that is assigned to is a copy that this call has for itself.
    fn copy_assigned(&mut self, assigned: &[Name]) {
        for name in assigned {
            if let Meaning::Captured { id, mutable: true } = self.meaning(name) {
                let register = self.declare(name, true);
                self.read_captured(id, register);
            }
        }
    }

    pub(crate) fn end_function(&mut self, number: u16) {
        if let Some(state) = self.stack.pop() {
            if state.is_too_large {
                self.error(
                    Code::TooLarge,
                    Span::default(),
                    format!("The function {} is too large", state.function.name),
                );
            }
            let captures = u16::try_from(state.captures.len()).unwrap_or(u16::MAX);
            self.program.functions[usize::from(number)] =
                crate::bytecode::Function { captures, ..state.function };
        }
    }

    /// An anonymous function; it captures what it mentions, as it is now.
    pub(crate) fn closure(&mut self, name: &str, params: &'a [Param], body: &'a Block, dst: Reg) {
        let names = mentioned(body, params);
        let itself = self.itself.take().filter(|itself| names.found.contains(itself));
        let number = self.reserve_function(&name.into(), params);
        self.begin_function(&name.into(), params);
        self.state().own_name = itself;
        let kind = function_kind(false, &names, self.is_prelude);
        self.function_body(params, body, &names, kind, true);
        self.finish_closure(number, dst);
    }

    /// A closure whose parameters are mere names.
    pub(crate) fn closure_with(&mut self, name: &str, params: Vec<Name>, body: &'a Block, dst: Reg) {
        let names = mentioned(body, &[]);
        let number = self.reserve_function(&name.into(), &[]);
        self.begin_function(&name.into(), &[]);
        self.state().function.params = params.clone().into();
        for param in &params {
            self.declare(param, false);
        }
        let kind = function_kind(false, &names, self.is_prelude);
        self.function_body(&[], body, &names, kind, true);
        self.finish_closure(number, dst);
    }

    fn finish_closure(&mut self, number: u16, dst: Reg) {
        let captures = self.state().captures.clone();
        self.end_function(number);
        if captures.is_empty() {
            self.read_function(number, dst);
        } else {
            self.make_closure(number, &captures, dst);
        }
    }

    fn impl_(&mut self, inner: &'a Impl) {
        for method in &inner.methods {
            let DeclKind::Function(ast) = &method.kind else { continue };
            let names = mentioned(&ast.body, &ast.params);
            let number = self.reserve_function(&ast.name.name, &ast.params);
            self.begin_function(&ast.name.name, &ast.params);
            self.state().type_params = &ast.type_params;
            let kind = function_kind(ast.is_gen, &names, self.is_prelude);
            self.function_body(&ast.params, &ast.body, &names, kind, false);
            let captures = self.state().captures.clone();
            self.end_function(number);
            let closure = (!captures.is_empty()).then(|| self.hold_method(number, &captures));
            let key = (inner.target.name.clone(), ast.name.name.clone());
            self.program.methods.insert(key, OwnMethod { function: number, closure });
        }
    }

    /// A method that captures variables is kept in a variable of the program, as it is here.
    fn hold_method(&mut self, number: u16, captures: &[u32]) -> u32 {
        let index = self.program.globals;
        self.program.globals += 1;
        let mark = self.state().next;
        let src = self.state().take_register();
        self.make_closure(number, captures, src);
        self.emit(Op::SetGlobal { src, index });
        self.state().release(mark);
        index
    }

    /// `tool t(...) { ... }` defines a registry with one tool in it.
    fn tool(&mut self, tool: &'a Tool) {
        let mark = self.state().next;
        let held = self.state().take_register();
        let start = self.state().take_registers(4);
        self.builtin("tool_registry", start, start, 0);
        self.load(Value::str(&*tool.name.name), start + 1);
        match &tool.description {
            Some(description) => self.expr(description, start + 2),
            None => self.load(Value::str(""), start + 2),
        }
        let config = self.tool_config(&tool.params, tool.returns.as_ref());
        self.load(Value::dict(config), start + 3);
        let handler = self.state().take_register();
        // The next function is this one.
        self.program.handlers.extend(u16::try_from(self.program.functions.len()));
        self.closure(&tool.name.name, &tool.params, &tool.body, handler);
        let key = self.name("handler");
        self.emit(Op::SetField { object: start + 3, name: key, src: handler });
        self.builtin("tool_define", held, start, 4);
        self.state().release(held + 1);
        self.introduce(&tool.name, false, held, mark);
    }

    fn skill(&mut self, skill: &'a Skill) {
        let mark = self.state().next;
        let held = self.state().take_register();
        let start = self.state().take_registers(3);
        self.builtin("skill_registry", start, start, 0);
        self.load(Value::str(&*skill.name.name), start + 1);
        self.fields(&skill.fields, start + 2);
        self.builtin("skill_define", held, start, 3);
        self.state().release(held + 1);
        self.introduce(&skill.name, false, held, mark);
    }

    fn eval_pack(&mut self, pack: &'a EvalPack) {
        let mark = self.state().next;
        let held = self.state().take_register();
        let manifest = self.state().take_register();
        self.emit(Op::EmptyDict { dst: manifest });
        let id =
            pack.id.clone().or_else(|| pack.name.as_ref().map(|name| name.name.clone())).unwrap_or_default();
        for (key, value) in [("id", Value::str(&*id)), ("version", Value::Int(1))] {
            let name = self.name(key);
            let src = self.state().take_register();
            self.load(value, src);
            self.emit(Op::SetField { object: manifest, name, src });
            self.state().release(src);
        }
        self.put_fields(&pack.fields, manifest);
        self.builtin("eval_pack_manifest", held, manifest, 1);
        self.state().release(held + 1);
        if !self.is_declaring {
            self.eval_pack_body(pack, &id, held);
        }
        match &pack.name {
            Some(name) => self.introduce(name, false, held, mark),
            None => self.state().release(mark),
        }
    }

    /// The statements of an evaluation, with its fields as variables.
    fn eval_pack_body(&mut self, pack: &'a EvalPack, id: &str, manifest: Reg) {
        self.state().open();
        let known = [("id", Value::str(id)), ("version", Value::Int(1))];
        for (name, value) in known {
            let register = self.declare(&name.into(), false);
            self.load(value, register);
        }
        for (field, _) in &pack.fields {
            let name = self.name(&field.name);
            let dst = self.declare(&field.name, false);
            self.emit(Op::Field { dst, object: manifest, name });
        }
        self.block(&pack.body, None);
        pack.summarize.iter().for_each(|block| self.block(block, None));
        self.state().close();
    }

    fn fields(&mut self, fields: &'a [(Ident, Expr)], dst: Reg) {
        self.emit(Op::EmptyDict { dst });
        self.put_fields(fields, dst);
    }

    fn put_fields(&mut self, fields: &'a [(Ident, Expr)], dst: Reg) {
        for (name, value) in fields {
            let mark = self.state().next;
            let key = self.name(&name.name);
            let src = self.temp(value);
            self.emit(Op::SetField { object: dst, name: key, src });
            self.state().release(mark);
        }
    }
}

fn function_kind(is_gen: bool, names: &Names, is_prelude: bool) -> FunctionKind {
    match (is_gen, names.yields) {
        (true, _) => FunctionKind::Stream,
        (false, true) if is_prelude => FunctionKind::Iterator,
        (false, true) => FunctionKind::Generator,
        (false, false) => FunctionKind::Plain,
    }
}

pub(crate) fn bound_names(pattern: &Pattern) -> Vec<&Ident> {
    match pattern {
        Pattern::Name(name) => vec![name],
        Pattern::Dict { fields, rest, .. } => {
            let names = fields.iter().map(|field| field.alias.as_ref().unwrap_or(&field.key));
            names.chain(rest).collect()
        }
        Pattern::List { items, rest, .. } => items.iter().map(|(name, _)| name).chain(rest).collect(),
        Pattern::Pair { first, second, .. } => vec![first, second],
    }
}
