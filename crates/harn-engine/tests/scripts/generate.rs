//! Small concurrent programs from a seed. What they print does not depend on the order in which effects complete.

use std::fmt::Write as _;

/// Chance that is the same for the same seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Writes a line and counts it, whether it came to anything or not.
const PUT: &str =
    "fn put(x) {\n  try { append_file(\"log\", \"${x}\\n\") } catch (e) { nil }\n  return 1\n}\n";

pub fn program(seed: u64) -> String {
    let mut writer = Writer { chance: Chance::new(seed), text: PUT.to_owned(), next: 0 };
    writer.text.push_str("var total = 0\n");
    for _ in 0..2 + writer.chance.below(3) {
        writer.statement();
    }
    writer.text.push_str("println(\"total ${total}\")\ntotal\n");
    writer.text
}

struct Writer {
    chance: Chance,
    text: String,
    next: usize,
}

impl Writer {
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn statement(&mut self) {
        let n = self.fresh();
        match self.chance.below(7) {
            0 => self.say(format_args!("total += put(\"line {n}\")")),
            1 => self.say(format_args!("println(read_file(\"f{n}\"))")),
            2 => {
                let ms = self.chance.below(3);
                self.say(format_args!("sleep({ms})"));
            }
            3 => {
                let body = self.work(&format!("p{n} ${{x}}"));
                self.say(format_args!("for v in parallel each [1, 2, 3] {{ x -> {body} }} {{ total += v }}"));
            }
            4 => {
                let (one, other) = (self.work(&format!("a{n}")), self.work(&format!("b{n}")));
                self.say(format_args!("let s{n} = spawn {{ {one} }}\nlet t{n} = spawn {{ {other} }}"));
                self.say(format_args!("total += await(s{n}) + await(t{n})"));
            }
            5 => {
                let body = self.work(&format!("c{n} ${{i}}"));
                self.say(format_args!("let ch{n} = channel(\"ch{n}\", 1)"));
                self.say(format_args!(
                    "let m{n} = spawn {{\n  for i in [1, 2, 3] {{\n    let w = {body}\n    send(ch{n}, i + w)\n  }}\n  \
                     close_channel(ch{n})\n}}"
                ));
                self.say(format_args!("for v in ch{n} {{ println(\"got ${{v}}\") }}\nawait(m{n})"));
            }
            _ => {
                self.say(format_args!("println(try {{ deadline 1ms {{ sleep(60s) }} }} catch (e) {{ e }})"));
            }
        }
    }

    /// An expression that takes its time and is worth 1.
    fn work(&mut self, line: &str) -> String {
        match self.chance.below(4) {
            0 => format!("put(\"{line}\")"),
            1 => format!("if read_file(\"{line}\") == \"\" {{ 0 }} else {{ put(\"{line}\") }}"),
            2 => format!("if sleep({}) == nil {{ put(\"{line}\") }} else {{ 0 }}", self.chance.below(3)),
            _ => format!("len(read_file(\"{line}\")) - len(\"{line}\") - 1"),
        }
    }

    fn say(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{line}");
    }
}
