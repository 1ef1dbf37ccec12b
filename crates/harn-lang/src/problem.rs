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
        }
    }

    pub fn severity(self) -> Severity {
        Severity::Error
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
