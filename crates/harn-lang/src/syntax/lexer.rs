//! From characters to tokens. Never fails: what it cannot read becomes an error and a `Bad` token.

use super::diagnostic::{Comment, CommentKind, MAX_ERRORS, Problem};
use super::span::Span;
use super::token::{Keyword, Sign, Token, TokenKind};

/// What a range of a source consists of. The last token is always `End`.
pub(crate) struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub(super) problems: Vec<Problem>,
}

pub(crate) fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer::new(source, 0, source.len());
    lexer.tokens.reserve(source.len() / 5);
    lexer.skip_start();
    lexer.run();
    lexer.lexed
}

/// The tokens of an interpolation; their places are those in the whole source. One problem is enough: what does not
/// parse is text.
pub(super) fn lex_range(source: &str, range: Span) -> Lexed {
    let mut lexer = Lexer::new(source, range.start as usize, range.end as usize);
    lexer.max_problems = 1;
    lexer.run();
    lexer.lexed
}

/// Where the `}` is that closes an interpolation whose text begins at `from`. Only braces count.
pub(super) fn interpolation_end(text: &[u8], from: usize) -> Option<usize> {
    let mut open = 1usize;
    for (at, byte) in text.iter().enumerate().skip(from) {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => continue,
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

const LONGEST_KEYWORD: usize = "eval_pack".len();

struct Lexer<'a> {
    source: &'a str,
    /// The source up to where this lexer may read.
    bytes: &'a [u8],
    at: usize,
    max_problems: usize,
    lexed: Lexed,
}

impl std::ops::Deref for Lexer<'_> {
    type Target = Lexed;
    fn deref(&self) -> &Lexed {
        &self.lexed
    }
}

impl std::ops::DerefMut for Lexer<'_> {
    fn deref_mut(&mut self) -> &mut Lexed {
        &mut self.lexed
    }
}

impl<'a> Lexer<'a> {
    fn new(source: &'a str, start: usize, end: usize) -> Self {
        let lexed = Lexed { tokens: Vec::new(), comments: Vec::new(), problems: Vec::new() };
        Self { source, bytes: &source.as_bytes()[..end], at: start, max_problems: MAX_ERRORS, lexed }
    }

    /// A byte order mark and a `#!` line, which mean something only at the very beginning.
    fn skip_start(&mut self) {
        if self.source.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        if self.bytes[self.at..].starts_with(b"#!") {
            self.line_comment(CommentKind::Line);
        }
    }

    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).copied() {
            if self.problems.len() >= self.max_problems {
                break;
            }
            self.step(byte);
        }
        let end = offset(self.bytes.len());
        self.tokens.push(Token { kind: TokenKind::End, has_arrow: false, span: Span::new(end, end) });
    }

    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' => self.at += 1,
            b'\n' => self.newline(),
            b'\\' if self.continuation() > 0 => self.at += self.continuation(),
            b'/' if self.peek(1) == Some(b'/') => {
                let is_doc = self.peek(2) == Some(b'/') && self.peek(3) != Some(b'/');
                self.line_comment(if is_doc { CommentKind::Doc } else { CommentKind::Line });
            }
            b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
            b'r' if self.peek(1) == Some(b'"') => self.raw_string(),
            b'"' if self.bytes[self.at..].starts_with(b"\"\"\"") => self.triple_string(),
            b'"' => self.string(),
            b'0'..=b'9' => self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => self.word(),
            _ => self.sign(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        let span = Span::new(offset(self.at), offset(end));
        self.tokens.push(Token { kind, has_arrow: false, span });
        self.at = end;
    }

    fn newline(&mut self) {
        if self.tokens.last().is_some_and(|token| token.kind == TokenKind::Newline) {
            self.at += 1;
        } else {
            self.push(TokenKind::Newline, self.at + 1);
        }
    }

    /// The length of a `\` and the end of the line right behind it.
    fn continuation(&self) -> usize {
        match (self.peek(1), self.peek(2)) {
            (Some(b'\n'), _) => 2,
            (Some(b'\r'), Some(b'\n')) => 3,
            _ => 0,
        }
    }

    fn line_end(&self) -> usize {
        self.bytes[self.at..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(self.bytes.len(), |length| self.at + length)
    }

    fn line_comment(&mut self, kind: CommentKind) {
        let end = self.line_end();
        self.comment(kind, end);
    }

    fn comment(&mut self, kind: CommentKind, end: usize) {
        let span = Span::new(offset(self.at), offset(end));
        self.comments.push(Comment { span, kind });
        self.at = end;
    }

    /// Block comments nest; counting needs no recursion.
    fn block_comment(&mut self) {
        let mut open = 0usize;
        let mut at = self.at;
        while at + 1 < self.bytes.len() {
            match (self.bytes[at], self.bytes[at + 1]) {
                (b'/', b'*') => {
                    open += 1;
                    at += 2;
                }
                (b'*', b'/') => {
                    open -= 1;
                    at += 2;
                    if open == 0 {
                        let is_doc = self.peek(2) == Some(b'*') && !matches!(self.peek(3), Some(b'/' | b'*'));
                        return self
                            .comment(if is_doc { CommentKind::BlockDoc } else { CommentKind::Block }, at);
                    }
                }
                _ => at += 1,
            }
        }
        self.problem("Unterminated block comment", self.at + 2);
        self.at = self.bytes.len();
    }

    fn raw_string(&mut self) {
        let inside = self.at + 2;
        match self.bytes[inside..].iter().position(|byte| matches!(byte, b'"' | b'\n')) {
            Some(length) if self.bytes[inside + length] == b'"' => {
                self.push(TokenKind::RawStr, inside + length + 1)
            }
            _ => self.unterminated(),
        }
    }

    fn triple_string(&mut self) {
        let mut at = self.at + 3;
        // After one that is never closed the rest is text, or else each `${` would be searched to the end.
        let mut closes = true;
        while at < self.bytes.len() {
            if self.bytes[at..].starts_with(b"\"\"\"") {
                return self.push(TokenKind::TripleStr, at + 3);
            }
            at += 1;
            if closes && self.bytes[at - 1..].starts_with(b"${") {
                match interpolation_end(self.bytes, at + 1) {
                    Some(end) => at = end + 1,
                    None => closes = false,
                }
            }
        }
        self.problem("Unterminated string", self.at + 3);
        self.push(TokenKind::Bad, self.bytes.len());
    }

    fn string(&mut self) {
        let mut at = self.at + 1;
        loop {
            match self.bytes.get(at) {
                Some(b'"') => return self.push(TokenKind::Str, at + 1),
                None | Some(b'\n') => return self.unterminated(),
                Some(b'\\') if self.bytes.get(at + 1).is_some_and(|next| *next != b'\n') => at += 2,
                Some(b'$') if self.bytes.get(at + 1) == Some(&b'{') => {
                    match interpolation_end(self.bytes, at + 2) {
                        Some(end) => at = end + 1,
                        None => return self.unterminated(),
                    }
                }
                Some(_) => at += 1,
            }
        }
    }

    /// Goes on with the next line, so that one forgotten quote does not hide the rest of the file.
    fn unterminated(&mut self) {
        let end = self.line_end();
        self.problem("Unterminated string", end);
        self.push(TokenKind::Bad, end);
    }

    fn problem(&mut self, text: &str, end: usize) {
        let span = Span::new(offset(self.at), offset(end));
        self.problems.push(Problem::at(text, span));
    }

    fn number(&mut self) {
        let digits = |from: usize| self.bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = self.at + digits(self.at);
        if self.bytes.get(whole) == Some(&b'.') {
            let fraction = digits(whole + 1);
            if fraction > 0 {
                return self.push(TokenKind::Float, whole + 1 + fraction);
            }
        }
        match self.duration_unit(whole) {
            0 => self.push(TokenKind::Int, whole),
            unit => self.push(TokenKind::Duration, whole + unit),
        }
    }

    /// The length of the unit at a place, 0 if there is none. `ms` may be followed by anything, the others not by
    /// what would make them a longer word.
    fn duration_unit(&self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        if rest.starts_with(b"ms") {
            return 2;
        }
        let is_unit = matches!(rest.first(), Some(b's' | b'm' | b'h' | b'd' | b'w'));
        let goes_on = self.char_at(at + 1).is_some_and(continues_word);
        usize::from(is_unit && !goes_on)
    }

    fn char_at(&self, at: usize) -> Option<char> {
        match self.bytes.get(at)? {
            byte @ 0..0x80 => Some(char::from(*byte)),
            _ => self.source.get(at..self.bytes.len())?.chars().next(),
        }
    }

    fn word(&mut self) {
        let mut end = self.at;
        while let Some(c) = self.char_at(end) {
            let belongs = if end == self.at { c.is_alphabetic() || c == '_' } else { continues_word(c) };
            if !belongs {
                break;
            }
            end += c.len_utf8();
        }
        if end == self.at {
            return self.unexpected();
        }
        let may_be_keyword = end - self.at <= LONGEST_KEYWORD && self.bytes[self.at].is_ascii_lowercase();
        let keyword = may_be_keyword.then(|| Keyword::from_text(&self.source[self.at..end])).flatten();
        self.push(keyword.map_or(TokenKind::Ident, TokenKind::Keyword), end);
    }

    fn sign(&mut self) {
        match sign_at(&self.bytes[self.at..]) {
            Some(sign) => self.push(TokenKind::Sign(sign), self.at + sign.as_str().len()),
            None => self.unexpected(),
        }
    }

    fn unexpected(&mut self) {
        let Some(c) = self.char_at(self.at) else {
            self.at += 1;
            return;
        };
        let end = self.at + c.len_utf8();
        self.problem(&format!("Unexpected character '{c}'"), end);
        self.push(TokenKind::Bad, end);
    }
}

/// The longest sign that a text starts with.
fn sign_at(text: &[u8]) -> Option<Sign> {
    let first = *text.first()?;
    let next = text.get(1).copied().unwrap_or(0);
    Some(match (first, next) {
        (b'-', b'>') => Sign::Arrow,
        (b'|', b'>') => Sign::PipeTo,
        (b'=', b'=') => Sign::EqualEqual,
        (b'!', b'=') => Sign::NotEqual,
        (b'&', b'&') => Sign::AndAnd,
        (b'|', b'|') => Sign::OrOr,
        (b'?', b'?') => Sign::Coalesce,
        (b'*', b'*') => Sign::StarStar,
        (b'?', b'.') => Sign::QuestionDot,
        (b'<', b'=') => Sign::LessEqual,
        (b'>', b'=') => Sign::GreaterEqual,
        (b'+', b'=') => Sign::PlusEqual,
        (b'-', b'=') => Sign::MinusEqual,
        (b'*', b'=') => Sign::StarEqual,
        (b'/', b'=') => Sign::SlashEqual,
        (b'%', b'=') => Sign::PercentEqual,
        (b'.', b'.') if text.get(2) == Some(&b'.') => Sign::Ellipsis,
        _ => return single_sign(first),
    })
}

fn single_sign(byte: u8) -> Option<Sign> {
    Some(match byte {
        b'{' => Sign::OpenBrace,
        b'}' => Sign::CloseBrace,
        b'(' => Sign::OpenParen,
        b')' => Sign::CloseParen,
        b'[' => Sign::OpenBracket,
        b']' => Sign::CloseBracket,
        b',' => Sign::Comma,
        b':' => Sign::Colon,
        b';' => Sign::Semicolon,
        b'.' => Sign::Dot,
        b'=' => Sign::Equal,
        b'!' => Sign::Not,
        b'+' => Sign::Plus,
        b'-' => Sign::Minus,
        b'*' => Sign::Star,
        b'/' => Sign::Slash,
        b'%' => Sign::Percent,
        b'<' => Sign::Less,
        b'>' => Sign::Greater,
        b'?' => Sign::Question,
        b'|' => Sign::Bar,
        b'@' => Sign::At,
        _ => return None,
    })
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Sources longer than a `u32` are refused before they get here.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
