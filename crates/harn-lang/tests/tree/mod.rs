//! Prints a tree as one compact expression per statement, without places, so that trees can be compared and read.

use harn_lang::syntax::ast::*;

/// The whole module, a line for each statement.
pub fn module(module: &Module) -> String {
    module.body.iter().map(statement).collect::<Vec<_>>().join("\n")
}

fn node(name: &str, parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { format!("({name})") } else { format!("({name} {})", parts.join(" ")) }
}

fn many<T>(items: &[T], print: fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(" ")
}

fn group<T>(items: &[T], print: fn(&T) -> String) -> String {
    format!("[{}]", many(items, print))
}

fn option<T>(label: &str, item: &Option<T>, print: fn(&T) -> String) -> String {
    item.as_ref().map(|item| format!("{label}{}", print(item))).unwrap_or_default()
}

fn flag(set: bool, text: &str) -> String {
    if set { text.to_owned() } else { String::new() }
}

fn ident(ident: &Ident) -> String {
    ident.name.to_string()
}

fn block(block: &Block) -> String {
    format!("{{{}}}", block.body.iter().map(statement).collect::<Vec<_>>().join("; "))
}

fn statement(statement: &Stmt) -> String {
    match &statement.kind {
        StmtKind::Import(import) => node(
            if import.public { "pub-import" } else { "import" },
            [option("", &import.names, |names| group(names, ident)), format!("{:?}", import.path)],
        ),
        StmtKind::Decl(decl) => declaration(decl),
        StmtKind::Bind { mutable, pattern: bound, ty: annotation, value } => node(
            if *mutable { "var" } else { "let" },
            [pattern(bound), option(":", annotation, ty), expr(value)],
        ),
        StmtKind::Assign { target, op, value } => {
            let op = op.map(BinaryOp::as_str).unwrap_or_default();
            node(&format!("{op}="), [expr(target), expr(value)])
        }
        StmtKind::For { pattern: bound, source, body } => {
            node("for", [pattern(bound), expr(source), block(body)])
        }
        StmtKind::While { condition, body } => node("while", [expr(condition), block(body)]),
        StmtKind::Select(select) => node(
            "select",
            [
                many(&select.cases, |case| {
                    node("from", [ident(&case.name), expr(&case.channel), block(&case.body)])
                }),
                option("", &select.timeout, |(limit, body)| node("timeout", [expr(limit), block(body)])),
                option("", &select.default, |body| node("default", [block(body)])),
            ],
        ),
        StmtKind::Return(value) => node("return", [option("", value, expr)]),
        StmtKind::Throw(value) => node("throw", [expr(value)]),
        StmtKind::Yield(value) => node("yield", [option("", value, expr)]),
        StmtKind::Emit(value) => node("emit", [expr(value)]),
        StmtKind::Break => "break".to_owned(),
        StmtKind::Continue => "continue".to_owned(),
        StmtKind::Guard { condition, otherwise } => node("guard", [expr(condition), block(otherwise)]),
        StmtKind::Require { condition, message } => {
            node("require", [expr(condition), option("", message, expr)])
        }
        StmtKind::Defer(body) => node("defer", [block(body)]),
        StmtKind::Mutex(body) => node("mutex", [block(body)]),
        StmtKind::Override { name, params, body } => {
            node("override", [ident(name), group(params, ident), block(body)])
        }
        StmtKind::Expr(value) => expr(value),
    }
}

fn declaration(decl: &Decl) -> String {
    let kind = declaration_kind(&decl.kind);
    let public = flag(decl.public, "pub ");
    let doc = option("doc ", &decl.doc, |doc| format!("{doc:?} "));
    let attributes = decl.attributes.iter().map(|attribute| {
        let args = attribute.args.iter().map(|arg| {
            format!(
                "{}{}",
                option("", &arg.name, |name| format!("{}:", name.name)),
                attribute_value(&arg.value)
            )
        });
        node(&format!("@{}", attribute.name.name), args) + " "
    });
    format!("{}{doc}{public}{kind}", attributes.collect::<String>())
}

fn attribute_value(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Nil => "nil".to_owned(),
        AttributeValue::Bool(value) => value.to_string(),
        AttributeValue::Int(value) => value.to_string(),
        AttributeValue::Float(value) => format!("{value:?}"),
        AttributeValue::Str(value) => format!("{value:?}"),
        AttributeValue::Name(name) => name.to_string(),
        AttributeValue::List(items) => group(items, attribute_value),
    }
}

fn field((key, value): &(Ident, Expr)) -> String {
    format!("{}:{}", key.name, expr(value))
}

fn declaration_kind(kind: &DeclKind) -> String {
    match kind {
        DeclKind::Pipeline(it) => node(
            "pipeline",
            [
                ident(&it.name),
                group(&it.params, ident),
                option("->", &it.returns, ty),
                option("extends ", &it.extends, ident),
                block(&it.body),
            ],
        ),
        DeclKind::Function(it) => node(
            if it.is_gen { "gen-fn" } else { "fn" },
            [
                ident(&it.name),
                type_params(&it.type_params),
                group(&it.params, param),
                option("->", &it.returns, ty),
                many(&it.bounds, |(name, bound)| format!("where {}:{}", name.name, bound.name)),
                block(&it.body),
            ],
        ),
        DeclKind::Tool(it) => node(
            "tool",
            [
                ident(&it.name),
                group(&it.params, param),
                option("->", &it.returns, ty),
                option("description ", &it.description, expr),
                block(&it.body),
            ],
        ),
        DeclKind::Skill(it) => node("skill", [ident(&it.name), many(&it.fields, field)]),
        DeclKind::EvalPack(it) => node(
            "eval_pack",
            [
                option("", &it.name, ident),
                option("", &it.id, |id| format!("{id:?}")),
                many(&it.fields, field),
                option("summarize ", &it.summarize, block),
                block(&it.body),
            ],
        ),
        DeclKind::Struct(it) => node(
            "struct",
            [
                ident(&it.name),
                type_params(&it.type_params),
                many(&it.fields, |field| {
                    format!("{}{}{}", field.name.name, flag(field.optional, "?"), option(":", &field.ty, ty))
                }),
            ],
        ),
        DeclKind::Enum(it) => node(
            "enum",
            [
                ident(&it.name),
                type_params(&it.type_params),
                many(&it.variants, |variant| node(&variant.name.name, variant.fields.iter().map(param))),
            ],
        ),
        DeclKind::Impl(it) => node("impl", [ident(&it.target), many(&it.methods, declaration)]),
        DeclKind::Interface(it) => node(
            "interface",
            [
                ident(&it.name),
                type_params(&it.type_params),
                many(&it.types, |(name, default)| node("type", [ident(name), option("=", default, ty)])),
                many(&it.methods, |method| {
                    let (name, returns) = (ident(&method.name), option("->", &method.returns, ty));
                    node(
                        "fn",
                        [name, type_params(&method.type_params), group(&method.params, param), returns],
                    )
                }),
            ],
        ),
        DeclKind::Alias(it) => node("type", [ident(&it.name), type_params(&it.type_params), ty(&it.ty)]),
    }
}

fn type_params(params: &[TypeParam]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let print = |param: &TypeParam| match param.variance {
        Variance::Invariant => ident(&param.name),
        Variance::Covariant => format!("out {}", param.name.name),
        Variance::Contravariant => format!("in {}", param.name.name),
    };
    format!("<{}>", params.iter().map(print).collect::<Vec<_>>().join(","))
}

fn param(param: &Param) -> String {
    let (ty, default) = (option(":", &param.ty, ty), option("=", &param.default, expr));
    format!("{}{}{ty}{default}", flag(param.is_rest, "..."), param.name.name)
}

fn pattern(pattern: &Pattern) -> String {
    let rest = |rest: &Option<Ident>| option("...", rest, ident);
    match pattern {
        Pattern::Name(name) => ident(name),
        Pattern::Dict { fields, rest: last, .. } => {
            let print = |field: &PatternField| {
                let default = option("=", &field.default, expr);
                format!("{}{}{default}", field.key.name, option(":", &field.alias, ident))
            };
            node("{}", [many(fields, print), rest(last)])
        }
        Pattern::List { items, rest: last, .. } => {
            let print = |(name, default): &(Ident, Option<Expr>)| {
                format!("{}{}", name.name, option("=", default, expr))
            };
            node("[]", [many(items, print), rest(last)])
        }
        Pattern::Pair { first, second, .. } => node("pair", [ident(first), ident(second)]),
    }
}

pub fn expr(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Nil => "nil".to_owned(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Float(value) => format!("{value:?}"),
        ExprKind::Duration(value) => format!("{value}ms"),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Interpolated(parts) => node(
            "str",
            parts.iter().map(|part| match part {
                StrPart::Text(text) => format!("{text:?}"),
                StrPart::Expr(inner) => self::expr(inner),
            }),
        ),
        ExprKind::List(items) => group(items, element),
        ExprKind::Dict(entries) => node("dict", entries.iter().map(entry)),
        ExprKind::Closure(it) => node("closure", [group(&it.params, param), block(&it.body)]),
        ExprKind::Lambda(it) => node("lambda", [group(&it.params, param), block(&it.body)]),
        ExprKind::Unary { op, operand } => {
            node(if *op == UnaryOp::Not { "!" } else { "neg" }, [self::expr(operand)])
        }
        ExprKind::Binary { first, rest } => {
            let rest = rest.iter().map(|(op, operand)| format!(" {} {}", op.as_str(), self::expr(operand)));
            format!("({}{})", self::expr(first), rest.collect::<String>())
        }
        other => compound(other),
    }
}

fn compound(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Paren(inner) => node("paren", [expr(inner)]),
        ExprKind::Range { start, end, exclusive } => {
            node(if *exclusive { "to-exclusive" } else { "to" }, [expr(start), expr(end)])
        }
        ExprKind::Ternary { condition, then, otherwise } => {
            node("?:", [expr(condition), expr(then), expr(otherwise)])
        }
        ExprKind::Field { object, name, optional } => {
            node(if *optional { "?." } else { "." }, [expr(object), ident(name)])
        }
        ExprKind::Index { object, index, optional } => {
            node(if *optional { "?index" } else { "index" }, [expr(object), expr(index)])
        }
        ExprKind::Slice { object, start, end } => {
            let bound =
                |bound: &Option<Box<Expr>>| bound.as_ref().map_or("_".to_owned(), |bound| expr(bound));
            node("slice", [expr(object), bound(start), bound(end)])
        }
        ExprKind::Call { callee, type_args, args } => {
            let types =
                if type_args.is_empty() { String::new() } else { format!("<{}>", many(type_args, ty)) };
            node("call", [ident(callee), types, many(args, element)])
        }
        ExprKind::Method { object, method, args, optional } => node(
            if *optional { "?method" } else { "method" },
            [expr(object), ident(method), many(args, element)],
        ),
        ExprKind::Struct { name, fields } => node("struct", [ident(name), many(fields, entry)]),
        ExprKind::Propagate(inner) => node("propagate", [expr(inner)]),
        ExprKind::Spawn(body) => node("spawn", [block(body)]),
        ExprKind::If(it) => node(
            "if",
            [
                expr(&it.condition),
                block(&it.then),
                option("", &it.otherwise, |otherwise| match otherwise {
                    Else::Block(body) => block(body),
                    Else::If(inner) => expr(inner),
                }),
            ],
        ),
        ExprKind::Match(it) => node("match", [expr(&it.subject), many(&it.arms, arm)]),
        ExprKind::Retry { count, body } => node("retry", [expr(count), block(body)]),
        ExprKind::Parallel(it) => parallel(it),
        ExprKind::Deadline { limit, body } => node("deadline", [expr(limit), block(body)]),
        ExprKind::Try(it) => node(
            "try",
            [
                block(&it.body),
                option("", &it.catch, |catch| {
                    node(
                        "catch",
                        [option("", &catch.name, ident), option(":", &catch.ty, ty), block(&catch.body)],
                    )
                }),
                option("finally ", &it.finally, block),
            ],
        ),
        ExprKind::TryStar(inner) => node("try*", [expr(inner)]),
        _ => String::new(),
    }
}

fn arm(arm: &Arm) -> String {
    let patterns = arm.patterns.iter().map(expr).collect::<Vec<_>>().join("|");
    node("arm", [patterns, option("if ", &arm.guard, expr), block(&arm.body)])
}

fn parallel(it: &Parallel) -> String {
    let kind = match it.kind {
        ParallelKind::Count => "parallel",
        ParallelKind::Each => "parallel-each",
        ParallelKind::EachAsStream => "parallel-stream",
        ParallelKind::Settle => "parallel-settle",
    };
    let (limit, param) = (option("max ", &it.max_concurrent, expr), option("", &it.param, ident));
    node(kind, [expr(&it.source), limit, param, block(&it.body)])
}

fn element(element: &Element) -> String {
    match element {
        Element::Plain(value) => expr(value),
        Element::Spread(value) => format!("...{}", expr(value)),
    }
}

fn entry(entry: &Entry) -> String {
    match entry {
        Entry::Named { key, value } => format!("{}:{}", key.name, expr(value)),
        Entry::Computed { key, value } => format!("[{}]:{}", expr(key), expr(value)),
        Entry::Spread(value) => format!("...{}", expr(value)),
    }
}

fn ty(ty: &Type) -> String {
    match &ty.kind {
        TypeKind::Name { name, args } if args.is_empty() => name.to_string(),
        TypeKind::Name { name, args } => format!("{name}<{}>", types(args)),
        TypeKind::List(item) => format!("[{}]", self::ty(item)),
        TypeKind::Shape(fields) => {
            let print = |field: &ShapeField| {
                format!("{}{}:{}", field.name.name, flag(field.optional, "?"), self::ty(&field.ty))
            };
            format!("{{{}}}", fields.iter().map(print).collect::<Vec<_>>().join(","))
        }
        TypeKind::Union(members) => members.iter().map(self::ty).collect::<Vec<_>>().join("|"),
        TypeKind::Function { params, returns } => format!("fn({})->{}", types(params), self::ty(returns)),
        TypeKind::Str(text) => format!("{text:?}"),
        TypeKind::Int(value) => value.to_string(),
    }
}

fn types(types: &[Type]) -> String {
    types.iter().map(ty).collect::<Vec<_>>().join(",")
}
