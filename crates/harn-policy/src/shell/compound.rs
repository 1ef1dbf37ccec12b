//! Compound commands: groups, conditions, loops, cases, functions.

use super::Simple;
use super::parse::{Parser, Read};
use super::word::Word;

impl Parser<'_> {
    pub(super) fn compound(&mut self, keyword: &str) -> Read<()> {
        match keyword {
            "{" => {
                self.list()?;
                self.expect("}", "`{` that is not closed")
            }
            "if" => self.if_clause(),
            "while" | "until" => {
                self.list()?;
                self.do_group()
            }
            "for" | "select" => self.for_clause(),
            "case" => self.case_clause(),
            "function" => {
                self.skip_blanks();
                let name = self.function_name()?;
                self.skip_blanks();
                if self.eat("(") {
                    self.skip_blanks();
                    if !self.eat(")") {
                        return self.fail("`)` was expected here");
                    }
                }
                self.function_body(name)
            }
            "[[" => self.test_clause(),
            _ => self.fail("`coproc`"),
        }
    }

    fn if_clause(&mut self) -> Read<()> {
        self.list()?;
        self.expect("then", "`then` was expected here")?;
        self.list()?;
        loop {
            match self.keyword() {
                "elif" => {
                    self.at += 4;
                    self.list()?;
                    self.expect("then", "`then` was expected here")?;
                    self.list()?;
                }
                "else" => {
                    self.at += 4;
                    self.list()?;
                    return self.expect("fi", "`fi` was expected here");
                }
                _ => return self.expect("fi", "`fi` was expected here"),
            }
        }
    }

    fn do_group(&mut self) -> Read<()> {
        self.expect("do", "`do` was expected here")?;
        self.list()?;
        self.expect("done", "`done` was expected here")
    }

    fn for_clause(&mut self) -> Read<()> {
        self.skip_blanks();
        if self.eat("((") {
            self.arithmetic()?;
        } else {
            self.word()?;
            self.skip_lines()?;
            if self.keyword() == "in" {
                self.at += 2;
                self.words_to_line_end()?;
            }
        }
        self.skip_blanks();
        self.eat(";");
        self.do_group()
    }

    /// The words of a `for` may name files, so they count as words of a command that only says them.
    fn words_to_line_end(&mut self) -> Read<()> {
        let mut words = vec![Word::literal(":")];
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'\n' | b';') => break,
                _ => words.extend(self.word()?),
            }
        }
        self.emit(Simple { words, ..Simple::default() });
        Ok(())
    }

    fn case_clause(&mut self) -> Read<()> {
        self.skip_blanks();
        self.word()?;
        self.expect("in", "`in` was expected here")?;
        loop {
            self.skip_lines()?;
            if self.keyword() == "esac" {
                self.at += 4;
                return Ok(());
            }
            self.eat("(");
            loop {
                self.skip_blanks();
                self.word()?;
                self.skip_blanks();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return self.fail("`)` was expected here");
            }
            self.list()?;
            let ended = self.eat(";;&") || self.eat(";;") || self.eat(";&");
            if !ended && self.keyword() != "esac" {
                return self.fail("`;;` was expected here");
            }
        }
    }

    fn test_clause(&mut self) -> Read<()> {
        let mut words = vec![Word::literal("[[")];
        loop {
            self.skip_blanks();
            if self.peek().is_none() {
                return self.fail("`[[` that is not closed");
            }
            if self.closes_test() {
                self.at += 2;
                words.push(Word::literal("]]"));
                self.emit(Simple { words, ..Simple::default() });
                return Ok(());
            }
            words.push(self.test_word()?);
        }
    }

    fn closes_test(&self) -> bool {
        let rest = self.source[self.at..].strip_prefix("]]");
        rest.is_some_and(|rest| rest.chars().next().is_none_or(|c| " \t\n;&|<>()".contains(c)))
    }

    fn function_name(&mut self) -> Read<String> {
        let mut words = self.word()?;
        match (words.pop(), words.is_empty()) {
            (Some(word), true) if word.is_literal() => Ok(word.text),
            _ => self.fail("a function name that is not plain"),
        }
    }

    pub(super) fn function_body(&mut self, name: String) -> Read<()> {
        self.script.functions.push(name);
        let outer = self.within.replace(self.script.functions.len() - 1);
        self.skip_lines()?;
        let starts_compound = self.peek() == Some(b'(')
            || ["{", "if", "while", "until", "for", "case", "[["].contains(&self.keyword());
        if !starts_compound {
            return self.fail("a function body was expected here");
        }
        self.nested(Self::command)?;
        self.within = outer;
        Ok(())
    }
}
