//! The tree of a program, as it was written.
//!
//! Chains of binary operators are flat (`first` and `rest`), so that a long one is not a deep one. How deep
//! everything else may nest is limited by the parser; whoever walks the tree may recurse.

use std::sync::Arc;

use super::span::Span;

/// A name. Equal names within a module share their text.
pub type Name = Arc<str>;

#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    pub body: Vec<Stmt>,
}

/// Statements between braces; the span includes the braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub body: Vec<Stmt>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    Import(Import),
    Decl(Decl),
    /// `let` or `var`.
    Bind {
        mutable: bool,
        pattern: Pattern,
        ty: Option<Type>,
        value: Expr,
    },
    /// The target is a name, a field or an index; the operator is that of `+=` and its like.
    Assign {
        target: Expr,
        op: Option<BinaryOp>,
        value: Expr,
    },
    For {
        pattern: Pattern,
        source: Expr,
        body: Block,
    },
    While {
        condition: Expr,
        body: Block,
    },
    Select(Select),
    Return(Option<Expr>),
    Throw(Expr),
    Yield(Option<Expr>),
    Emit(Expr),
    Break,
    Continue,
    Guard {
        condition: Expr,
        otherwise: Block,
    },
    Require {
        condition: Expr,
        message: Option<Expr>,
    },
    Defer(Block),
    Mutex(Block),
    /// `override NAME(names) block`: parsed, without effect.
    Override {
        name: Ident,
        params: Vec<Ident>,
        body: Block,
    },
    Expr(Expr),
}

/// `import "path"` or `import { a, b } from "path"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    pub public: bool,
    /// None for everything that the module exports.
    pub names: Option<Vec<Ident>>,
    pub path: Arc<str>,
    pub path_span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decl {
    pub attributes: Vec<Attribute>,
    /// The text of the doc comment right before it, without its marks.
    pub doc: Option<String>,
    pub public: bool,
    pub kind: DeclKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeclKind {
    Pipeline(Pipeline),
    Function(Function),
    Tool(Tool),
    Skill(Skill),
    EvalPack(EvalPack),
    Struct(Struct),
    Enum(Enum),
    Impl(Impl),
    Interface(Interface),
    Alias(Alias),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: Ident,
    pub args: Vec<AttributeArg>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AttributeArg {
    pub name: Option<Ident>,
    pub value: AttributeValue,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    Name(Name),
    List(Vec<AttributeValue>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    pub name: Ident,
    pub params: Vec<Ident>,
    pub returns: Option<Type>,
    pub extends: Option<Ident>,
    pub body: Block,
}

/// A named function. With `is_gen` it is a `gen fn`, whose call is a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: Ident,
    pub is_gen: bool,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<Param>,
    pub returns: Option<Type>,
    /// `where T: Interface`.
    pub bounds: Vec<(Ident, Ident)>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeParam {
    pub name: Ident,
    pub variance: Variance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    Invariant,
    /// `out T`.
    Covariant,
    /// `in T`.
    Contravariant,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: Ident,
    pub ty: Option<Type>,
    pub default: Option<Expr>,
    /// `...name`, the last one.
    pub is_rest: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: Ident,
    pub params: Vec<Param>,
    pub returns: Option<Type>,
    pub description: Option<Expr>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    pub name: Ident,
    pub fields: Vec<(Ident, Expr)>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EvalPack {
    pub name: Option<Ident>,
    pub id: Option<Arc<str>>,
    pub fields: Vec<(Ident, Expr)>,
    pub summarize: Option<Block>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub fields: Vec<StructField>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StructField {
    pub name: Ident,
    pub optional: bool,
    pub ty: Option<Type>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Enum {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub variants: Vec<Variant>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub name: Ident,
    pub fields: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Impl {
    pub target: Ident,
    /// Each with its `pub`, attributes and doc; all are `DeclKind::Function`.
    pub methods: Vec<Decl>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Interface {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub types: Vec<(Ident, Option<Type>)>,
    pub methods: Vec<Signature>,
    pub span: Span,
}

/// A method that an interface wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<Param>,
    pub returns: Option<Type>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub ty: Type,
}

/// What a binding takes apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `_` discards.
    Name(Ident),
    Dict {
        fields: Vec<PatternField>,
        rest: Option<Ident>,
        span: Span,
    },
    List {
        items: Vec<(Ident, Option<Expr>)>,
        rest: Option<Ident>,
        span: Span,
    },
    /// `(a, b)`, only in `for`.
    Pair {
        first: Ident,
        second: Ident,
        span: Span,
    },
}

/// `key`, `key: alias`, `key = default`, `key: alias = default`.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternField {
    pub key: Ident,
    pub alias: Option<Ident>,
    pub default: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// `name from channel { ... }`.
    pub cases: Vec<SelectCase>,
    pub timeout: Option<(Expr, Block)>,
    pub default: Option<Block>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SelectCase {
    pub name: Ident,
    pub channel: Expr,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

impl Expr {
    /// The expression without the parentheses around it.
    pub fn peeled(&self) -> &Self {
        let mut peeled = self;
        while let ExprKind::Paren(inner) = &peeled.kind {
            peeled = inner;
        }
        peeled
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Milliseconds.
    Duration(i64),
    /// A string without interpolation, escapes already resolved.
    Str(Arc<str>),
    Interpolated(Vec<StrPart>),
    Name(Name),
    /// `(e)`. Kept, because it is how it was written.
    Paren(Box<Expr>),
    List(Vec<Element>),
    Dict(Vec<Entry>),
    /// `{ a, b -> ... }`.
    Closure(Box<Closure>),
    /// `fn(a, b) { ... }`.
    Lambda(Box<Closure>),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    /// Operators of one level of precedence, from left to right. `**` has one operand in `rest`, nested to the right.
    Binary {
        first: Box<Expr>,
        rest: Vec<(BinaryOp, Expr)>,
    },
    Range {
        start: Box<Expr>,
        end: Box<Expr>,
        exclusive: bool,
    },
    Ternary {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// `.name` or `?.name`.
    Field {
        object: Box<Expr>,
        name: Ident,
        optional: bool,
    },
    /// `[i]` or `?[i]`.
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    Slice {
        object: Box<Expr>,
        start: Option<Box<Expr>>,
        end: Option<Box<Expr>>,
    },
    /// A call of a bare name.
    Call {
        callee: Ident,
        type_args: Vec<Type>,
        args: Vec<Element>,
    },
    Method {
        object: Box<Expr>,
        method: Ident,
        args: Vec<Element>,
        optional: bool,
    },
    /// `Name { field: value }`.
    Struct {
        name: Ident,
        fields: Vec<Entry>,
    },
    /// Postfix `?`.
    Propagate(Box<Expr>),
    Spawn(Block),
    If(Box<If>),
    Match(Box<Match>),
    Retry {
        count: Box<Expr>,
        body: Block,
    },
    Parallel(Box<Parallel>),
    Deadline {
        limit: Box<Expr>,
        body: Block,
    },
    Try(Box<Try>),
    /// `try* e`.
    TryStar(Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum StrPart {
    Text(Arc<str>),
    Expr(Expr),
}

/// An item of a list or an argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    Plain(Expr),
    Spread(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A name, a keyword or a string as key.
    Named {
        key: Ident,
        value: Expr,
    },
    /// `[expr]: value`.
    Computed {
        key: Expr,
        value: Expr,
    },
    Spread(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    pub params: Vec<Param>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq)]
pub struct If {
    pub condition: Expr,
    pub then: Block,
    pub otherwise: Option<Else>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Else {
    Block(Block),
    If(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    pub subject: Expr,
    pub arms: Vec<Arm>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Alternatives. Patterns are expressions; what they mean is decided where they are compiled.
    pub patterns: Vec<Expr>,
    pub guard: Option<Expr>,
    pub body: Block,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    pub kind: ParallelKind,
    /// How often, or over what.
    pub source: Expr,
    pub max_concurrent: Option<Expr>,
    pub param: Option<Ident>,
    pub body: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParallelKind {
    Count,
    Each,
    EachAsStream,
    Settle,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    pub body: Block,
    pub catch: Option<Catch>,
    pub finally: Option<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Catch {
    pub name: Option<Ident>,
    pub ty: Option<Type>,
    pub body: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Pipe,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    In,
    NotIn,
    Add,
    Subtract,
    Coalesce,
    Multiply,
    Divide,
    Modulo,
    Power,
}

impl BinaryOp {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "|>",
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::LessEqual => "<=",
            Self::GreaterEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Coalesce => "??",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Power => "**",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// A name, with arguments if any. `true` and `false` are written here as `bool`, `nil` as `nil`.
    Name {
        name: Name,
        args: Vec<Type>,
    },
    /// `[T]`.
    List(Box<Type>),
    Shape(Vec<ShapeField>),
    Union(Vec<Type>),
    Function {
        params: Vec<Type>,
        returns: Box<Type>,
    },
    Str(Arc<str>),
    Int(i64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ShapeField {
    pub name: Ident,
    pub optional: bool,
    pub ty: Type,
}
