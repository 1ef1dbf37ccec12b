//! A few lines of a script that has a problem, and the same lines without it.

/// How a problem looks, and how it is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    pub wrong: &'static str,
    pub right: &'static str,
}

/// The example of a problem of scripts, if a short one says anything.
pub fn example(code: &str) -> Option<Example> {
    let (wrong, right) = match code {
        "syntax" => ("println(\"hello\"", "println(\"hello\")"),
        "redeclared" => (
            "fn total(prices) {\n  let sum = 0\n  let sum = prices.sum()\n  return sum\n}",
            "fn total(prices) {\n  let sum = prices.sum()\n  return sum\n}",
        ),
        "immutable" => ("let count = 0\ncount = count + 1", "var count = 0\ncount = count + 1"),
        "misplaced" => (
            "fn first_even(numbers) {\n  if len(numbers) == 0 { break }\n}",
            "fn first_even(numbers) {\n  for n in numbers {\n    if n % 2 == 0 { break }\n  }\n}",
        ),
        _ => return None,
    };
    Some(Example { wrong, right })
}
