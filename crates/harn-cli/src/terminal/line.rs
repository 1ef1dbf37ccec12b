//! A line of the view: pieces of harmless text with a meaning each. Only the screen turns them into bytes.

use anstyle::{AnsiColor, Style};

use super::text::{clip, harmless, width, width_of};

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Faint,
    Added,
    Removed,
    Good,
    Bad,
    Attention,
}

impl Tone {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Added | Self::Good => colour(AnsiColor::Green),
            Self::Removed | Self::Bad => colour(AnsiColor::Red),
            Self::Attention => colour(AnsiColor::Yellow).bold(),
        }
    }
}

/// What happens to a line that is wider than the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It goes on in the next row, below its own beginning.
    Wrap,
    /// It is cut.
    Clip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colour,
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    tone: Tone,
    text: String,
}

/// Made from text of any origin; there is no way to get text into it that has not been made harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    indent: usize,
    fit: Fit,
    pieces: Vec<Piece>,
}

impl Line {
    pub fn new(tone: Tone, text: &str) -> Self {
        Self::empty().and(tone, text)
    }

    pub fn empty() -> Self {
        Self { indent: 0, fit: Fit::Wrap, pieces: Vec::new() }
    }

    pub fn plain(text: &str) -> Self {
        Self::new(Tone::Plain, text)
    }

    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        if !text.is_empty() {
            self.pieces.push(Piece { tone, text: harmless(text).into_owned() });
        }
        self
    }

    pub fn indented(mut self, columns: usize) -> Self {
        self.indent = columns;
        self
    }

    pub fn clipped(mut self) -> Self {
        self.fit = Fit::Clip;
        self
    }

    /// The rows of a terminal that is so many columns wide; without a width, one row.
    pub fn rows(&self, columns: Option<usize>, paint: Paint) -> Vec<String> {
        let room = columns.map(|columns| columns.saturating_sub(self.indent).max(8));
        let rows = match (room, self.fit) {
            (None, _) => vec![self.pieces.clone()],
            (Some(room), Fit::Clip) => vec![self.cut(room)],
            (Some(room), Fit::Wrap) => wrap(&self.pieces, room),
        };
        rows.iter().map(|row| self.painted(row, paint)).collect()
    }

    /// The widest piece gives way first, so that a result behind a long command stays in sight.
    fn cut(&self, room: usize) -> Vec<Piece> {
        let mut pieces = self.pieces.clone();
        let total: usize = pieces.iter().map(|piece| width(&piece.text)).sum();
        if let (1.., Some(widest)) =
            (total.saturating_sub(room), pieces.iter_mut().max_by_key(|piece| width(&piece.text)))
        {
            let kept = width(&widest.text).saturating_sub(total - room).max(1);
            widest.text = clip(&widest.text, kept).into_owned();
        }
        let mut left = room;
        for piece in &mut pieces {
            piece.text = clip(&piece.text, left).into_owned();
            left = left.saturating_sub(width(&piece.text));
        }
        pieces
    }

    fn painted(&self, row: &[Piece], paint: Paint) -> String {
        if row.is_empty() {
            return String::new();
        }
        let mut text = " ".repeat(self.indent);
        for piece in row {
            let style = piece.tone.style();
            match paint {
                Paint::Colour if style != Style::new() => {
                    text.push_str(&format!("{style}{}{style:#}", piece.text));
                }
                Paint::Colour | Paint::Plain => text.push_str(&piece.text),
            }
        }
        text.truncate(text.trim_end_matches(' ').len());
        text
    }
}

/// Breaks at blanks where there are any, and within a word that is longer than a row.
fn wrap(pieces: &[Piece], room: usize) -> Vec<Vec<Piece>> {
    let all: Vec<(Tone, char)> =
        pieces.iter().flat_map(|piece| piece.text.chars().map(|character| (piece.tone, character))).collect();
    let mut rows = Vec::new();
    let mut rest = all.as_slice();
    loop {
        let end = row_end(rest, room);
        let (row, after) = rest.split_at(end);
        let shown = row.iter().rposition(|(_, character)| *character != ' ').map_or(0, |last| last + 1);
        rows.push(joined(&row[..shown]));
        // The blank at which a row was broken is not shown again at the beginning of the next.
        rest = match after {
            [(_, ' '), tail @ ..] => tail,
            other => other,
        };
        if rest.is_empty() {
            return rows;
        }
    }
}

/// How many of the characters go into one row; at least one, so that wrapping comes to an end.
fn row_end(characters: &[(Tone, char)], room: usize) -> usize {
    let mut used = 0;
    let mut last_blank = None;
    for (index, (_, character)) in characters.iter().enumerate() {
        used += width_of(*character);
        if used > room {
            let hard = index.max(1);
            return match (last_blank, character) {
                (_, ' ') => hard,
                (Some(blank), _) => blank,
                (None, _) => hard,
            };
        }
        // Blanks at the beginning are the text's own indentation.
        if *character == ' ' && characters[..index].iter().any(|(_, before)| *before != ' ') {
            last_blank = Some(index);
        }
    }
    characters.len()
}

fn joined(characters: &[(Tone, char)]) -> Vec<Piece> {
    let mut row: Vec<Piece> = Vec::new();
    for (tone, character) in characters {
        match row.last_mut() {
            Some(piece) if piece.tone == *tone => piece.text.push(*character),
            _ => row.push(Piece { tone: *tone, text: character.to_string() }),
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &Line, columns: usize) -> Vec<String> {
        line.rows(Some(columns), Paint::Plain)
    }

    #[test]
    fn lines_are_wrapped_at_blanks_by_columns() {
        let cases: [(&str, usize, &[&str]); 8] = [
            ("one two three four", 9, &["one two", "three", "four"]),
            ("one two", 20, &["one two"]),
            ("exactly eight", 8, &["exactly", "eight"]),
            ("漢字漢字漢字漢字", 10, &["漢字漢字漢", "字漢字"]),
            ("あい うえお かき", 8, &["あい", "うえお", "かき"]),
            ("averyveryverylongword end", 10, &["averyveryv", "erylongwor", "d end"]),
            ("    code stays in", 12, &["    code", "stays in"]),
            ("", 10, &[""]),
        ];
        for (text, columns, wanted) in cases {
            assert_eq!(rows(&Line::plain(text), columns), wanted, "{text} in {columns}");
        }
    }

    #[test]
    fn no_row_is_wider_than_the_terminal_and_no_word_is_lost() {
        let text =
            "Ein langes 漢字 Wort 👍👍 und e\u{301}in Unaussprechlichlangeswort, das nirgends hineinpasst.";
        for columns in 8..60 {
            let rows = rows(&Line::plain(text), columns);
            assert!(rows.iter().all(|row| width(row) <= columns), "{columns}: {rows:?}");
            let without_blanks = |text: &str| text.replace(' ', "");
            assert_eq!(without_blanks(&rows.concat()), without_blanks(text), "{columns}");
        }
    }

    #[test]
    fn rows_that_follow_keep_the_indentation_and_the_tone() {
        let line = Line::new(Tone::Strong, "yes").and(Tone::Plain, " and then more of it").indented(2);
        assert_eq!(rows(&line, 12), ["  yes and", "  then more", "  of it"]);
        assert_eq!(line.rows(None, Paint::Colour), ["  \u{1b}[1myes\u{1b}[0m and then more of it"]);
        assert_eq!(rows(&line.clipped(), 12), ["  yes and t…"]);
    }

    #[test]
    fn a_line_that_is_cut_keeps_what_stands_at_its_end() {
        let line = Line::new(Tone::Good, "✓ ")
            .and(Tone::Plain, "run a very long command")
            .and(Tone::Faint, "  1.0s");
        let cases = [
            (40, "✓ run a very long command  1.0s"),
            (19, "✓ run a very…  1.0s"),
            (9, "✓ …  1.0s"),
            (8, "✓ …  1.…"),
        ];
        for (columns, wanted) in cases {
            assert_eq!(rows(&line.clone().clipped(), columns), [wanted], "{columns}");
        }
    }
}
