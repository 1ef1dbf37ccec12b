//! Tests of the shell reader: what it finds, what it admits not to know, and that nothing makes it run away.

use proptest::prelude::*;

use super::{MAX_BYTES, Script, Simple, Word, parse};

/// A command in one line: words with `|` between them, marked where they are not literal.
fn shown(command: &Simple) -> String {
    let mark = |word: &Word| {
        let kind = match (word.dynamic, word.glob) {
            (true, _) => "$",
            (false, true) => "*",
            (false, false) => "",
        };
        format!("{kind}{}", word.text)
    };
    let mut parts: Vec<String> = command.words.iter().map(mark).collect();
    parts.extend(command.assignments.iter().map(|given| format!("{}:={}", given.name, mark(&given.value))));
    parts.extend(
        command.redirects.iter().map(|redirect| format!("{:?}>{}", redirect.kind, mark(&redirect.target))),
    );
    let piped = if command.piped { "<pipe " } else { "" };
    let background = if command.background { " &" } else { "" };
    format!("{piped}{}{background}", parts.join("|"))
}

fn check(script: &str, expected: &[&str]) {
    let read = parse(script);
    assert_eq!(read.unparsed, None, "{script}");
    assert_eq!(read.commands.iter().map(shown).collect::<Vec<_>>(), expected, "{script}");
}

#[test]
fn words_are_unquoted_and_marked() {
    let table: &[(&str, &[&str])] = &[
        ("a b\tc", &["a|b|c"]),
        ("a 'b c' \"d e\" f\\ g", &["a|b c|d e|f g"]),
        ("a''b \"\"", &["ab|"]),
        (r#"echo "a\$b\\c\"d\e""#, &[r#"echo|a$b\c"d\e"#]),
        (r"echo $'a\tb\x41\u00e9\101'", &["echo|a\tbA\u{e9}A"]),
        ("echo \\\n b", &["echo|b"]),
        ("echo a#b # c", &["echo|a#b"]),
        ("# only\n", &[]),
        ("echo $a ${b} ${c:-d} \"$e\" '$f' $1 $@", &["echo|$…|$…|$…|$…|$f|$…|$…"]),
        ("echo $? $# $$ $!", &["echo|$?|$#|$$|$!"]),
        ("echo x$((1 + 2))y", &["echo|$x…y"]),
        ("echo ~ ~/x $HOME/x", &["echo|~|~/x|$$HOME/x"]),
        ("ls *.rs a?b [ab] '*' \\*", &["ls|**.rs|*a?b|*[ab]|*|*"]),
        ("cp a.{b,c}", &["cp|a.b|a.c"]),
        ("cp {a,b}{c,d} {x} '{a,b}' {1..3}", &["cp|ac|ad|bc|bd|{x}|{a,b}|${1..3}"]),
        ("cp {a,{b,c}}", &["cp|a|b|c"]),
        ("A=1 B='x y' cmd", &["cmd|A:=1|B:=x y"]),
        ("A=$(ls) a[1]=2 b+=3 c=(x y)", &["ls", "A:=$…|a:=2|b:=3|c:=$…"]),
        ("[[ a && -f b || ! -n $(ls) ]]", &["ls", "[[|a|&&|-f|b||||!|-n|$…|]]"]),
    ];
    for (script, expected) in table {
        check(script, expected);
    }
}

#[test]
fn every_simple_command_is_found() {
    let table: &[(&str, &[&str])] = &[
        ("a; b && c || d | e |& f & g\nh", &["a", "b &", "c &", "d &", "<pipe e &", "<pipe f &", "g", "h"]),
        ("! a", &["a"]),
        ("(a; (b)) && { c; }", &["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for x in 1 2; do a; done", &[":|1|2", "a"]),
        ("for x; do a; done; for ((i=0; i<3; i++)); do b; done", &["a", "b"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("case $(a) in b|c) d;; (e) f ;; *) g; esac", &["a", "d", "f", "g"]),
        ("f() { a; }; function g { b; }; h () (c)", &["a", "b", "c"]),
        ("a $(b `c` \"$(d)\")", &["c", "d", "b|$…|$…", "a|$…"]),
        ("a <(b) >(c)", &["b", "<pipe c", "a|$…|$…"]),
        ("((a b))", &["a|b"]),
        ("a \"${x:-$(b)}\" $(( $(c) ))", &["b", "c", "a|$…|$…"]),
        (
            "a > b 2>&1 < c >> d 2> e &> f >| g <> h",
            &["a|Write>b|Read>c|Write>d|Write>e|Write>f|Write>g|Write>h"],
        ),
        ("a >&- 2>&1 >&2 >&b", &["a|Write>b"]),
        ("a 2 > b", &["a|2|Write>b"]),
        ("> a", &["Write>a"]),
        ("a <<< \"b c\"", &["a|HereString>b c"]),
        ("{ a; } > b | c", &["a", "Write>b", "<pipe c"]),
        ("a | while b; do c; done", &["a", "<pipe b", "<pipe c"]),
        ("a &&\n\n b |\n c", &["a", "b", "<pipe c"]),
        ("a\\\nb c", &["ab|c"]),
        ("time a", &["time|a"]),
    ];
    for (script, expected) in table {
        check(script, expected);
    }
}

#[test]
fn heredocs_are_kept_and_their_commands_found() {
    type Case<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, bool)]);
    let table: &[Case<'_>] = &[
        ("cat <<EOF\na $x\nEOF\nls", &["cat|Heredoc>", "ls"], &[("a $x\n", true)]),
        ("cat <<'EOF'\na $x `b`\nEOF", &["cat|Heredoc>"], &[("a $x `b`\n", false)]),
        ("cat <<-EOF\n\ta\n\tEOF", &["cat|Heredoc>"], &[("a\n", false)]),
        ("cat <<A <<B; ls\n1\nA\n2\nB", &["cat|Heredoc>|Heredoc>", "ls"], &[("1\n", false), ("2\n", false)]),
        ("cat <<A | b\n$(c)\nA", &["cat|Heredoc>", "<pipe b", "c"], &[("$(c)\n", true)]),
    ];
    for (script, commands, heredocs) in table {
        check(script, commands);
        let read: Vec<(String, bool)> =
            parse(script).heredocs.into_iter().map(|heredoc| (heredoc.text, heredoc.dynamic)).collect();
        let expected: Vec<(String, bool)> =
            heredocs.iter().map(|(text, dynamic)| ((*text).to_owned(), *dynamic)).collect();
        assert_eq!(read, expected, "{script}");
    }
}

#[test]
fn scripts_of_every_day_are_understood() {
    let scripts = [
        "git commit -m \"$(cat <<'EOF'\nfix: don't (ever) `x`\n\nmore\nEOF\n)\"",
        "set -euo pipefail; for f in src/*.rs; do echo \"$f: $(wc -l < \"$f\")\"; done",
        "while IFS= read -r line; do echo \"${line%%:*}\" \"${#line}\" \"${line//a/b}\"; done < in.txt | sort -u",
        "if [[ -f x && ! -d y ]]; then (cd z && make) || { echo no >&2; exit 1; }; fi",
        "python3 - <<'PY'\nimport os\nprint('it\\'s')\nPY\necho done",
        "cat > a.txt <<EOF && cat a.txt\n$USER has ${N:-3}\nEOF",
        "x=$((1 + (2 * 3))); arr=(a b 'c d'); echo ${arr[@]} $x",
        "cargo test 2>&1 | tee >(grep FAILED > fails.txt) | tail -n 20",
        "case \"$1\" in\n  start|stop) echo \"$1\" ;;\n  *) echo usage; exit 2 ;;\nesac",
        "function build() {\n  local dir=$1\n  make -C \"$dir\"\n}\nbuild a && build b",
        "find . -name '*.tmp' -print0 | xargs -0 -r rm -f --",
        "(sleep 1; echo late) & wait $!",
        "awk 'BEGIN { x = \"a\" } { print $1, x }' f | sed -e 's/a/b/;s/c/d/'",
        "curl -sS -H \"Authorization: Bearer $T\" https://x.com/a?b=c\\&d=e",
        "echo $'a\\nb' \"a\\`b\" a\\ b; [ \"$a\" = \"b\" ] || true",
    ];
    for script in scripts {
        assert_eq!(parse(script).unparsed, None, "{script}");
    }
}

#[test]
fn what_is_not_understood_is_said() {
    let scripts = [
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        "echo $((1",
        "(a",
        "{ a;",
        "if a; then b",
        "a)",
        "}",
        "fi",
        "a ;; b",
        "; a",
        "a | | b",
        "a && ; b",
        "&& a",
        "a (b)",
        "a @(b|c)",
        "case x in",
        "for x in a; b",
        "cat <<EOF\nx",
        "cat <<$X\nx\n",
        "echo $[1]",
        "coproc a",
        "f() b",
        "echo \\",
        "[[ a",
        "a >",
        "$((a) b)",
        "cat <<E $(\n)\nE",
        "echo $'\\'; a #'",
        "echo \"${x:-$'}\"; a; echo \"'}\"",
        "echo \"${x:-\"}\"; a; echo \"\"}\"",
        "a &>b c",
        "[[ a || b ]]",
        "[[ a && ! b ]]",
        "[[ a > b ]]",
        "[[ a\nb ]]",
        "[[ a || (b) ]]",
        "cat <<EOF\nE\\\nOF\na\nEOF",
        "cat <<EOF\nE\\\nO\\\nF\na\nEOF",
        "cat <<EOF\na\\\nEOF\nb\nEOF",
    ];
    for script in scripts {
        assert!(parse(script).unparsed.is_some(), "{script}");
    }
    assert_eq!(parse(&"a".repeat(MAX_BYTES + 1)).unparsed.map(|unparsed| unparsed.at), Some(MAX_BYTES));
    assert_eq!(parse("rm -rf x; 'y").commands.len(), 1, "what stands before is kept");
}

#[test]
fn depth_and_size_are_bounded() {
    let hostile = [
        "$(".repeat(30_000),
        "(".repeat(90_000),
        "{ ".repeat(40_000),
        "`".repeat(90_000),
        "\"${x:-".repeat(15_000),
        "$((".repeat(30_000),
        "{a,b}".repeat(15_000),
        "{".repeat(90_000),
        "if ".repeat(30_000),
        "f()".repeat(30_000),
        "<<a ".repeat(20_000),
        "a;".repeat(50_000),
        "a|".repeat(50_000),
        "case x in ".repeat(10_000),
        "A=1 ".repeat(25_000),
        "[[ ".repeat(30_000),
        "\\".repeat(90_000),
        "! ".repeat(50_000),
        format!("{}{}", "echo ".repeat(10), "#".repeat(90_000)),
    ];
    for script in hostile {
        let Script { commands, .. } = parse(&script);
        assert!(commands.len() <= super::MAX_COMMANDS + 1);
    }
}

proptest! {
    #[test]
    fn any_text_ends(text in "\\PC{0,200}") {
        parse(&text);
    }

    #[test]
    fn shell_like_text_ends(pieces in prop::collection::vec(prop::sample::select(vec![
        "a", " ", "\n", ";", "&", "|", "(", ")", "{", "}", "$(", "`", "'", "\"", "\\", "<<E", "E\n", "<", ">", "$((",
        "))", "${", "if ", "then ", "fi ", "for x in ", "do ", "done ", "case x in ", "esac ", "=", "*", "#", "é", "[[ ", " ]]",
        "f() ", ";;", "&&", "$'", "\\x", "{a,b}",
    ]), 0..60)) {
        parse(&pieces.concat());
    }

    #[test]
    fn quoted_words_come_back(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
        let script: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        let read = parse(&script.join(" "));
        let texts: Vec<&str> = read.commands[0].words.iter().map(|word| word.text.as_str()).collect();
        prop_assert_eq!(texts, words.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn shown_words_are_read_back(words in prop::collection::vec("[^\0]{0,12}", 1..6)) {
        let mut script = String::from("x");
        for word in &words {
            script.push(' ');
            Word::literal(word).show(&mut script);
        }
        let read = parse(&script);
        let texts: Vec<&str> = read.commands[0].words[1..].iter().map(|word| word.text.as_str()).collect();
        prop_assert_eq!(texts, words.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert!(read.commands[0].words.iter().all(Word::is_literal));
    }
}
