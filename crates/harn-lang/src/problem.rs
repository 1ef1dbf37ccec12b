//! What is wrong with a program, found before it runs: by the parser, by the checker or by the compiler.

use crate::bytecode::Source;
use crate::syntax::span::Span;

/// Something wrong at a place of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub code: Code,
    pub message: String,
    pub span: Span,
    /// The number of the source.
    pub module: u16,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>, span: Span, module: u16) -> Self {
        Self { code, message: message.into(), span, module, help: None }
    }

    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program does not run.
    Error,
    /// The program runs; it may not do what was meant.
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Problems of a program with the sources that they point into.
#[derive(Clone, Debug)]
pub struct Problems {
    pub all: Vec<Problem>,
    pub sources: Vec<Source>,
}

/// What kind of problem it is. `harn explain` tells more about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    Syntax,
    Import,
    UnknownName,
    Redeclared,
    Immutable,
    Misplaced,
    TooLarge,
    TypeMismatch,
    Operands,
    NonExhaustive,
    UnknownCall,
    UnknownStruct,
    Constraint,
    Variance,
    TypeArguments,
    UnknownType,
    UnknownVariable,
    HostCall,
    UnknownField,
    UnknownVariant,
    MissingField,
    Arity,
    Deprecated,
    UnknownAttribute,
    UnreachableCode,
    PipelineReturnType,
}

impl Code {
    pub const ALL: &[Self] = &[
        Self::Syntax,
        Self::Import,
        Self::UnknownName,
        Self::Redeclared,
        Self::Immutable,
        Self::Misplaced,
        Self::TooLarge,
        Self::TypeMismatch,
        Self::Operands,
        Self::NonExhaustive,
        Self::UnknownCall,
        Self::UnknownStruct,
        Self::Constraint,
        Self::Variance,
        Self::TypeArguments,
        Self::UnknownType,
        Self::UnknownVariable,
        Self::HostCall,
        Self::UnknownField,
        Self::UnknownVariant,
        Self::MissingField,
        Self::Arity,
        Self::Deprecated,
        Self::UnknownAttribute,
        Self::UnreachableCode,
        Self::PipelineReturnType,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Import => "import",
            Self::UnknownName => "unknown-name",
            Self::Redeclared => "redeclared",
            Self::Immutable => "immutable",
            Self::Misplaced => "misplaced",
            Self::TooLarge => "too-large",
            Self::TypeMismatch => "type-mismatch",
            Self::Operands => "operands",
            Self::NonExhaustive => "non-exhaustive",
            Self::UnknownCall => "unknown-call",
            Self::UnknownStruct => "unknown-struct",
            Self::Constraint => "constraint",
            Self::Variance => "variance",
            Self::TypeArguments => "type-arguments",
            Self::UnknownType => "unknown-type",
            Self::UnknownVariable => "unknown-variable",
            Self::HostCall => "host-call",
            Self::UnknownField => "unknown-field",
            Self::UnknownVariant => "unknown-variant",
            Self::MissingField => "missing-field",
            Self::Arity => "arity",
            Self::Deprecated => "deprecated",
            Self::UnknownAttribute => "unknown-attribute",
            Self::UnreachableCode => "unreachable-code",
            Self::PipelineReturnType => "pipeline-return-type",
        }
    }

    pub fn severity(self) -> Severity {
        match self {
            Self::UnknownType
            | Self::UnknownVariable
            | Self::HostCall
            | Self::UnknownField
            | Self::UnknownVariant
            | Self::MissingField
            | Self::Arity
            | Self::Deprecated
            | Self::UnknownAttribute
            | Self::UnreachableCode
            | Self::PipelineReturnType => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// What it means, what it comes from, and what to do.
    pub fn explanation(self) -> Explanation {
        let (meaning, causes, to_do) = match self {
            Self::Syntax => (
                "the text is not a Harn program",
                "a bracket or quote that is not closed, two statements on a line, a word that is reserved",
                "look at the marked place; `harn fmt` shows how the text was understood up to there",
            ),
            Self::Import => (
                "a module cannot be imported as it is written",
                "a file that is not there, a name that the module does not have, a name that is imported twice",
                "look at the path, which is relative to the importing file; import single names with \
                 `import { a } from \"module\"`",
            ),
            Self::UnknownName => (
                "a name is used that nothing defines",
                "a spelling mistake, an import that is missing, a variable of another function",
                "define it, import it, or take the name that the message suggests",
            ),
            Self::Redeclared => (
                "a name is declared twice in the same block, and neither is a `var`",
                "a copied line, or a `let` that should be an assignment",
                "take another name, or declare the first one with `var` and assign to it",
            ),
            Self::Immutable => (
                "something is assigned to a name that never changes",
                "a `let`, a parameter, or a name bound by a pattern",
                "declare it with `var`",
            ),
            Self::Misplaced => (
                "a construct stands where it has no meaning",
                "`break` outside of a loop, `try*` outside of a function, an attribute on the wrong declaration",
                "move it to where the message says that it belongs",
            ),
            Self::TooLarge => (
                "the program is larger than a program may be",
                "generated code with more names, functions or registers than there are numbers for them",
                "split it into modules or smaller functions",
            ),
            Self::TypeMismatch => (
                "a value is of another type than is wanted there",
                "an annotation that says something else, an argument in the wrong place, a value that may be nil",
                "convert the value, look at what it is before using it, or correct the annotation",
            ),
            Self::Operands => (
                "an operator is used on values that it does not take",
                "a number and a text joined with `+`, arithmetic on something that is not a number",
                "convert one of them with `to_string`, `to_int` or `to_float`, or put values into a text with `${...}`",
            ),
            Self::NonExhaustive => (
                "a `match`, or code that ends in `unreachable()`, does not handle every case",
                "a variant or a literal that was added to the type later, an arm that was forgotten",
                "add an arm for each case that the message names, or `_ -> { ... }` for all others",
            ),
            Self::UnknownCall => (
                "a function is called that nothing defines",
                "a spelling mistake, an import that is missing, a function of another block",
                "define it, import it, or take the name that the message suggests",
            ),
            Self::UnknownStruct => (
                "a struct is made that nothing declares",
                "a spelling mistake, or a declaration that is missing",
                "declare it with `struct`, or take the name that the message suggests",
            ),
            Self::Constraint => (
                "a type does not have what a `where` wants of it",
                "a method that is missing, or one with other parameters or another result",
                "add the method in an `impl` of the type, or pass something else",
            ),
            Self::Variance => (
                "a type parameter that is declared `in` or `out` stands where the other is needed",
                "`out T` as the type of a parameter, `in T` as the type of a result",
                "leave out `in` or `out`, or move the parameter",
            ),
            Self::TypeArguments => (
                "the type parameters of a function do not go together with a call of it",
                "arguments of different types for the same parameter, too many or too few types between `<` and `>`",
                "pass arguments that agree, or write the types that are meant: `f<int>(...)`",
            ),
            Self::UnknownType => (
                "an annotation names a type that nothing declares; it is not checked",
                "a spelling mistake, or an import that is missing",
                "declare it, import it, or take the name that is suggested",
            ),
            Self::UnknownVariable => (
                "a variable is used that nothing declares here; the program fails when it gets there",
                "a spelling mistake, a variable of another block, a use before the declaration",
                "declare it before it is used, or take the name that is suggested",
            ),
            Self::HostCall => (
                "a function is called that only the host could provide",
                "a spelling mistake, or a host that offers more than the language",
                "look whether the host has it; otherwise define or import it",
            ),
            Self::UnknownField => (
                "a struct has no field of this name; reading it gives nil",
                "a spelling mistake, or a field that was renamed",
                "take a name that the struct has, or add the field to it",
            ),
            Self::UnknownVariant => (
                "an enum has no variant of this name",
                "a spelling mistake, or a variant that was renamed",
                "take a name that the enum has, or add the variant to it",
            ),
            Self::MissingField => (
                "a struct is made without all of its fields; those that are missing are nil",
                "a field that was added to the struct later",
                "give the field, or mark it with `?` in the struct",
            ),
            Self::Arity => (
                "a function is called with more or fewer arguments than it takes",
                "a parameter that was added or removed",
                "pass what the function takes; missing arguments are nil, surplus ones are not used",
            ),
            Self::Deprecated => (
                "a function is called that is going to be removed",
                "an `@deprecated` on its declaration",
                "call what the message names instead",
            ),
            Self::UnknownAttribute => (
                "an attribute has no meaning",
                "a spelling mistake, or an attribute of another version",
                "take a name that exists, or leave it out",
            ),
            Self::UnreachableCode => (
                "code is never reached",
                "a `return`, `throw`, `break` or `continue` before it, or a pipeline in the file, which is run instead",
                "remove it, move it before what leaves the block, or into the pipeline",
            ),
            Self::PipelineReturnType => (
                "a public pipeline does not say what it returns",
                "a pipeline that is called through a protocol, without `-> Type`",
                "write the type, so that the checker compares every `return` with it",
            ),
        };
        Explanation { meaning, causes, to_do }
    }
}

/// More about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub meaning: &'static str,
    pub causes: &'static str,
    pub to_do: &'static str,
}
