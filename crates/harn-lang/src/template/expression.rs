//! Expressions in templates: paths, literals, comparisons, `and`, `or`, `not`, and filters.

use super::MAX_DEPTH;
use crate::value::Value;

#[derive(Debug, Clone)]
pub enum Expr {
    Literal(Value),
    /// A name, and what is looked up in it.
    Path(String, Vec<Step>),
    Not(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Filter(Box<Expr>, String, Vec<Expr>),
}

#[derive(Debug, Clone)]
pub enum Step {
    Key(String),
    Index(i64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Name(String),
    Str(String),
    Int(i64),
    Float(f64),
    Sign(&'static str),
}

const SIGNS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "|", ":", ",", ".", "[", "]", "(", ")", "{", "}", "-",
];

/// The words and signs between `{{` and `}}`.
pub fn tokens(source: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = source.trim_start();
    while let Some(c) = rest.chars().next() {
        if c == '"' || c == '\'' {
            let (text, after) = quoted(rest, c)?;
            found.push(Token::Str(text));
            rest = after;
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            found.push(number(&rest[..end])?);
            rest = &rest[end..];
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("unexpected character '{c}'"))?;
            found.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
        rest = rest.trim_start();
    }
    Ok(found)
}

fn number(text: &str) -> Result<Token, String> {
    let whole = text.parse().map(Token::Int);
    whole.or_else(|_| text.parse().map(Token::Float)).map_err(|_| format!("'{text}' is not a number"))
}

fn quoted(source: &str, quote: char) -> Result<(String, &str), String> {
    let mut text = String::new();
    let mut chars = source.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((text, &source[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, other)) => text.push(other),
                None => break,
            },
            _ => text.push(c),
        }
    }
    Err(format!("a text that starts with {quote} does not end"))
}

/// Reads expressions out of tokens.
pub struct Reader<'a> {
    tokens: &'a [Token],
    depth: usize,
    /// How many filters and operators there were.
    links: usize,
}

/// How many filters and operators a tag may have: each makes its tree one deeper.
const MAX_LINKS: usize = 128;

impl<'a> Reader<'a> {
    pub fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, depth: 0, links: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn finish(&self) -> Result<(), String> {
        match self.tokens.first() {
            None => Ok(()),
            Some(token) => Err(format!("unexpected {}", told(token))),
        }
    }

    pub fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    pub fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Name(next)) if next == word);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("expected '{sign}', got {}", self.next_told())) }
    }

    pub fn name(&mut self) -> Result<String, String> {
        match self.tokens {
            [Token::Name(name), rest @ ..] => {
                self.tokens = rest;
                Ok(name.clone())
            }
            _ => Err(format!("expected a name, got {}", self.next_told())),
        }
    }

    fn next_told(&self) -> String {
        self.tokens.first().map_or_else(|| "the end of the tag".to_owned(), told)
    }

    pub fn expression(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("expressions may be nested {MAX_DEPTH} deep"));
        }
        let value = self.either()?;
        self.depth -= 1;
        Ok(value)
    }

    fn link(&mut self) -> Result<(), String> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(format!("a tag may have {MAX_LINKS} filters and operators"));
        }
        Ok(())
    }

    fn filter(&mut self, value: Expr) -> Result<Expr, String> {
        let name = self.name()?;
        if !super::filters::is_known(&name) {
            return Err(format!("unknown filter '{name}'"));
        }
        let mut args = Vec::new();
        if self.sign(":") {
            args.push(self.single()?);
            while self.sign(",") {
                args.push(self.single()?);
            }
        }
        Ok(Expr::Filter(Box::new(value), name, args))
    }

    fn either(&mut self) -> Result<Expr, String> {
        let mut left = self.both()?;
        while self.sign("||") || self.word("or") {
            self.link()?;
            left = Expr::Binary(Operator::Or, Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expr, String> {
        let mut left = self.comparison()?;
        while self.sign("&&") || self.word("and") {
            self.link()?;
            left = Expr::Binary(Operator::And, Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        let left = self.filtered()?;
        let operators = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        match operators.into_iter().find(|(sign, _)| self.sign(sign)) {
            Some((_, operator)) => Ok(Expr::Binary(operator, Box::new(left), Box::new(self.filtered()?))),
            None => Ok(left),
        }
    }

    /// Filters belong to the value before them: `xs | length > 2` compares the length.
    fn filtered(&mut self) -> Result<Expr, String> {
        let mut value = self.single()?;
        while self.sign("|") {
            self.link()?;
            value = self.filter(value)?;
        }
        Ok(value)
    }

    fn single(&mut self) -> Result<Expr, String> {
        let mut negations = 0;
        while self.sign("!") || self.word("not") {
            negations += 1;
        }
        let mut value = self.operand()?;
        if negations > 0 {
            value = Expr::Not(Box::new(value));
        }
        if negations > 0 && negations % 2 == 0 {
            value = Expr::Not(Box::new(value));
        }
        Ok(value)
    }

    fn operand(&mut self) -> Result<Expr, String> {
        if self.sign("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let is_negative = self.sign("-");
        let [token, rest @ ..] = self.tokens else {
            return Err("expected a value, got the end of the tag".to_owned());
        };
        self.tokens = rest;
        Ok(match (token, is_negative) {
            (Token::Int(value), negative) => {
                Expr::Literal(Value::Int(if negative { value.wrapping_neg() } else { *value }))
            }
            (Token::Float(value), negative) => {
                Expr::Literal(Value::Float(if negative { -value } else { *value }))
            }
            (Token::Str(text), false) => Expr::Literal(text.as_str().into()),
            (Token::Name(name), false) => self.path(name)?,
            (token, _) => return Err(format!("expected a value, got {}", told(token))),
        })
    }

    fn path(&mut self, name: &str) -> Result<Expr, String> {
        match name {
            "true" => return Ok(Expr::Literal(Value::Bool(true))),
            "false" => return Ok(Expr::Literal(Value::Bool(false))),
            "nil" | "null" => return Ok(Expr::Literal(Value::Nil)),
            _ => {}
        }
        let mut steps = Vec::new();
        loop {
            if self.sign(".") {
                steps.push(match self.tokens {
                    [Token::Int(index), rest @ ..] => {
                        self.tokens = rest;
                        Step::Index(*index)
                    }
                    _ => Step::Key(self.name()?),
                });
            } else if self.sign("[") {
                let is_negative = self.sign("-");
                steps.push(match self.tokens {
                    [Token::Int(index), rest @ ..] => {
                        self.tokens = rest;
                        Step::Index(if is_negative { index.wrapping_neg() } else { *index })
                    }
                    [Token::Str(key), rest @ ..] if !is_negative => {
                        self.tokens = rest;
                        Step::Key(key.clone())
                    }
                    _ => return Err(format!("expected an index or a key, got {}", self.next_told())),
                });
                self.expect("]")?;
            } else {
                return Ok(Expr::Path(name.to_owned(), steps));
            }
        }
    }
}

fn told(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("'{name}'"),
        Token::Str(text) => format!("\"{text}\""),
        Token::Int(value) => value.to_string(),
        Token::Float(value) => value.to_string(),
        Token::Sign(sign) => format!("'{sign}'"),
    }
}
