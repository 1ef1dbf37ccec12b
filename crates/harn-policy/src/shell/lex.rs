//! The lexical half of the reader: blanks, quotes, expansions, and words.

use super::parse::{Parser, Read};
use super::word::{Draft, Word};

/// Characters that end a word unless they are quoted.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Whether single quotes quote: they do not inside of double quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    DoubleQuotes,
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.source.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.source.get(self.at..)?.chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Blanks, continued lines, and a comment.
    pub(super) fn skip_blanks(&mut self) {
        let from = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) || self.starts_with("\\\n") {
            self.at += if self.peek() == Some(b'\\') { 2 } else { 1 };
        }
        let at_word_start = self.at > from || from == 0 || ends_word(self.source.as_bytes()[from - 1]);
        if at_word_start && self.peek() == Some(b'#') {
            let rest = &self.source.as_bytes()[self.at..];
            self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        }
    }

    /// One word as it is written, and what brace expansion makes of it.
    pub(super) fn word(&mut self) -> Read<Vec<Word>> {
        let mut draft = Draft::default();
        let from = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.source.as_bytes().get(self.at + 1) == Some(&b'(') => {
                    self.at += 2;
                    // What stands in `>(…)` reads what is written there.
                    let piped = self.piped;
                    self.piped |= byte == b'>';
                    self.substitution(")")?;
                    self.piped = piped;
                    draft.unknown();
                }
                _ if ends_word(byte) => break,
                _ => self.piece(&mut draft, byte)?,
            }
        }
        if self.at == from { self.fail("a word was expected here") } else { Ok(draft.finish()) }
    }

    /// A word between `[[` and `]]`. A shell without `[[` takes operators for its own, so none may stand there but
    /// `&&` and `||` before something that is surely no program.
    pub(super) fn test_word(&mut self) -> Read<Word> {
        if self.eat("&&") || self.eat("||") {
            let joint = self.source[self.at - 2..self.at].to_owned();
            self.skip_blanks();
            let mut next = &self.source.as_bytes()[self.at..];
            while let Some(rest) = next.strip_prefix(b"! ") {
                next = rest;
            }
            let harmless = next.first() == Some(&b'-');
            return if harmless { Ok(Word::literal(&joint)) } else { self.fail("a command inside of `[[`") };
        }
        let mut draft = Draft::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' => break,
                _ if ends_word(byte) => return self.fail("an operator or a line end inside of `[[`"),
                _ => self.piece(&mut draft, byte)?,
            }
        }
        Ok(draft.word)
    }

    fn piece(&mut self, draft: &mut Draft, byte: u8) -> Read<()> {
        match byte {
            b'\'' => self.single_quoted(draft),
            b'"' => {
                self.at += 1;
                draft.word.quoted = true;
                self.double_quoted(draft)
            }
            b'\\' => {
                self.at += 1;
                match self.next_char() {
                    Some('\n') => {}
                    Some(c) => {
                        draft.word.quoted = true;
                        draft.push(c);
                    }
                    None => return self.fail("a backslash at the end"),
                }
                Ok(())
            }
            b'$' => self.dollar(draft, Inside::Nothing),
            b'`' => self.backticks(draft),
            _ => {
                if let Some(c) = self.next_char() {
                    draft.push_unquoted(c);
                }
                Ok(())
            }
        }
    }

    fn single_quoted(&mut self, draft: &mut Draft) -> Read<()> {
        let rest = &self.source[self.at + 1..];
        let Some(length) = rest.find('\'') else { return self.fail("a quote that is not closed") };
        draft.word.quoted = true;
        rest[..length].chars().for_each(|c| draft.push(c));
        self.at += length + 2;
        Ok(())
    }

    fn double_quoted(&mut self, draft: &mut Draft) -> Read<()> {
        loop {
            match self.peek() {
                None => return self.fail("a double quote that is not closed"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(byte) => self.expanding(draft, byte)?,
            }
        }
    }

    /// The rest of the text as the body of a heredoc: expansions happen, quotes mean nothing.
    pub(super) fn expanding_to_end(&mut self) -> Read<Word> {
        let mut draft = Draft::default();
        while let Some(byte) = self.peek() {
            self.expanding(&mut draft, byte)?;
        }
        Ok(draft.word)
    }

    fn expanding(&mut self, draft: &mut Draft, byte: u8) -> Read<()> {
        match byte {
            b'\\' => {
                self.at += 1;
                match self.next_char() {
                    Some(c @ ('$' | '`' | '"' | '\\')) => draft.push(c),
                    Some('\n') => {}
                    Some(c) => {
                        draft.push('\\');
                        draft.push(c);
                    }
                    None => draft.push('\\'),
                }
                Ok(())
            }
            b'$' => self.dollar(draft, Inside::DoubleQuotes),
            b'`' => self.backticks(draft),
            _ => {
                if let Some(c) = self.next_char() {
                    draft.push(c);
                }
                Ok(())
            }
        }
    }

    fn dollar(&mut self, draft: &mut Draft, inside: Inside) -> Read<()> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.starts_with("((") => {
                self.at += 2;
                draft.unknown();
                self.arithmetic()
            }
            Some(b'(') => {
                self.at += 1;
                draft.unknown();
                self.substitution(")")
            }
            Some(b'{') => {
                self.at += 1;
                self.braced(draft, inside)
            }
            Some(b'\'') if inside == Inside::Nothing => self.ansi_quoted(draft),
            Some(b'"') if inside == Inside::Nothing => {
                self.at += 1;
                draft.word.quoted = true;
                self.double_quoted(draft)
            }
            Some(b'[') => self.fail("`$[`, an old form of arithmetic"),
            // Numbers that the shell itself makes: nothing can be hidden in them.
            Some(byte @ (b'?' | b'#' | b'$' | b'!')) => {
                self.at += 1;
                draft.push('$');
                draft.push(byte as char);
                Ok(())
            }
            Some(b'@' | b'*' | b'-' | b'0'..=b'9') => {
                self.at += 1;
                draft.unknown();
                Ok(())
            }
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                let name = self.name();
                variable(draft, &name);
                Ok(())
            }
            _ => {
                draft.push('$');
                Ok(())
            }
        }
    }

    pub(super) fn name(&mut self) -> String {
        let rest = &self.source.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
        let name = self.source[self.at..self.at + length].to_owned();
        self.at += length;
        name
    }

    /// `${…}`, after the brace. Commands inside are read, the value is not known.
    fn braced(&mut self, draft: &mut Draft, inside: Inside) -> Read<()> {
        let from = self.at;
        let name = self.name();
        if !name.is_empty() && self.eat("}") {
            variable(draft, &name);
            return Ok(());
        }
        self.at = from;
        draft.unknown();
        self.nested(|parser| {
            let mut hidden = Draft::default();
            loop {
                match parser.peek() {
                    None => return parser.fail("`${` that is not closed"),
                    Some(b'}') => {
                        parser.at += 1;
                        return Ok(());
                    }
                    // Inside of double quotes a single quote may or may not quote: shells differ.
                    Some(b'\'') => return parser.fail("a quote inside of `${`"),
                    Some(b'$') if parser.starts_with("$'") || parser.starts_with("$\"") => {
                        return parser.fail("a quote inside of `${`");
                    }
                    Some(b'"') if inside == Inside::DoubleQuotes => {
                        return parser.fail("a quote inside of `${`");
                    }
                    Some(byte) => parser.piece(&mut hidden, byte)?,
                }
            }
        })
    }

    fn backticks(&mut self, draft: &mut Draft) -> Read<()> {
        self.at += 1;
        draft.unknown();
        let from = self.at;
        let mut inner = String::new();
        loop {
            match self.next_char() {
                None => return self.fail("a backtick that is not closed"),
                Some('`') => break,
                Some('\\') => match self.next_char() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => {
                        inner.push('\\');
                        inner.push(c);
                    }
                    None => return self.fail("a backtick that is not closed"),
                },
                Some(c) => inner.push(c),
            }
        }
        self.nested(|parser| {
            parser.separate(&inner, from, |inside| {
                inside.substituted = true;
                inside.script()
            })
        })
    }

    fn ansi_quoted(&mut self, draft: &mut Draft) -> Read<()> {
        self.at += 1;
        draft.word.quoted = true;
        loop {
            match self.next_char() {
                None => return self.fail("a quote that is not closed"),
                Some('\'') => return Ok(()),
                // A shell that does not know `$'` ends the quote here.
                Some('\\') if self.peek() == Some(b'\'') => {
                    return self.fail("an escaped quote in `$'…'`");
                }
                Some('\\') => self.ansi_escape(draft)?,
                Some(c) => draft.push(c),
            }
        }
    }

    fn ansi_escape(&mut self, draft: &mut Draft) -> Read<()> {
        let Some(c) = self.next_char() else { return self.fail("a quote that is not closed") };
        let code = match c {
            'n' => 0x0a,
            't' => 0x09,
            'r' => 0x0d,
            'a' => 0x07,
            'b' => 0x08,
            'e' | 'E' => 0x1b,
            'f' => 0x0c,
            'v' => 0x0b,
            'x' => self.digits(16, 2),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            '\\' | '"' | '?' => c as u32,
            _ => return self.fail("an escape that is not known in `$'…'`"),
        };
        // Bytes above 0x7f make characters only together with their neighbours.
        match char::from_u32(code) {
            Some(made) if code != 0 && (code < 0x80 || matches!(c, 'u' | 'U')) => draft.push(made),
            _ => draft.unknown(),
        }
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> u32 {
        let mut value = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|byte| (byte as char).to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        value
    }

    /// `$((…))` or `((…))`, after the parentheses. Only the commands inside matter.
    pub(super) fn arithmetic(&mut self) -> Read<()> {
        self.nested(|parser| {
            let mut depth = 0_u32;
            let mut hidden = Draft::default();
            loop {
                match parser.peek() {
                    None => return parser.fail("arithmetic that is not closed"),
                    Some(b'(') => {
                        depth += 1;
                        parser.at += 1;
                    }
                    Some(b')') if depth > 0 => {
                        depth -= 1;
                        parser.at += 1;
                    }
                    Some(b')') if parser.eat("))") => return Ok(()),
                    Some(b')') => return parser.fail("`((` that may be arithmetic or a subshell"),
                    Some(b'\'') => return parser.fail("a quote inside of arithmetic"),
                    Some(byte) => parser.piece(&mut hidden, byte)?,
                }
            }
        })
    }
}

fn variable(draft: &mut Draft, name: &str) {
    if name == "HOME" {
        draft.word.dynamic = true;
        "$HOME".chars().for_each(|c| draft.push(c));
    } else {
        draft.unknown();
    }
}
