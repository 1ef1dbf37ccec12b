//! What the parser must know ahead of time, found in one pass: which braces open closures, and which `<` may open
//! type arguments. Looking ahead from each of them would take quadratic time.

use super::token::{Keyword, Sign, Token, TokenKind};

/// The pairs of `<` and `>` that contain nothing but what types are made of and are followed by `(`: the places
/// of both among the tokens, in the order of the `<`.
pub(super) type Angles = Vec<(u32, u32)>;

pub(super) fn mark(tokens: &mut [Token]) -> Angles {
    let mut open = OpenBrackets::default();
    let mut angles: Vec<(u32, usize)> = Vec::new();
    let mut found = Angles::new();
    for at in 0..tokens.len() {
        let TokenKind::Sign(sign) = tokens[at].kind else {
            if !may_be_in_type(tokens[at].kind) {
                angles.clear();
            }
            continue;
        };
        match sign {
            Sign::OpenBrace | Sign::OpenParen | Sign::OpenBracket => open.push(sign, at),
            Sign::CloseBrace | Sign::CloseParen | Sign::CloseBracket => {
                open.close(sign);
                while angles.last().is_some_and(|(_, depth)| *depth > open.stack.len()) {
                    angles.pop();
                }
            }
            Sign::Arrow => {
                if let Some((Sign::OpenBrace, brace)) = open.stack.last() {
                    tokens[*brace].has_arrow = true;
                }
            }
            Sign::Less => angles.push((number(at), open.stack.len())),
            Sign::Greater => {
                let start = angles.pop_if(|(_, depth)| *depth == open.stack.len());
                let called =
                    tokens.get(at + 1).is_some_and(|next| next.kind == TokenKind::Sign(Sign::OpenParen));
                if let (Some((start, _)), true) = (start, called) {
                    found.push((start, number(at)));
                }
            }
            Sign::Comma | Sign::Bar | Sign::Colon | Sign::Question | Sign::Minus => {}
            _ => angles.clear(),
        }
    }
    found.sort_unstable();
    found
}

fn may_be_in_type(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Ident | TokenKind::Newline | TokenKind::Int | TokenKind::Str | TokenKind::RawStr => true,
        TokenKind::Keyword(word) => !matches!(word, Keyword::In | Keyword::To),
        _ => false,
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The brackets that are open, with how many of each kind, so that a stray closing one costs nothing.
#[derive(Default)]
struct OpenBrackets {
    stack: Vec<(Sign, usize)>,
    braces: usize,
    parens: usize,
    squares: usize,
}

impl OpenBrackets {
    fn count(&mut self, open: Sign) -> &mut usize {
        match open {
            Sign::OpenBrace => &mut self.braces,
            Sign::OpenParen => &mut self.parens,
            _ => &mut self.squares,
        }
    }

    fn push(&mut self, open: Sign, at: usize) {
        *self.count(open) += 1;
        self.stack.push((open, at));
    }

    /// Closes the nearest one of its kind and everything that was left open inside.
    fn close(&mut self, close: Sign) {
        let wanted = match close {
            Sign::CloseBrace => Sign::OpenBrace,
            Sign::CloseParen => Sign::OpenParen,
            _ => Sign::OpenBracket,
        };
        if *self.count(wanted) == 0 {
            return;
        }
        while let Some((open, _)) = self.stack.pop() {
            *self.count(open) -= 1;
            if open == wanted {
                return;
            }
        }
    }
}
