//! The words and signs of a source, and how an error names them.

use super::span::Span;

/// Declares an enum whose variants have a fixed spelling; a `readable` one can be found by it.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant,)+ }

        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
    ($(#[$meta:meta])* readable $name:ident { $($variant:ident = $text:literal,)+ }) => {
        spelled! { $(#[$meta])* $name { $($variant = $text,)+ } }

        impl $name {
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

spelled! {
    /// The reserved words.
    readable Keyword {
        Break = "break",
        Catch = "catch",
        Continue = "continue",
        Deadline = "deadline",
        Defer = "defer",
        Else = "else",
        Emit = "emit",
        Enum = "enum",
        EvalPack = "eval_pack",
        Exclusive = "exclusive",
        Extends = "extends",
        False = "false",
        Finally = "finally",
        Fn = "fn",
        For = "for",
        From = "from",
        Guard = "guard",
        If = "if",
        Impl = "impl",
        Import = "import",
        In = "in",
        Interface = "interface",
        Let = "let",
        Match = "match",
        Mutex = "mutex",
        Nil = "nil",
        Override = "override",
        Parallel = "parallel",
        Pipeline = "pipeline",
        Pub = "pub",
        Require = "require",
        Retry = "retry",
        Return = "return",
        Select = "select",
        Skill = "skill",
        Spawn = "spawn",
        Struct = "struct",
        Throw = "throw",
        To = "to",
        Tool = "tool",
        True = "true",
        Try = "try",
        Type = "type",
        Var = "var",
        While = "while",
        Yield = "yield",
    }
}

spelled! {
    /// The signs.
    Sign {
        Arrow = "->",
        PipeTo = "|>",
        EqualEqual = "==",
        NotEqual = "!=",
        AndAnd = "&&",
        OrOr = "||",
        Coalesce = "??",
        StarStar = "**",
        QuestionDot = "?.",
        LessEqual = "<=",
        GreaterEqual = ">=",
        PlusEqual = "+=",
        MinusEqual = "-=",
        StarEqual = "*=",
        SlashEqual = "/=",
        PercentEqual = "%=",
        Ellipsis = "...",
        OpenBrace = "{",
        CloseBrace = "}",
        OpenParen = "(",
        CloseParen = ")",
        OpenBracket = "[",
        CloseBracket = "]",
        Comma = ",",
        Colon = ":",
        Semicolon = ";",
        Dot = ".",
        Equal = "=",
        Not = "!",
        Plus = "+",
        Minus = "-",
        Star = "*",
        Slash = "/",
        Percent = "%",
        Less = "<",
        Greater = ">",
        Question = "?",
        Bar = "|",
        At = "@",
    }
}

impl Sign {
    /// Whether a line that starts with it goes on with the expression of the line before.
    pub fn continues_line(self) -> bool {
        matches!(
            self,
            Self::PipeTo
                | Self::OrOr
                | Self::AndAnd
                | Self::EqualEqual
                | Self::NotEqual
                | Self::Less
                | Self::Greater
                | Self::LessEqual
                | Self::GreaterEqual
                | Self::Plus
                | Self::Star
                | Self::Slash
                | Self::Percent
                | Self::StarStar
                | Self::Coalesce
                | Self::Dot
                | Self::QuestionDot
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// One or more ends of lines.
    Newline,
    End,
    /// What the lexer has already complained about.
    Bad,
    Ident,
    Int,
    Float,
    Duration,
    /// `"..."`, with or without interpolation.
    Str,
    /// `r"..."`.
    RawStr,
    /// `"""..."""`.
    TripleStr,
    Keyword(Keyword),
    Sign(Sign),
}

impl TokenKind {
    pub fn is_string(self) -> bool {
        matches!(self, Self::Str | Self::RawStr | Self::TripleStr)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Of a `{`: an arrow follows between it and its `}`, outside of other brackets, so it opens a closure.
    pub has_arrow: bool,
    pub span: Span,
}

/// How much of a token's text an error repeats.
const SHOWN: usize = 60;

impl Token {
    /// How an error names it: `id(name)`, `str(text)`, `'tool' (reserved keyword)`.
    pub fn spelling(self, source: &str) -> String {
        let text = self.span.of(source);
        match self.kind {
            TokenKind::Newline => "\\n".to_owned(),
            TokenKind::End => "end of file".to_owned(),
            TokenKind::Bad => shortened(text),
            TokenKind::Ident => format!("id({})", shortened(text)),
            TokenKind::Int => format!("int({})", shortened(text)),
            TokenKind::Float => format!("float({})", shortened(text)),
            TokenKind::Duration => format!("duration({})", shortened(text)),
            TokenKind::Str => format!("str({})", shortened(text.trim_matches('"'))),
            TokenKind::RawStr => {
                format!("str({})", shortened(text.trim_start_matches('r').trim_matches('"')))
            }
            TokenKind::TripleStr => format!("str({})", shortened(text.trim_matches('"'))),
            TokenKind::Keyword(word) => format!("'{}' (reserved keyword)", word.as_str()),
            TokenKind::Sign(sign) => sign.as_str().to_owned(),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
