//! What goes wrong while a program runs: what it can catch, and what it cannot.

use crate::value::Value;

/// An error of a running program.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// `throw v`, and the plain errors of most builtins. Caught as it is.
    Thrown(Value),
    /// Caught as `Type error: ...`.
    Type(String),
    /// Caught as `Runtime error: ...`.
    Runtime(String),
    /// Caught as its own text, without a prefix: `Division by zero`, `Undefined variable: x`.
    Plain(String),
    /// `Error [category]: message`.
    Categorised { category: &'static str, message: String },
    /// The program went over a limit. It ends; nothing in it can catch this.
    Limit(Limit),
}

impl Fault {
    /// What most builtins do: a plain string is thrown.
    pub fn thrown(message: impl Into<String>) -> Self {
        Self::Thrown(Value::str(message))
    }

    pub fn type_error(message: impl Into<String>) -> Self {
        Self::Type(message.into())
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self::Runtime(message.into())
    }

    /// The value that `catch` binds.
    pub fn caught(&self) -> Value {
        match self {
            Self::Thrown(value) => value.clone(),
            other => Value::str(other.to_string()),
        }
    }
}

/// The text that an uncaught error is reported with.
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Thrown(value) => write!(f, "Thrown: {}", value.display()),
            Self::Type(message) => write!(f, "Type error: {message}"),
            Self::Runtime(message) => write!(f, "Runtime error: {message}"),
            Self::Plain(message) => f.write_str(message),
            Self::Categorised { category, message } => write!(f, "Error [{category}]: {message}"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

/// A limit of the VM that a program went over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    #[error("Memory limit exceeded: the program may use {0} bytes")]
    Memory(u64),
    #[error("Output limit exceeded: the program may print {0} bytes")]
    Output(u64),
    #[error("Fuel limit exceeded: the program may execute {0} steps")]
    Fuel(u64),
    #[error("Task limit exceeded: the program may have {0} tasks at a time")]
    Tasks(u64),
    #[error("Nesting limit exceeded: a value may be nested {0} deep")]
    Nesting(u64),
    #[error("Comparison limit exceeded: values may be compared over {0} parts")]
    Comparison(u64),
    #[error("Key limit exceeded: the key of a dict may have {0} bytes")]
    Key(u64),
}
