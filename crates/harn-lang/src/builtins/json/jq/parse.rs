//! From the text of a jq program to its tree.

use crate::value::Value;

#[derive(Debug)]
pub enum Filter {
    Identity,
    /// Everything within, at every depth.
    Recurse,
    Literal(Value),
    Index(Box<Filter>, Box<Filter>),
    Slice(Box<Filter>, Option<i64>, Option<i64>),
    Iterate(Box<Filter>),
    /// Errors give nothing.
    Try(Box<Filter>),
    Pipe(Box<Filter>, Box<Filter>),
    Comma(Box<Filter>, Box<Filter>),
    Binary(&'static str, Box<Filter>, Box<Filter>),
    Array(Option<Box<Filter>>),
    Object(Vec<(Filter, Filter)>),
    Call(String, Vec<Filter>),
    /// Conditions with what they lead to, and what else.
    If(Vec<(Filter, Filter)>, Option<Box<Filter>>),
}

/// How many parts a program may have: it bounds how deep its tree is.
const MAX_PARTS: usize = 600;
/// How deep brackets may be nested.
const MAX_DEPTH: usize = 32;

pub fn parse(source: &str) -> Result<Filter, String> {
    let mut parser = Parser { rest: source, parts: 0, depth: 0 };
    parser.blanks();
    if parser.rest.is_empty() {
        return Ok(Filter::Identity);
    }
    let filter = parser.pipe()?;
    if parser.rest.is_empty() { Ok(filter) } else { Err(format!("unexpected '{}'", first(parser.rest))) }
}

struct Parser<'s> {
    rest: &'s str,
    parts: usize,
    depth: usize,
}

/// From the loosest to the tightest.
const LEVELS: &[&[&str]] =
    &[&["//"], &["or"], &["and"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

impl Parser<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn sign(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        let is_word = sign.starts_with(|c: char| c.is_ascii_alphabetic());
        let goes_on = if is_word { rest.starts_with(is_name) } else { sign == "/" && rest.starts_with('/') };
        if !goes_on {
            self.rest = rest;
            self.blanks();
        }
        !goes_on
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("expected '{sign}' before '{}'", first(self.rest))) }
    }

    fn part(&mut self) -> Result<(), String> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(format!("a program may have {MAX_PARTS} parts"));
        }
        Ok(())
    }

    fn pipe(&mut self) -> Result<Filter, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("a program may be nested {MAX_DEPTH} deep"));
        }
        let mut left = self.comma()?;
        while self.sign("|") {
            self.part()?;
            left = Filter::Pipe(Box::new(left), Box::new(self.comma()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn comma(&mut self) -> Result<Filter, String> {
        let mut left = self.level(0)?;
        while self.sign(",") {
            self.part()?;
            left = Filter::Comma(Box::new(left), Box::new(self.level(0)?));
        }
        Ok(left)
    }

    fn level(&mut self, level: usize) -> Result<Filter, String> {
        let Some(signs) = LEVELS.get(level) else { return self.postfix() };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = signs.iter().copied().find(|sign| self.sign(sign)) {
            self.part()?;
            left = Filter::Binary(sign, Box::new(left), Box::new(self.level(level + 1)?));
        }
        Ok(left)
    }

    fn postfix(&mut self) -> Result<Filter, String> {
        let mut filter = self.term()?;
        loop {
            self.part()?;
            if self.rest.starts_with('.') && self.rest[1..].starts_with(|c: char| is_name(c) || c == '"') {
                self.rest = &self.rest[1..];
                filter = Filter::Index(Box::new(filter), Box::new(self.field()?));
            } else if self.rest.starts_with(".[") {
                self.rest = &self.rest[1..];
            } else if self.sign("[") {
                filter = self.bracket(filter)?;
            } else if self.sign("?") {
                filter = Filter::Try(Box::new(filter));
            } else {
                return Ok(filter);
            }
        }
    }

    fn field(&mut self) -> Result<Filter, String> {
        if self.rest.starts_with('"') {
            return self.text();
        }
        Ok(Filter::Literal(self.name().into()))
    }

    fn name(&mut self) -> String {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        self.blanks();
        name
    }

    fn bracket(&mut self, of: Filter) -> Result<Filter, String> {
        if self.sign("]") {
            return Ok(Filter::Iterate(Box::new(of)));
        }
        if self.sign(":") {
            let end = self.whole()?;
            self.expect("]")?;
            return Ok(Filter::Slice(Box::new(of), None, Some(end)));
        }
        let before = self.rest;
        if let Ok(start) = self.whole()
            && self.sign(":")
        {
            let end = if self.rest.starts_with(']') { None } else { Some(self.whole()?) };
            self.expect("]")?;
            return Ok(Filter::Slice(Box::new(of), Some(start), end));
        }
        self.rest = before;
        let index = self.pipe()?;
        self.expect("]")?;
        Ok(Filter::Index(Box::new(of), Box::new(index)))
    }

    fn whole(&mut self) -> Result<i64, String> {
        let start = usize::from(self.rest.starts_with('-'));
        let end =
            self.rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(self.rest.len(), |at| at + start);
        let number =
            self.rest[..end].parse().map_err(|_| format!("expected a number before '{}'", first(self.rest)));
        self.rest = &self.rest[end..];
        self.blanks();
        number
    }

    fn term(&mut self) -> Result<Filter, String> {
        self.part()?;
        let Some(c) = self.rest.chars().next() else { return Err("unexpected end".to_owned()) };
        if c == '"' {
            return self.text();
        }
        if c.is_ascii_digit() || (c == '-' && self.rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number();
        }
        if self.sign("-") {
            let (zero, of) = (Filter::Literal(Value::Int(0)), self.postfix()?);
            return Ok(Filter::Binary("-", Box::new(zero), Box::new(of)));
        }
        if is_name(c) {
            return self.call();
        }
        if self.sign("..") {
            return Ok(Filter::Recurse);
        }
        if self.rest.starts_with('.') {
            if self.rest[1..].starts_with(|c: char| is_name(c) || c == '"') {
                return Ok(Filter::Identity);
            }
            self.sign(".");
            return Ok(Filter::Identity);
        }
        if self.sign("(") {
            let inner = self.pipe()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.sign("[") {
            if self.sign("]") {
                return Ok(Filter::Array(None));
            }
            let inner = self.pipe()?;
            self.expect("]")?;
            return Ok(Filter::Array(Some(Box::new(inner))));
        }
        if self.sign("{") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(format!("a program may be nested {MAX_DEPTH} deep"));
            }
            let made = self.object()?;
            self.depth -= 1;
            return Ok(made);
        }
        Err(format!("unexpected '{c}'"))
    }

    fn number(&mut self) -> Result<Filter, String> {
        let end = self
            .rest
            .char_indices()
            .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-')))
            .map_or(self.rest.len(), |(at, _)| at);
        let text = &self.rest[..end];
        let value = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float));
        let value = value.map_err(|_| format!("'{text}' is not a number"))?;
        self.rest = &self.rest[end..];
        self.blanks();
        Ok(Filter::Literal(value))
    }

    fn text(&mut self) -> Result<Filter, String> {
        let mut texts = serde_json::Deserializer::from_str(self.rest).into_iter::<String>();
        let text = match texts.next() {
            Some(Ok(text)) => text,
            _ => return Err("a text that starts with '\"' does not end".to_owned()),
        };
        self.rest = &self.rest[texts.byte_offset()..];
        self.blanks();
        Ok(Filter::Literal(text.into()))
    }

    fn call(&mut self) -> Result<Filter, String> {
        let name = self.name();
        match name.as_str() {
            "null" => return Ok(Filter::Literal(Value::Nil)),
            "true" => return Ok(Filter::Literal(Value::Bool(true))),
            "false" => return Ok(Filter::Literal(Value::Bool(false))),
            "if" => return self.choice(),
            _ => {}
        }
        let mut args = Vec::new();
        if self.sign("(") {
            args.push(self.pipe()?);
            while self.sign(";") {
                args.push(self.pipe()?);
            }
            self.expect(")")?;
        }
        if !super::functions::is_known(&name, args.len()) {
            return Err(format!("unknown function {name}/{}", args.len()));
        }
        Ok(Filter::Call(name, args))
    }

    fn choice(&mut self) -> Result<Filter, String> {
        let mut arms = Vec::new();
        loop {
            let condition = self.pipe()?;
            self.expect("then")?;
            arms.push((condition, self.pipe()?));
            if !self.sign("elif") {
                break;
            }
        }
        let otherwise = if self.sign("else") { Some(Box::new(self.pipe()?)) } else { None };
        self.expect("end")?;
        Ok(Filter::If(arms, otherwise))
    }

    fn object(&mut self) -> Result<Filter, String> {
        let mut entries = Vec::new();
        while !self.sign("}") {
            let (key, short) = if self.sign("(") {
                let key = self.pipe()?;
                self.expect(")")?;
                (key, None)
            } else if self.rest.starts_with('"') || self.rest.starts_with(is_name) {
                let key = self.field()?;
                let Filter::Literal(name) = &key else { return Err("expected a key".to_owned()) };
                let short =
                    Filter::Index(Box::new(Filter::Identity), Box::new(Filter::Literal(name.clone())));
                (key, Some(short))
            } else {
                return Err(format!("expected a key before '{}'", first(self.rest)));
            };
            let value = if self.sign(":") { self.level(0)? } else { short.ok_or("expected ':'")? };
            entries.push((key, value));
            if !self.sign(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Filter::Object(entries))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first(rest: &str) -> String {
    rest.chars().next().map_or_else(|| "the end".to_owned(), String::from)
}
