//! The grammatical half of the reader: lists, pipelines, compound and simple commands, redirects, heredocs.

use super::word::Word;
use super::{Assignment, Heredoc, MAX_COMMANDS, MAX_DEPTH, Redirect, RedirectKind, Script, Simple, Unparsed};

pub(super) type Read<T> = Result<T, Unparsed>;

/// A heredoc whose text begins after the next line end.
struct Pending {
    index: usize,
    delimiter: String,
    strip_tabs: bool,
    literal: bool,
}

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) at: usize,
    pub(super) script: &'a mut Script,
    depth: u32,
    /// Added to offsets, for text that was taken out of another.
    base: usize,
    pub(super) piped: bool,
    pub(super) substituted: bool,
    pub(super) within: Option<usize>,
    pending: Vec<Pending>,
    /// Heredocs of an enclosing command wait: a line end here would begin their text.
    outer_pending: bool,
}

const TERMINATORS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a str, script: &'a mut Script) -> Self {
        Self {
            source,
            at: 0,
            script,
            depth: 0,
            base: 0,
            piped: false,
            substituted: false,
            within: None,
            pending: Vec::new(),
            outer_pending: false,
        }
    }

    pub(super) fn fail<T>(&self, why: &'static str) -> Read<T> {
        Err(Unparsed { at: self.base + self.at, why })
    }

    /// Everything to the end.
    pub(super) fn script(&mut self) -> Read<()> {
        self.list()?;
        if self.at < self.source.len() {
            return self.fail("this does not belong here");
        }
        self.read_heredocs()
    }

    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return self.fail("it is nested too deeply");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads another text into the same script.
    pub(super) fn separate<T>(
        &mut self,
        text: &str,
        base: usize,
        read: impl FnOnce(&mut Parser<'_>) -> Read<T>,
    ) -> Read<T> {
        let mut inner = Parser::new(text, self.script);
        inner.depth = self.depth;
        inner.base = base;
        inner.within = self.within;
        inner.piped = self.piped;
        inner.substituted = self.substituted;
        read(&mut inner)
    }

    /// A command substitution, after its opening.
    pub(super) fn substitution(&mut self, close: &str) -> Read<()> {
        let pending = std::mem::take(&mut self.pending);
        let outer = self.outer_pending;
        self.outer_pending |= !pending.is_empty();
        let substituted = std::mem::replace(&mut self.substituted, true);
        self.nested(|parser| {
            parser.list()?;
            if parser.eat(close) { Ok(()) } else { parser.fail("a substitution that is not closed") }
        })?;
        if !self.pending.is_empty() {
            return self.fail("a heredoc whose text is missing");
        }
        self.pending = pending;
        self.substituted = substituted;
        self.outer_pending = outer;
        Ok(())
    }

    pub(super) fn skip_lines(&mut self) -> Read<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.line_end()?;
        }
    }

    fn line_end(&mut self) -> Read<()> {
        if self.outer_pending {
            return self.fail("a line end between a heredoc and its text");
        }
        self.at += 1;
        self.read_heredocs()
    }

    fn read_heredocs(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.pending) {
            let from = self.at;
            let mut text = String::new();
            let mut continued: Option<String> = None;
            loop {
                if self.at >= self.source.len() {
                    return self.fail("a heredoc that does not end");
                }
                let rest = &self.source[self.at..];
                let length = rest.find('\n').unwrap_or(rest.len());
                let line = &rest[..length];
                let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
                self.at = (self.at + length + 1).min(self.source.len());
                // Shells differ in whether they join continued lines before they look for the end.
                let joined = continued.take().map(|before| before + line);
                let ends = |text: &String| line == pending.delimiter || *text == pending.delimiter;
                if joined.as_ref().is_some_and(ends) {
                    return self.fail("a heredoc with a continued line at its end");
                }
                if line == pending.delimiter {
                    break;
                }
                let backslashes = line.len() - line.trim_end_matches('\\').len();
                if !pending.literal && backslashes % 2 == 1 {
                    let mut kept = joined.unwrap_or_else(|| line.to_owned());
                    kept.pop();
                    // Longer than the end word it cannot become it any more.
                    continued = Some(kept).filter(|kept| kept.len() <= pending.delimiter.len());
                    continued.get_or_insert_with(|| "\n".to_owned());
                }
                text.push_str(line);
                text.push('\n');
            }
            let dynamic = !pending.literal && {
                self.nested(|parser| parser.separate(&text, from, |body| body.expanding_to_end()))?.dynamic
            };
            self.script.heredocs[pending.index] = Heredoc { text, dynamic };
        }
        Ok(())
    }

    /// Commands up to something that only the caller understands.
    pub(super) fn list(&mut self) -> Read<()> {
        loop {
            self.skip_lines()?;
            if self.at_list_end() {
                return Ok(());
            }
            let first = self.script.commands.len();
            self.and_or()?;
            self.skip_blanks();
            match self.peek() {
                None | Some(b')') => return Ok(()),
                Some(b'\n') => {}
                Some(b';') if self.starts_with(";;") || self.starts_with(";&") => return Ok(()),
                Some(b';') => self.at += 1,
                Some(b'&') => {
                    self.at += 1;
                    self.script.commands[first..].iter_mut().for_each(|command| command.background = true);
                }
                Some(_) => return self.fail("this does not belong here"),
            }
        }
    }

    fn at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.starts_with(";;") || self.starts_with(";&"),
            _ => TERMINATORS.contains(&self.keyword()),
        }
    }

    /// The unquoted word that begins here, for comparing with reserved words.
    pub(super) fn keyword(&self) -> &'a str {
        let rest = &self.source[self.at..];
        let plain = |c: char| c.is_ascii_alphabetic() || "{}[]!".contains(c);
        let length = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        let ended = rest[length..].chars().next().is_none_or(|c| " \t\n;&|<>()".contains(c));
        if ended { &rest[..length] } else { "" }
    }

    pub(super) fn expect(&mut self, keyword: &str, why: &'static str) -> Read<()> {
        self.skip_lines()?;
        if self.keyword() == keyword {
            self.at += keyword.len();
            Ok(())
        } else {
            self.fail(why)
        }
    }

    fn and_or(&mut self) -> Read<()> {
        loop {
            self.pipeline()?;
            self.skip_blanks();
            if !self.eat("&&") && !self.eat("||") {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    fn pipeline(&mut self) -> Read<()> {
        let piped = self.piped;
        self.skip_blanks();
        while self.keyword() == "!" {
            self.at += 1;
            self.skip_blanks();
        }
        loop {
            self.command()?;
            self.skip_blanks();
            if self.starts_with("||") || !self.eat("|") {
                break;
            }
            self.eat("&");
            self.piped = true;
            self.skip_lines()?;
        }
        self.piped = piped;
        Ok(())
    }

    pub(super) fn command(&mut self) -> Read<()> {
        if self.script.commands.len() >= MAX_COMMANDS {
            return self.fail("it has too many commands");
        }
        if self.eat("((") {
            self.doubled_parentheses()?;
            return self.trailing_redirects();
        }
        if self.eat("(") {
            self.nested(|parser| {
                parser.list()?;
                if parser.eat(")") { Ok(()) } else { parser.fail("`(` that is not closed") }
            })?;
            return self.trailing_redirects();
        }
        let keyword = self.keyword();
        let compound = ["{", "if", "while", "until", "for", "select", "case", "function", "[[", "coproc"];
        if !compound.contains(&keyword) {
            return self.simple();
        }
        self.at += keyword.len();
        self.nested(|parser| parser.compound(keyword))?;
        self.trailing_redirects()
    }

    /// Arithmetic for one shell, a subshell within a subshell for another: read in both ways.
    fn doubled_parentheses(&mut self) -> Read<()> {
        let from = self.at;
        self.arithmetic()?;
        let inside = &self.source[from..self.at - 2];
        self.nested(|parser| parser.separate(inside, from, |inner| inner.script()))
    }

    pub(super) fn trailing_redirects(&mut self) -> Read<()> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(more) => redirects.extend(more),
                None => break,
            }
        }
        if !redirects.is_empty() {
            self.emit(Simple { redirects, ..Simple::default() });
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, mut command: Simple) {
        command.piped = self.piped;
        command.substituted = self.substituted;
        command.within = self.within;
        self.script.commands.push(command);
    }

    fn simple(&mut self) -> Read<()> {
        let mut command = Simple::default();
        let from = self.at;
        let mut both_outputs = false;
        loop {
            self.skip_blanks();
            both_outputs |= self.starts_with("&>");
            if let Some(more) = self.redirect()? {
                command.redirects.extend(more);
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'(') => return self.function_definition(&command),
                Some(_) if both_outputs => {
                    return self.fail("a word after `&>`, where another shell begins a command");
                }
                Some(_) => {}
            }
            if command.words.is_empty() && self.assignment(&mut command)? {
                continue;
            }
            command.words.extend(self.word()?);
        }
        if self.at == from {
            return self.fail("a command was expected here");
        }
        self.emit(command);
        Ok(())
    }

    fn function_definition(&mut self, command: &Simple) -> Read<()> {
        let [name] = command.words.as_slice() else { return self.fail("`(` does not belong here") };
        if !name.is_literal()
            || name.quoted
            || !command.assignments.is_empty()
            || !command.redirects.is_empty()
        {
            return self.fail("`(` does not belong here");
        }
        self.at += 1;
        self.skip_blanks();
        if !self.eat(")") {
            return self.fail("`(` does not belong here");
        }
        self.function_body(name.text.clone())
    }

    fn assignment(&mut self, command: &mut Simple) -> Read<bool> {
        let from = self.at;
        if self.peek().is_none_or(|byte| byte.is_ascii_digit()) {
            return Ok(false);
        }
        let name = self.name();
        if !name.is_empty() && self.peek() == Some(b'[') {
            let rest = &self.source.as_bytes()[self.at..];
            let index = rest.iter().take_while(|byte| !b"]\n$`'\" ".contains(byte)).count();
            if rest.get(index) == Some(&b']') {
                self.at += index + 1;
            }
        }
        let assigns = !name.is_empty() && (self.eat("+=") || self.eat("="));
        if !assigns {
            self.at = from;
            return Ok(false);
        }
        let value = if self.eat("(") { self.array()? } else { self.assigned_value()? };
        command.assignments.push(Assignment { name, value });
        Ok(true)
    }

    fn assigned_value(&mut self) -> Read<Word> {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => Ok(Word::default()),
            Some(b'<' | b'>') if !self.starts_with("<(") && !self.starts_with(">(") => Ok(Word::default()),
            // Braces are not expanded here, and nothing depends on them.
            Some(_) => Ok(self.word()?.pop().unwrap_or_default()),
        }
    }

    fn array(&mut self) -> Read<Word> {
        loop {
            self.skip_lines()?;
            match self.peek() {
                None => return self.fail("a list that is not closed"),
                Some(b')') => {
                    self.at += 1;
                    return Ok(Word { text: super::UNKNOWN.into(), dynamic: true, ..Word::default() });
                }
                Some(_) => self.word()?,
            };
        }
    }

    /// One redirect, if one begins here; several when its target has braces.
    fn redirect(&mut self) -> Read<Option<Vec<Redirect>>> {
        let from = self.at;
        let digits =
            self.source.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        let process = self.starts_with("<(") || self.starts_with(">(");
        let operators = ["<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">"];
        let found = operators.iter().find(|operator| self.starts_with(operator));
        let Some(operator) = found.filter(|operator| !process && (digits == 0 || !operator.starts_with('&')))
        else {
            self.at = from;
            return Ok(None);
        };
        self.at += operator.len();
        self.skip_blanks();
        if *operator == "<<" || *operator == "<<-" {
            return self.heredoc(*operator == "<<-").map(|redirect| Some(vec![redirect]));
        }
        let targets = self.word()?;
        let kind = match *operator {
            "<<<" => RedirectKind::HereString,
            "<" => RedirectKind::Read,
            _ => RedirectKind::Write,
        };
        if operator.ends_with('&') {
            let copies = |word: &Word| {
                word.is_literal()
                    && (word.text == "-" || word.text.trim_end_matches('-').parse::<u32>().is_ok())
            };
            if targets.iter().all(copies) {
                return Ok(Some(Vec::new()));
            }
        }
        Ok(Some(targets.into_iter().map(|target| Redirect { kind, target, heredoc: None }).collect()))
    }

    fn heredoc(&mut self, strip_tabs: bool) -> Read<Redirect> {
        let mut words = self.word()?;
        let delimiter = match (words.pop(), words.is_empty()) {
            (Some(word), true) if !word.dynamic => word,
            _ => return self.fail("a heredoc whose end is not plain"),
        };
        let index = self.script.heredocs.len();
        self.script.heredocs.push(Heredoc::default());
        let literal = delimiter.quoted;
        self.pending.push(Pending { index, delimiter: delimiter.text, strip_tabs, literal });
        Ok(Redirect { kind: RedirectKind::Heredoc, target: Word::default(), heredoc: Some(index) })
    }
}
