//! What a piece of code assigns to, looked up before it is checked: the next time around a loop sees it.

use crate::syntax::ast::*;

/// What code does that matters to the code around it.
#[derive(Default)]
pub struct Effects {
    /// Variables that it assigns to, or into.
    pub assigned: Vec<Name>,
    /// Whether it leaves the loop around it.
    pub breaks: bool,
    loops: usize,
}

pub fn effects<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Effects {
    let mut effects = Effects::default();
    blocks.into_iter().for_each(|block| effects.block(block));
    effects.assigned.sort_unstable();
    effects.assigned.dedup();
    effects
}

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

impl Effects {
    fn block(&mut self, block: &Block) {
        block.body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn in_loop(&mut self, block: &Block) {
        self.loops += 1;
        self.block(block);
        self.loops -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Bind { value, .. }
            | StmtKind::Throw(value)
            | StmtKind::Emit(value)
            | StmtKind::Expr(value) => self.expr(value),
            StmtKind::Assign { target, value, .. } => {
                self.assigned.extend(root(target).cloned());
                self.expr(value);
            }
            StmtKind::For { source, body, .. } => {
                self.expr(source);
                self.in_loop(body);
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.in_loop(body);
            }
            StmtKind::Guard { condition, otherwise } => {
                self.expr(condition);
                self.block(otherwise);
            }
            StmtKind::Select(select) => {
                select.cases.iter().for_each(|case| self.block(&case.body));
                select.timeout.iter().for_each(|(_, block)| self.block(block));
                select.default.iter().for_each(|block| self.block(block));
            }
            StmtKind::Return(value) | StmtKind::Yield(value) => {
                value.iter().for_each(|value| self.expr(value))
            }
            StmtKind::Break => self.breaks |= self.loops == 0,
            StmtKind::Require { condition, message } => {
                self.expr(condition);
                message.iter().for_each(|message| self.expr(message));
            }
            StmtKind::Defer(block) | StmtKind::Mutex(block) => self.block(block),
            StmtKind::Import(_) | StmtKind::Decl(_) | StmtKind::Continue | StmtKind::Override { .. } => {}
        }
    }

    /// Closures and tasks work on copies, so nothing within them counts.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Paren(inner)
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Propagate(inner)
            | ExprKind::TryStar(inner)
            | ExprKind::Field { object: inner, .. } => self.expr(inner),
            ExprKind::Binary { first, rest } => {
                self.expr(first);
                rest.iter().for_each(|(_, operand)| self.expr(operand));
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Call { args, .. } | ExprKind::List(args) => self.elements(args),
            ExprKind::Method { object, args, .. } => {
                self.expr(object);
                self.elements(args);
            }
            ExprKind::If(inner) => self.if_(inner),
            ExprKind::Match(inner) => {
                self.expr(&inner.subject);
                inner.arms.iter().for_each(|arm| self.block(&arm.body));
            }
            ExprKind::Retry { body, .. } | ExprKind::Deadline { body, .. } => self.block(body),
            ExprKind::Try(inner) => {
                self.block(&inner.body);
                inner.catch.iter().for_each(|catch| self.block(&catch.body));
                inner.finally.iter().for_each(|block| self.block(block));
            }
            _ => {}
        }
    }

    fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            let (Element::Plain(value) | Element::Spread(value)) = element;
            self.expr(value);
        }
    }

    fn if_(&mut self, inner: &If) {
        let mut inner = inner;
        loop {
            self.expr(&inner.condition);
            self.block(&inner.then);
            match &inner.otherwise {
                Some(Else::Block(block)) => return self.block(block),
                Some(Else::If(Expr { kind: ExprKind::If(next), .. })) => inner = next,
                Some(Else::If(_)) | None => return,
            }
        }
    }
}
