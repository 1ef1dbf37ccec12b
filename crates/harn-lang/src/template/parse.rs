//! From the text of a template to its tree.

use super::expression::{Expr, Reader, Token, tokens};
use super::{MAX_DEPTH, Mistake};

#[derive(Debug)]
pub enum Node<'s> {
    Text(&'s str),
    /// `source` is the tag as it was written.
    Print {
        value: Expr,
        source: &'s str,
    },
    If {
        branches: Vec<(Expr, Vec<Node<'s>>)>,
        otherwise: Vec<Node<'s>>,
    },
    For {
        names: Vec<String>,
        items: Expr,
        body: Vec<Node<'s>>,
        otherwise: Vec<Node<'s>>,
    },
    Include {
        path: Expr,
        with: Vec<(String, Expr)>,
        line: usize,
    },
}

#[derive(Clone, Copy)]
enum Piece<'s> {
    Text(&'s str),
    Tag { inner: &'s str, source: &'s str, line: usize },
}

pub fn parse(source: &str) -> Result<Vec<Node<'_>>, Mistake> {
    let pieces = pieces(source)?;
    let mut parser = Parser { pieces: &pieces, depth: 0, line: 1 };
    let (nodes, end) = parser.block()?;
    match end {
        None => Ok(nodes),
        Some(end) => Err(parser.mistake(format!("'{}' without a block that it belongs to", end.word))),
    }
}

/// Text and tags in turn, blanks cut where a tag asks for it.
fn pieces(source: &str) -> Result<Vec<Piece<'_>>, Mistake> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    let mut trim_start = false;
    loop {
        let (before, tag) = match rest.find("{{") {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        let mut text = before;
        if trim_start {
            text = after_blanks(text);
        }
        line += before.matches('\n').count();
        let Some(tag) = tag else {
            found.push(Piece::Text(text));
            return Ok(found);
        };
        let open = if tag.starts_with("{{-") { 3 } else { 2 };
        if open == 3 {
            text = before_blanks(text);
        }
        found.push(Piece::Text(text));
        let is_comment = tag[open..].starts_with('#');
        let length = if is_comment { comment_length(tag) } else { tag_length(tag, open) };
        let Some(length) = length else {
            return Err(Mistake { line, message: "a tag that starts with {{ does not end".to_owned() });
        };
        let whole = &tag[..length];
        trim_start = whole.ends_with("-}}") && length >= open + 3;
        let inner = &whole[open..length - if trim_start { 3 } else { 2 }];
        rest = &tag[length..];
        let tag_line = line;
        line += whole.matches('\n').count();
        if inner.trim() == "raw" {
            let (raw, after, end_trims) = raw_text(rest, tag_line)?;
            found.push(Piece::Text(if trim_start { after_blanks(raw) } else { raw }));
            line += rest[..rest.len() - after.len()].matches('\n').count();
            rest = after;
            trim_start = end_trims;
        } else if !is_comment {
            found.push(Piece::Tag { inner, source: whole, line: tag_line });
        }
    }
}

fn comment_length(tag: &str) -> Option<usize> {
    let closes = |at: usize| tag[..at].ends_with('#') || tag[..at].ends_with("#-");
    tag.match_indices("}}").find(|(at, _)| closes(*at)).map(|(at, _)| at + 2)
}

/// How far the end of a tag is looked for when there are quotes or braces in it.
const MAX_TAG: usize = 4096;

/// Up to the `}}` that is not within a text or a dict.
fn tag_length(tag: &str, open: usize) -> Option<usize> {
    let mut quote = None;
    let mut braces = 0usize;
    let bytes = &tag.as_bytes()[..tag.len().min(MAX_TAG)];
    let mut at = open;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(q), byte) if q == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'{') => braces += 1,
            (None, b'}') if braces > 0 => braces -= 1,
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at + 2),
            _ => {}
        }
        at += 1;
    }
    // A stray quote, as in plain prose between braces, must not swallow the rest.
    tag[open..].find("}}").map(|at| open + at + 2)
}

fn raw_text(source: &str, line: usize) -> Result<(&str, &str, bool), Mistake> {
    for (start, _) in source.match_indices("{{") {
        let tag = &source[start..];
        let inner = tag[2..].strip_prefix('-').unwrap_or(&tag[2..]);
        if let Some(rest) = inner.trim_start().strip_prefix("endraw") {
            let rest = rest.trim_start();
            let trims = rest.starts_with('-');
            if let Some(after) = rest.strip_prefix('-').unwrap_or(rest).strip_prefix("}}") {
                let raw = &source[..start];
                return Ok((if tag.starts_with("{{-") { before_blanks(raw) } else { raw }, after, trims));
            }
        }
    }
    Err(Mistake { line, message: "'raw' without 'endraw'".to_owned() })
}

/// Without the blanks at the end, and the line end before them.
fn before_blanks(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Without the blanks at the start, and the line end after them.
fn after_blanks(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t']);
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text)
}

struct Parser<'p, 's> {
    pieces: &'p [Piece<'s>],
    depth: usize,
    line: usize,
}

/// The tag that ended a block.
struct End {
    word: &'static str,
    tokens: Vec<Token>,
}

impl<'s> Parser<'_, 's> {
    fn mistake(&self, message: String) -> Mistake {
        Mistake { line: self.line, message }
    }

    fn block(&mut self) -> Result<(Vec<Node<'s>>, Option<End>), Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.mistake(format!("blocks may be nested {MAX_DEPTH} deep")));
        }
        let mut nodes = Vec::new();
        while let [piece, rest @ ..] = self.pieces {
            self.pieces = rest;
            match *piece {
                Piece::Text("") => {}
                Piece::Text(text) => nodes.push(Node::Text(text)),
                Piece::Tag { inner, source, line } => {
                    self.line = line;
                    let tokens = match tokens(inner) {
                        Ok(tokens) => tokens,
                        Err(message) => return Err(self.mistake(message)),
                    };
                    if let Some(word) = ending(&tokens) {
                        self.depth -= 1;
                        return Ok((nodes, Some(End { word, tokens: tokens[1..].to_vec() })));
                    }
                    nodes.push(self.tag(&tokens, source)?);
                }
            }
        }
        self.depth -= 1;
        Ok((nodes, None))
    }

    fn tag(&mut self, tokens: &[Token], source: &'s str) -> Result<Node<'s>, Mistake> {
        let mut reader = Reader::new(tokens);
        let line = self.line;
        if reader.word("if") {
            return self.condition(&mut reader);
        }
        if reader.word("for") {
            return self.repetition(&mut reader);
        }
        let mut reader = Reader::new(tokens);
        let node = if matches!(tokens, [Token::Name(word), Token::Str(_) | Token::Name(_), ..] if word == "include")
        {
            reader.word("include");
            inclusion(&mut reader, line)
        } else {
            reader.expression().map(|value| Node::Print { value, source })
        };
        let node = node.and_then(|node| reader.finish().map(|()| node));
        node.map_err(|message| self.mistake(message))
    }

    fn condition(&mut self, reader: &mut Reader<'_>) -> Result<Node<'s>, Mistake> {
        let mut branches = Vec::new();
        let mut test = self.test("if", reader)?;
        loop {
            let (body, end) = self.block()?;
            branches.push((test, body));
            match end {
                Some(End { word: "elif", tokens }) => test = self.test("elif", &mut Reader::new(&tokens))?,
                Some(End { word: "else", tokens }) if tokens.is_empty() => {
                    let otherwise = self.last_block("if")?;
                    return Ok(Node::If { branches, otherwise });
                }
                // `else if` reads as `elif`.
                Some(End { word: "else", tokens }) => {
                    let mut reader = Reader::new(&tokens);
                    if !reader.word("if") {
                        return Err(self.mistake("unexpected words after 'else'".to_owned()));
                    }
                    test = self.test("else if", &mut reader)?;
                }
                Some(_) => return Ok(Node::If { branches, otherwise: Vec::new() }),
                None => return Err(self.mistake("'if' without 'end'".to_owned())),
            }
        }
    }

    fn repetition(&mut self, reader: &mut Reader<'_>) -> Result<Node<'s>, Mistake> {
        if reader.is_done() {
            return Err(self.mistake("'for' needs a name and what it goes through".to_owned()));
        }
        let head = |reader: &mut Reader<'_>| {
            let mut names = vec![reader.name()?];
            if reader.sign(",") {
                names.push(reader.name()?);
            }
            if !reader.word("in") {
                return Err("expected 'in' after the names of 'for'".to_owned());
            }
            Ok(names)
        };
        let names = head(reader).map_err(|message| self.mistake(message))?;
        let items = self.whole(reader)?;
        let (body, end) = self.block()?;
        let otherwise = match end {
            Some(End { word: "else", .. }) => self.last_block("for")?,
            Some(End { word: "end", .. }) => Vec::new(),
            _ => return Err(self.mistake("'for' without 'end'".to_owned())),
        };
        Ok(Node::For { names, items, body, otherwise })
    }

    fn last_block(&mut self, opened_by: &str) -> Result<Vec<Node<'s>>, Mistake> {
        match self.block()? {
            (nodes, Some(End { word: "end", .. })) => Ok(nodes),
            _ => Err(self.mistake(format!("'{opened_by}' without 'end'"))),
        }
    }

    fn test(&self, word: &str, reader: &mut Reader<'_>) -> Result<Expr, Mistake> {
        if reader.is_done() {
            return Err(self.mistake(format!("'{word}' needs a condition")));
        }
        self.whole(reader)
    }

    fn whole(&self, reader: &mut Reader<'_>) -> Result<Expr, Mistake> {
        let value = reader.expression().and_then(|value| reader.finish().map(|()| value));
        value.map_err(|message| self.mistake(message))
    }
}

fn ending(tokens: &[Token]) -> Option<&'static str> {
    let [Token::Name(word), rest @ ..] = tokens else { return None };
    match (word.as_str(), rest) {
        ("end" | "endif" | "endfor", []) => Some("end"),
        ("else", []) => Some("else"),
        ("else", [Token::Name(next), ..]) if next == "if" => Some("else"),
        ("elif", _) => Some("elif"),
        _ => None,
    }
}

fn inclusion<'s>(reader: &mut Reader<'_>, line: usize) -> Result<Node<'s>, String> {
    let path = reader.expression()?;
    let mut with = Vec::new();
    if reader.word("with") {
        reader.expect("{")?;
        while !reader.sign("}") {
            let name = reader.name()?;
            let value =
                if reader.sign(":") { reader.expression()? } else { Expr::Path(name.clone(), Vec::new()) };
            with.push((name, value));
            if !reader.sign(",") {
                reader.expect("}")?;
                break;
            }
        }
    }
    Ok(Node::Include { path, with, line })
}
