//! JSON, YAML, TOML, schemas, regular expressions, templates and bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{check, run_with, told};

#[test]
fn json() {
    check(&[
        (r#"json_parse('{"b": [1, 2.5, null, true], "a": "x\\n"}')"#, "{a: x\n, b: [1, 2.5, nil, true]}"),
        ("json_parse('18446744073709551615')", "18446744073709552000"),
        ("json_parse('[1')", "Thrown: JSON parse error: EOF while parsing a list at line 1 column 2"),
        ("json_parse('1 2')", "Thrown: JSON parse error: trailing characters at line 1 column 3"),
        ("json_stringify({b: 1.0, a: [nil, true, 'x\"\\n']})", r#"{"a":[null,true,"x\"\n"],"b":1}"#),
        ("json_stringify([nan, closure, 0.1])", "[null,null,0.1]"),
        ("json_stringify(bytes_from_string('ab'))", r#"{"$bytes_b64":"YWI="}"#),
        (
            "json_stringify([set(1), pair(1, 2), range(2), Ok(3)])",
            r#"[[1],[1,2],[0,1],{"enum":"Result","fields":[3],"variant":"Ok"}]"#,
        ),
        (r#"json_extract('Sure: {"a": 1} done')"#, "{a: 1}"),
        (r#"json_extract('x\n```json\n[1, 2]\n```\n')"#, "[1, 2]"),
        (r#"json_extract('{"a": {"b": 2}}', 'a')"#, "{b: 2}"),
        (r#"json_extract('{"a": 1}', 'z')"#, "Thrown: json_extract: key 'z' not found"),
        ("json_pointer({a: [1, {b: 2}]}, '/a/1/b')", "2"),
        ("json_pointer({'x/y': 1}, '/x~1y')", "1"),
        ("json_pointer({a: 1}, '/z/z')", "nil"),
        ("json_pointer({a: 1}, 'a')", "Thrown: json_pointer: a pointer starts with '/', got 'a'"),
        ("json_pointer_set({a: [1]}, '/a/-', 2)", "{a: [1, 2]}"),
        ("json_pointer_set({}, '/a/b', 2)", "{a: {b: 2}}"),
        (
            "json_pointer_set({a: [1]}, '/a/5', 2)",
            "Thrown: json_pointer_set: '5' is no place in a list of length 1",
        ),
        (
            "json_pointer_set({a: 1}, '/a/b', 2)",
            "Thrown: json_pointer_set: cannot go to 'b' in a value of type int",
        ),
        ("json_pointer_delete({a: [1, 2]}, '/a/0')", "{a: [2]}"),
        ("json_pointer_delete({a: 1}, '/b')", "{a: 1}"),
    ]);
    assert!(told("json_extract('nothing here')").starts_with("Thrown: json_extract: failed to parse JSON"));
}

#[test]
fn jq() {
    check(&[
        ("jq({a: {b: 1}}, '.')", "[{a: {b: 1}}]"),
        (
            "jq([1, 2, 3], 'map(if . < 2 then \"low\" elif . == 2 then \"two\" else . end)')",
            "[[low, two, 3]]",
        ),
        ("jq(1, 'if . > 1 then 5 end')", "[1]"),
        ("jq(1, 'if . then 2')", "Thrown: jq: expected 'end' before 'the end' in 'if . then 2'"),
        ("jq([1, nil, 'x'], 'join(\"-\")')", "[1--x]"),
        ("jq([{a: {b: 'xyz', c: 1}}], 'contains([{a: {b: \"y\"}}])')", "[true]"),
        ("jq({a: [1]}, 'contains({a: [2]})')", "[false]"),
        ("jq([[1], 'a', 2, true, nil, {a: 1}, false], 'sort')", "[[nil, false, true, 2, a, [1], {a: 1}]]"),
        ("jq({a: 1, b: 2}, 'map(. + 1)')", "[[2, 3]]"),
        ("jq([{k: 'a', v: 1}, {Key: 'b', Value: 2}, {name: 3}], 'from_entries')", "[{3: nil, a: 1, b: 2}]"),
        ("jq(false, 'length')", "Thrown: jq: boolean has no length"),
        ("jq([1, 2, 3], '. - [2], -.[0], [range(3)], [range(1; 3)]')", "[[1, 3], -1, [0, 1, 2], [1, 2]]"),
        ("jq([1, 2, 3], '[limit(2; .[])]')", "[[1, 2]]"),
        ("jq([1.2, 1.5, 4], '(.[0] | ceil), (.[1] | round), (.[2] | sqrt)')", "[2, 2, 2.0]"),
        ("jq('ABC', 'test(\"b\"; \"i\")')", "[true]"),
        ("jq('foobar', 'ltrimstr(\"foo\"), rtrimstr(\"bar\"), ltrimstr(\"x\")')", "[bar, foo, foobar]"),
        ("jq(['a1', 'b'], '.[] | test(\"[0-9]\")')", "[true, false]"),
        ("jq({a: {b: 1}}, '.a.b')", "[1]"),
        ("jq({a: 1}, '.x.y')", "[nil]"),
        ("jq([1, 2, 3], '.[]')", "[1, 2, 3]"),
        ("jq([1, 2, 3], '.[1], .[-1], .[1:]')", "[2, 3, [2, 3]]"),
        ("jq([{n: 1}, {n: 5}], '.[] | select(.n > 2) | .n')", "[5]"),
        ("jq([{n: 1}, {n: 5}], 'map(.n + 1)')", "[[2, 6]]"),
        ("jq({b: 1, a: 2}, 'keys, length')", "[[a, b], 2]"),
        ("jq({a: [1, 2]}, '{n: (.a | length), a}')", "[{a: [1, 2], n: 2}]"),
        ("jq([3, 1, 2], 'sort | reverse | first')", "[3]"),
        ("jq({a: nil}, '.a // \"none\"')", "[none]"),
        ("jq([1, [2]], '[.. | select(type == \"number\")]')", "[[1, 2]]"),
        ("jq({a: 'x'}, '.a | . == \"x\" and true')", "[true]"),
        ("jq([{k: 'b'}, {k: 'a'}], 'sort_by(.k) | map(.k) | join(\"-\")')", "[a-b]"),
        ("jq({'a b': 1}, '.\"a b\", .[\"a b\"]')", "[1, 1]"),
        ("jq(1, '.a')", "Thrown: jq: cannot index int with a"),
        ("jq(1, '.a?')", "[]"),
        ("jq(1, 'nope')", "Thrown: jq: unknown function nope/0 in 'nope'"),
        ("jq(1, '. |')", "Thrown: jq: unexpected end in '. |'"),
        ("jq(1, '1 / 0')", "Thrown: jq: division by zero"),
        ("jq_first([1, 2], '.[]')", "1"),
        ("jq_first([], '.[]')", "nil"),
    ]);
    let doubling = format!("jq([1], '.[] {}')", "| (., .) ".repeat(20));
    assert_eq!(
        run_with(&doubling, 1 << 20).unwrap_err().to_string(),
        "Memory limit exceeded: the program may use 1048576 bytes"
    );
    assert_eq!(told(&format!("jq(1, '.{}')", " | .".repeat(190))), "[1]");
    assert!(told(&format!("jq(1, '.{}')", " | .".repeat(999))).contains("jq: a program may have 600 parts"));
    assert!(told(&format!("jq(1, '{}1{}')", "(".repeat(9999), ")".repeat(9999))).contains("nested 32 deep"));
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    check(&[
        ("json_stringify(nested(1, 2))", "[[1]]"),
        (
            "json_stringify(nested(1, 129))",
            "Thrown: a value that is nested more than 128 deep cannot be written",
        ),
        ("schema_to_json_schema(under('int', 'items', 300))", "Thrown: a schema may be nested 256 deep"),
    ]);
    assert_eq!(told("json_parse(json_stringify(nested(1, 127)))"), told("nested(1, 127)"));
}

#[test]
fn yaml_and_toml() {
    check(&[
        ("yaml_parse('a: 1\\nb:\\n  - x\\n  - true\\n  - 1.5\\n')", "{a: 1, b: [x, true, 1.5]}"),
        ("yaml_parse('')", "nil"),
        ("yaml_parse('[.inf, -.inf, .nan]')", "[inf, -inf, NaN]"),
        ("yaml_stringify({a: inf})", "a: .inf\n"),
        ("toml_stringify({a: inf, b: nan})", "a = inf\nb = nan\n"),
        ("json_stringify([inf, nan])", "[null,null]"),
        ("yaml_parse('[y, no, on, Yes, true, ~]')", "[y, no, on, Yes, true, nil]"),
        (
            "yaml_parse('a: 1\\na: 2')",
            "Thrown: YAML parse error: duplicate mapping key: a at line 2, column 1",
        ),
        (
            "yaml_parse('--- 1\\n--- 2')",
            "Thrown: YAML parse error: more than one document at line 2, column 5",
        ),
        ("yaml_parse('1: x')", "{1: x}"),
        (
            "yaml_parse(yaml_stringify({a: [1, 'x: y', nil], b: {c: 2.5}}))",
            "{a: [1, x: y, nil], b: {c: 2.5}}",
        ),
        (
            "toml_parse('a = 1\\n[b]\\nc = [1.5, 2.0]\\nd = 2024-01-02\\n')",
            "{a: 1, b: {c: [1.5, 2.0], d: 2024-01-02}}",
        ),
        ("toml_stringify({a: 1, b: {c: 'x', n: nil}})", "a = 1\n\n[b]\nc = \"x\"\n"),
        ("toml_stringify([1])", "Thrown: toml_stringify: value must be a dict, got list"),
    ]);
    assert!(told("yaml_parse('a: [1')").starts_with("Thrown: YAML parse error: "));
    assert!(told("toml_parse('a = ')").starts_with("Thrown: TOML parse error: "));
}

#[test]
fn nothing_is_read_too_deep() {
    let open = "[".repeat(100_000);
    let quoted = format!("'{open}'");
    for reader in ["json_parse", "yaml_parse", "json_extract"] {
        assert!(told(&format!("{reader}({quoted})")).starts_with("Thrown: "), "{reader}");
    }
    assert!(told(&format!("toml_parse('a = {open}')")).starts_with("Thrown: "));
    let laughs = "a: &a [x, x, x, x, x, x, x, x, x]\\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\\n\
                  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\\n\
                  e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e]\\n";
    let call = format!("yaml_parse('{laughs}')");
    assert!(run_with(&call, 1 << 20).is_err());
}

const PERSON: &str = "{type: 'dict', properties: {name: {type: 'string'}, age: {type: 'int', min: 0}, \
     role: {type: 'string', default: 'user'}}, required: ['name', 'age']}";

#[test]
fn schemas() {
    let person = |call: &str| told(&call.replace("PERSON", PERSON));
    for (call, expected) in [
        ("schema_is({name: 'A', age: 1}, PERSON)", "true"),
        ("schema_is({name: 'A'}, PERSON)", "false"),
        ("json_validate({name: 'A'}, PERSON)", "Thrown: missing required key 'age'"),
        ("json_validate({name: 1, age: 2}, PERSON)", "Thrown: at name: expected type 'string', got 'int'"),
        ("json_validate(5, {type: 'string'})", "Thrown: expected type 'string', got 'int'"),
        ("json_validate({name: 'A', age: 2}, PERSON)", "true"),
        ("schema_parse({name: 'A', age: 2}, PERSON)", "Result.Ok({age: 2, name: A, role: user})"),
        ("schema_check({name: 'A', age: 2}, PERSON)", "Result.Ok({age: 2, name: A})"),
        (
            "schema_check({name: 'A', age: -1}, PERSON)",
            "Result.Err({errors: [at age: expected at least 0, got -1], message: at age: expected at least 0, \
             got -1, value: {age: -1, name: A}})",
        ),
        ("schema_expect({name: 'A', age: 2}, PERSON, true)", "{age: 2, name: A, role: user}"),
        ("schema_expect({age: 2}, PERSON)", "Thrown: missing required key 'name'"),
        (
            "json_validate([1, 'x'], {type: 'list', items: 'int'})",
            "Thrown: at [1]: expected type 'int', got 'string'",
        ),
        (
            "json_validate({a: [{b: 1}]}, {properties: {a: {items: {properties: {b: 'string'}}}}})",
            "Thrown: at a[0].b: expected type 'string', got 'int'",
        ),
        ("json_validate('x', {enum: ['a', 'b']})", "Thrown: expected one of [a, b], got x"),
        ("json_validate('x', {const: 'y'})", "Thrown: expected y, got x"),
        ("json_validate('abc', {min_length: 5})", "Thrown: expected at least 5 characters, got 3"),
        ("json_validate([1], {maxItems: 0})", "Thrown: expected at most 0 items, got 1"),
        ("json_validate('abc', {pattern: '^b'})", "Thrown: expected a text that matches '^b'"),
        (
            "json_validate(true, {union: ['int', {type: 'string'}]})",
            "Thrown: expected type 'int|string', got 'bool'",
        ),
        (
            "json_validate({a: 1, z: 2}, {properties: {a: 'int'}, additionalProperties: false})",
            "Thrown: unexpected key 'z'",
        ),
        ("schema_is({a: 1, z: 'x'}, {additional_properties: 'int'})", "false"),
        ("schema_is(nil, {type: 'string', nullable: true})", "true"),
        ("schema_is(1, {type: ['string', 'integer']})", "true"),
        ("schema_is(5, {all_of: [{min: 1}, {max: 4}]})", "false"),
        (
            "schema_is({next: {next: {}}}, {'$ref': '#/$defs/n', '$defs': {n: {properties: {next: {'$ref': '#/$defs/n'}}}}})",
            "true",
        ),
        ("json_validate(1, {'$ref': '#', type: 'int'})", "Thrown: the schema refers to itself too often"),
        ("is_type(1, 'int')", "true"),
        ("is_type(1, 'float')", "true"),
        ("is_type(1.5, 'int')", "false"),
        ("schema_of({type: 'int'})", "{type: int}"),
        (
            "schema_pick(PERSON, ['name'])",
            "{properties: {name: {type: string}}, required: [name], type: dict}",
        ),
        (
            "schema_omit(PERSON, ['name', 'role'])",
            "{properties: {age: {min: 0, type: int}}, required: [age], type: dict}",
        ),
        (
            "schema_partial({required: ['a'], properties: {a: {type: 'int', required: true}}})",
            "{properties: {a: {type: int}}}",
        ),
        (
            "schema_extend({properties: {a: 'int'}, required: ['a']}, {properties: {b: 'int'}, required: ['b']})",
            "{properties: {a: int, b: int}, required: [a, b]}",
        ),
        (
            "schema_to_json_schema({type: 'dict', properties: {n: {type: 'int', min: 1, nullable: true}}, additional_properties: false})",
            "{additionalProperties: false, properties: {n: {minimum: 1, type: [integer, null]}}, type: object}",
        ),
        (
            "schema_to_openapi_schema({type: 'list', items: 'bool', nullable: true})",
            "{items: bool, nullable: true, type: array}",
        ),
        (
            "schema_from_json_schema({type: 'object', properties: {n: {type: ['integer', 'null'], maxLength: 2}}})",
            "{properties: {n: {max_length: 2, nullable: true, type: int}}, type: dict}",
        ),
        (
            "schema_from_openapi_schema({type: 'array', anyOf: [{type: 'number'}]})",
            "{type: list, union: [{type: float}]}",
        ),
    ] {
        assert_eq!(person(call), expected, "{call}");
    }
}

#[test]
fn regular_expressions() {
    check(&[
        ("regex_match('[0-9]+', 'a1b22')", "[1, 22]"),
        ("regex_match('x', 'abc')", "nil"),
        ("regex_match('ABC', 'abc', 'i')", "[abc]"),
        ("regex_replace('(\\\\w)(\\\\w)', '$2$1', 'abcd')", "badc"),
        ("regex_replace_all('a', '-', 'banana')", "b-n-n-"),
        (
            "regex_captures('(?<k>\\\\w)=(\\\\d)?', 'a=1 b=')",
            "[{groups: [a, 1], k: a, match: a=1}, {groups: [b, nil], k: b, match: b=}]",
        ),
        ("regex_captures('x', 'abc')", "[]"),
        ("regex_split('a1b2c', '[0-9]')", "[a, b, c]"),
        ("regex_match('a', 'a', 'q')", "Thrown: Invalid regex: unknown flag 'q', expected i, m, s, x or U"),
    ]);
    assert!(told("regex_match('(', 'x')").starts_with("Thrown: Invalid regex: "));
    assert!(told("regex_match('((a{100}){100}){100}', 'x')").starts_with("Thrown: Invalid regex: "));
}

#[test]
fn bytes() {
    check(&[
        ("bytes_from_string('h\u{e9}')", "b\"68c3a9\""),
        ("bytes_from_hex('00fF')", "b\"00ff\""),
        ("bytes_from_base64('AP8=')", "b\"00ff\""),
        ("bytes_to_hex(bytes_from_hex('00ff'))", "00ff"),
        ("bytes_to_base64(bytes_from_hex('00ff'))", "AP8="),
        ("bytes_to_string(bytes_from_string('hi'))", "hi"),
        (
            "bytes_to_string(bytes_from_hex('61ff'))",
            "Thrown: bytes_to_string: the bytes are not UTF-8 from place 1 on",
        ),
        ("bytes_to_string_lossy(bytes_from_hex('61ff'))", "a\u{fffd}"),
        ("bytes_len(bytes_from_hex('0102'))", "2"),
        ("bytes_eq(bytes_from_hex('61'), 'a')", "true"),
        ("bytes_concat(bytes_from_hex('01'), bytes_from_hex('02'))", "b\"0102\""),
        ("bytes_slice(bytes_from_hex('01020304'), 1, 3)", "b\"0203\""),
        ("bytes_slice(bytes_from_hex('01020304'), -2)", "b\"0304\""),
        ("bytes_from_hex('0')", "Thrown: bytes_from_hex: invalid length at 0"),
        ("bytes_from_base64('%')", "Thrown: bytes_from_base64: invalid length at 0"),
    ]);
}

#[test]
fn templates() {
    check(&[
        (
            "render_string('{{ a }} {{ b.c }} {{ xs[0] }} {{ xs.1 }}', {a: 1, b: {c: 'x'}, xs: [7, 8]})",
            "1 x 7 8",
        ),
        ("render_string('{{ missing }}|{{ a.missing }}|', {a: {}})", "{{ missing }}||"),
        ("render_string('{{ if xs | length > 1 and xs | first == 7 }}y{{ end }}', {xs: [7, 8]})", "y"),
        (
            "render_string('{{ name | upper }} {{ name | default: \"?\" }} {{ no | default: \"?\" }}', {name: 'ann'})",
            "ANN ann ?",
        ),
        (
            "render_string('{{ xs | join: \", \" }} {{ xs | length }} {{ xs | first }} {{ xs | last }} {{ xs | reverse | json }}', {xs: [1, 2]})",
            "1, 2 2 1 2 [2,1]",
        ),
        (
            "render_string('{{ t | trim | capitalize }} {{ t | title }} {{ t | replace: \"a\", \"o\" }}', {t: ' hi all'})",
            "Hi all  Hi All  hi oll",
        ),
        (
            "render_string('{{ t | indent: 2 }}|{{ t | lines | length }}|{{ m | escape_md }}', {t: 'a\\nb', m: 'x*y'})",
            "a\n  b|2|x\\*y",
        ),
        ("render_string('{{ if a }}A{{ elif b }}B{{ else }}C{{ end }}', {a: false, b: 1})", "B"),
        ("render_string('{{ if a }}A{{ else }}C{{ end }}', {a: '  '})", "C"),
        ("render_string('{{ if n > 2 and not (x == \"y\") or false }}yes{{ end }}', {n: 3, x: 'z'})", "yes"),
        (
            "render_string('{{ for x in xs }}{{ loop.index }}/{{ loop.length }}={{ x }}{{ if not loop.last }}, {{ end }}{{ else }}none{{ end }}', {xs: ['a', 'b']})",
            "1/2=a, 2/2=b",
        ),
        ("render_string('{{ for x in xs }}{{ x }}{{ else }}none{{ end }}', {xs: []})", "none"),
        ("render_string('{{ for k, v in d }}{{ k }}={{ v }};{{ end }}', {d: {b: 1, a: 2}})", "a=2;b=1;"),
        ("render_string('a{{# {{ x }} no #}}b{{ raw }}{{ x }}{{ endraw }}c', {x: 1})", "ab{{ x }}c"),
        ("render_string('a{{# note #}}b', {})", "ab"),
        ("render_string('a  \\n {{- x -}} \\n b', {x: 1})", "a  1 b"),
        ("render_string('{{ if x }}', {})", "Thrown: Template error at line 1: 'if' without 'end'"),
        ("render_string('\\n{{ x | nope }}', {})", "Thrown: Template error at line 2: unknown filter 'nope'"),
        (
            "render_string('{{ end }}', {})",
            "Thrown: Template error at line 1: 'end' without a block that it belongs to",
        ),
        (
            "render_string('{{ x', {})",
            "Thrown: Template error at line 1: a tag that starts with {{ does not end",
        ),
        (
            "render_string('{{ include \"p\" with {a: 1} }}', {})",
            "Thrown: Template error at line 1: cannot include \"p\": only templates in files can include others",
        ),
    ]);
    let deep = format!("render_string('{}', {{x: 1}})", "{{ if x }}".repeat(40));
    assert_eq!(told(&deep), "Thrown: Template error at line 1: blocks may be nested 32 deep");
}
