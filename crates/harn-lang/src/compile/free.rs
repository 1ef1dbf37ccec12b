//! The names that a function uses and does not bind itself: what it could capture.

use hashbrown::HashSet;

use crate::syntax::ast::*;

/// The variable that an assignment changes.
pub fn root(target: &Expr) -> Option<&Name> {
    match &target.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Field { object, .. } | ExprKind::Index { object, .. } | ExprKind::Paren(object) => {
            root(object)
        }
        _ => None,
    }
}

/// What a function mentions. Names that it binds itself are left in: capturing what an inner name only shadows does
/// no harm.
#[derive(Default)]
pub struct Names {
    /// Variables and calls, in the order of first mention.
    pub found: Vec<Name>,
    seen: HashSet<Name>,
    /// Names that are assigned to.
    pub assigned: Vec<Name>,
    seen_assigned: HashSet<Name>,
    /// Whether the function itself, not one within it, yields or emits.
    pub yields: bool,
    /// Whether it has a `defer`.
    pub defers: bool,
}

pub fn mentioned(block: &Block, params: &[Param]) -> Names {
    let mut names = Names::default();
    params.iter().filter_map(|param| param.default.as_ref()).for_each(|default| names.expr(default));
    names.block(block);
    names
}

impl Names {
    fn name(&mut self, name: &Name) {
        if self.seen.insert(name.clone()) {
            self.found.push(name.clone());
        }
    }

    fn block(&mut self, block: &Block) {
        block.body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Import(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Override { .. } => {}
            StmtKind::Decl(decl) => self.decl(&decl.kind),
            StmtKind::Bind { pattern, value, .. } => {
                self.pattern(pattern);
                self.expr(value);
            }
            StmtKind::Assign { target, value, .. } => {
                if let Some(name) = root(target)
                    && self.seen_assigned.insert(name.clone())
                {
                    self.assigned.push(name.clone());
                }
                self.expr(target);
                self.expr(value);
            }
            StmtKind::For { pattern, source, body } => {
                self.pattern(pattern);
                self.expr(source);
                self.block(body);
            }
            StmtKind::While { condition, body } | StmtKind::Guard { condition, otherwise: body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::Select(select) => {
                for case in &select.cases {
                    self.expr(&case.channel);
                    self.block(&case.body);
                }
                if let Some((limit, block)) = &select.timeout {
                    self.expr(limit);
                    self.block(block);
                }
                select.default.iter().for_each(|block| self.block(block));
            }
            StmtKind::Yield(value) => {
                self.yields = true;
                value.iter().for_each(|value| self.expr(value));
            }
            StmtKind::Emit(value) => {
                self.yields = true;
                self.expr(value);
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::Throw(value) | StmtKind::Expr(value) => self.expr(value),
            StmtKind::Require { condition, message } => {
                self.expr(condition);
                message.iter().for_each(|message| self.expr(message));
            }
            StmtKind::Defer(block) => {
                self.defers = true;
                self.block(block);
            }
            StmtKind::Mutex(block) => self.block(block),
        }
    }

    fn decl(&mut self, decl: &DeclKind) {
        match decl {
            DeclKind::Function(inner) => self.function(&inner.params, &inner.body),
            DeclKind::Tool(inner) => self.function(&inner.params, &inner.body),
            DeclKind::Pipeline(inner) => self.function(&[], &inner.body),
            DeclKind::Impl(inner) => inner.methods.iter().for_each(|method| self.decl(&method.kind)),
            DeclKind::Skill(inner) => inner.fields.iter().for_each(|(_, value)| self.expr(value)),
            DeclKind::EvalPack(inner) => {
                inner.fields.iter().for_each(|(_, value)| self.expr(value));
                self.block(&inner.body);
                inner.summarize.iter().for_each(|block| self.block(block));
            }
            DeclKind::Struct(_) | DeclKind::Enum(_) | DeclKind::Interface(_) | DeclKind::Alias(_) => {}
        }
    }

    /// A function within the function: it captures for both, and yields for itself.
    fn function(&mut self, params: &[Param], body: &Block) {
        let own = (self.yields, self.defers);
        params.iter().filter_map(|param| param.default.as_ref()).for_each(|default| self.expr(default));
        self.block(body);
        (self.yields, self.defers) = own;
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(_) | Pattern::Pair { .. } => {}
            Pattern::Dict { fields, .. } => {
                fields
                    .iter()
                    .filter_map(|field| field.default.as_ref())
                    .for_each(|default| self.expr(default));
            }
            Pattern::List { items, .. } => {
                items
                    .iter()
                    .filter_map(|(_, default)| default.as_ref())
                    .for_each(|default| self.expr(default));
            }
        }
    }

    fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            let (Element::Plain(value) | Element::Spread(value)) = element;
            self.expr(value);
        }
    }

    fn entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry {
                Entry::Named { value, .. } | Entry::Spread(value) => self.expr(value),
                Entry::Computed { key, value } => {
                    self.expr(key);
                    self.expr(value);
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Nil
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Duration(_)
            | ExprKind::Str(_) => {}
            ExprKind::Interpolated(parts) => parts.iter().for_each(|part| {
                if let StrPart::Expr(inner) = part {
                    self.expr(inner);
                }
            }),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Paren(inner)
            | ExprKind::Propagate(inner)
            | ExprKind::TryStar(inner)
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Field { object: inner, .. } => self.expr(inner),
            ExprKind::List(items) => self.elements(items),
            ExprKind::Dict(entries) => self.entries(entries),
            ExprKind::Struct { name, fields } => {
                self.name(&name.name);
                self.entries(fields);
            }
            ExprKind::Closure(closure) | ExprKind::Lambda(closure) => {
                self.function(&closure.params, &closure.body);
            }
            ExprKind::Binary { first, rest } => {
                self.expr(first);
                rest.iter().for_each(|(_, operand)| self.expr(operand));
            }
            ExprKind::Range { start: a, end: b, .. } | ExprKind::Index { object: a, index: b, .. } => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Slice { object, start, end } => {
                self.expr(object);
                start.iter().chain(end).for_each(|bound| self.expr(bound));
            }
            ExprKind::Call { callee, args, .. } => {
                self.name(&callee.name);
                self.elements(args);
            }
            ExprKind::Method { object, args, .. } => {
                self.expr(object);
                self.elements(args);
            }
            ExprKind::Spawn(block) => self.function(&[], block),
            ExprKind::If(inner) => {
                self.expr(&inner.condition);
                self.block(&inner.then);
                match &inner.otherwise {
                    Some(Else::Block(block)) => self.block(block),
                    Some(Else::If(next)) => self.expr(next),
                    None => {}
                }
            }
            ExprKind::Match(inner) => {
                self.expr(&inner.subject);
                for arm in &inner.arms {
                    arm.patterns.iter().chain(&arm.guard).for_each(|part| self.expr(part));
                    self.block(&arm.body);
                }
            }
            ExprKind::Retry { count: value, body } | ExprKind::Deadline { limit: value, body } => {
                self.expr(value);
                self.block(body);
            }
            ExprKind::Parallel(inner) => {
                self.expr(&inner.source);
                inner.max_concurrent.iter().for_each(|limit| self.expr(limit));
                self.function(&[], &inner.body);
            }
            ExprKind::Try(inner) => {
                self.block(&inner.body);
                inner.catch.iter().for_each(|catch| self.block(&catch.body));
                inner.finally.iter().for_each(|block| self.block(block));
            }
        }
    }
}
