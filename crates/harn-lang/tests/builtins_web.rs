//! Cookies, forms, responses, secrets, test reports, tools and skills.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{check, told};

#[test]
fn cookies() {
    check(&[
        ("cookie_parse('a=1; b=\"x y\"; a=2; bad')", "{a: 1, b: x y}"),
        ("cookie_parse({headers: {Cookie: 'a=1'}})", "{a: 1}"),
        ("cookie_parse(nil)", "{}"),
        (
            "cookie_serialize('id', 'x', {path: '/', max_age: duration_minutes(1), http_only: true, same_site: 'Lax'})",
            "id=x; Path=/; Max-Age=60; SameSite=Lax; HttpOnly",
        ),
        (
            "cookie_serialize('a b', 'x')",
            "Thrown: cookie_serialize: the name 'a b' has characters that no cookie may have",
        ),
        (
            "cookie_serialize('a', 'x\\r\\ny')",
            "Thrown: cookie_serialize: the value 'x\\r\\ny' has characters that no cookie may have",
        ),
        ("cookie_delete('id', {path: '/'})", "id=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
        ("cookie_round_trip('a=1; b=2', ['a=9; Path=/', 'b=; Max-Age=0'])", "{cookie: a=9, cookies: {a: 9}}"),
        ("cookie_round_trip('a=1')", "{cookie: a=1, cookies: {a: 1}}"),
        ("cookie_verify(cookie_sign('v', 'k'), 'k')", "{valid: true, value: v}"),
        ("cookie_verify(cookie_sign('v', 'k'), 'l')", "{valid: false, value: nil}"),
        ("cookie_verify('v', 'k')", "{valid: false, value: nil}"),
        ("cookie_sign('v', '')", "Thrown: cookie_sign: the secret must not be empty"),
        ("cookie_sign('v', nil)", "Thrown: cookie_sign: the secret must be a string or bytes, got nil"),
        ("cookie_verify('v.x')", "Thrown: cookie_verify: the secret must be a string or bytes, got nil"),
        ("session_sign({}, nil)", "Thrown: session_sign: the secret must be a string or bytes, got nil"),
        ("session_verify('x.y', 1)", "Thrown: session_verify: the secret must be a string or bytes, got int"),
        ("cookie_parse(['a=1', 'b=2; c=3'])", "{a: 1, b: 2, c: 3}"),
        ("cookie_parse({headers: {cookie: ['a=1', 'b=2']}})", "{a: 1, b: 2}"),
        (
            "cookie_serialize('a', 'x', {same_site: 'STRICT', expires: 1704445623})",
            "a=x; Expires=Fri, 05 Jan 2024 09:07:03 GMT; SameSite=Strict",
        ),
        (
            "cookie_serialize('a', 'x', {same_site: 'maybe'})",
            "Thrown: cookie_serialize: same_site must be strict, lax or none, got maybe",
        ),
        ("session_verify(session_sign({user: 1}, 'k'), 'k')", "{payload: {user: 1}, valid: true}"),
        ("session_verify('x.y', 'k')", "{payload: nil, valid: false}"),
        (
            "session_from_cookies(session_cookie('s', {user: 1}, 'k'), 's', 'k')",
            "{payload: {user: 1}, valid: true}",
        ),
        ("session_from_cookies('', 's', 'k')", "{payload: nil, valid: false}"),
    ]);
    assert!(
        told("session_cookie('s', {}, 'k', {secure: false})").ends_with("; Path=/; SameSite=Lax; HttpOnly")
    );
}

#[test]
fn forms() {
    check(&[
        (
            "bytes_to_string(json_pointer(multipart_form_data({a: 'x'}, {boundary: 'B'}), '/body'))",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--B--\r\n",
        ),
        (
            "multipart_parse('--B\\r\\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\\r\\nContent-Type: text/plain\\r\\n\\r\\nhi\\r\\n--B--\\r\\n', 'multipart/form-data; boundary=B')",
            "{fields: [{bytes: b\"6869\", content_type: text/plain, filename: a.txt, headers: {content-disposition: form-data; name=\"f\"; filename=\"a.txt\", content-type: text/plain}, name: f, text: hi}]}",
        ),
        ("multipart_form_data([{value: 'x'}])", "Thrown: multipart_form_data: a field needs a name"),
        (
            "multipart_form_data('x')",
            "Type error: multipart_form_data: fields must be a dict or a list, got string",
        ),
        ("multipart_parse('x', 'text/plain')", "Thrown: multipart_parse: the content type names no boundary"),
        (
            "multipart_parse('x', 'multipart/form-data; boundary=B')",
            "Thrown: multipart_parse: the boundary does not occur",
        ),
        (
            "multipart_parse('--B\\r\\n\\r\\nx', 'multipart/form-data; boundary=B')",
            "Thrown: multipart_parse: the last boundary is missing",
        ),
        (
            "multipart_parse('--B\\r\\n\\r\\n\\r\\n--B\\r\\n\\r\\n\\r\\n--B--', 'a; boundary=\"B\"', {max_fields: 1})",
            "Thrown: multipart_parse: a form may have 1 fields",
        ),
        ("multipart_field_text({bytes: bytes_from_string('hi')})", "hi"),
        (
            "multipart_field_text({bytes: bytes_from_hex('ff')})",
            "Thrown: multipart_field_text: the field is not UTF-8 text",
        ),
        ("multipart_field_bytes({text: 'hi'})", "b\"6869\""),
        (
            "multipart_form_data({}, {boundary: ''})",
            "Thrown: multipart_form_data: a boundary has 1 to 70 visible ASCII characters",
        ),
    ]);
    let form =
        "multipart_form_data([{name: 'f\"', filename: 'x', content: 'one'}, {name: 'g', value: 'two'}])";
    let content_type = format!("json_pointer({form}, '/content_type')");
    let parsed = told(&format!(
        "jq(multipart_parse(json_pointer({form}, '/body'), {content_type}), '.fields[] | [.name, .text]')"
    ));
    assert_eq!(parsed, "[[f\", one], [g, two]]");
}

#[test]
fn responses() {
    check(&[
        ("http_header({headers: {'Content-Type': 'x'}}, 'content-type')", "x"),
        ("http_header({a: 1}, 'b')", "nil"),
        ("http_response(404, 'no', {a: 'b'})", "{body: no, headers: {a: b}, status: 404}"),
        (
            "http_response_text('hi', {status: 201})",
            "{body: hi, headers: {content-type: text/plain; charset=utf-8}, status: 201}",
        ),
        (
            "http_response_json({a: 1})",
            "{body: {\"a\":1}, headers: {content-type: application/json}, status: 200}",
        ),
        (
            "http_response_bytes('x', {headers: {'Content-Type': 'image/png'}})",
            "{body: b\"78\", headers: {content-type: image/png}, status: 200}",
        ),
        ("eval_pack_manifest({id: 'x'})", "{id: x, version: 1}"),
        ("eval_suite_manifest(1)", "Thrown: eval_suite_manifest: payload must be a dict, got int"),
    ]);
}

#[test]
fn secrets() {
    check(&[
        ("secret_scan('nothing to see')", "[]"),
        (
            "secret_scan('a\\nkey = AKIAABCDEFGHIJKLMNOP')",
            "[{column: 7, kind: aws_access_key_id, length: 20, line: 2, preview: AKIA...}]",
        ),
        (
            "secret_scan('sk-ant-abcdefghijklmnopqrstuvwxyz')",
            "[{column: 1, kind: anthropic_key, length: 33, line: 1, preview: sk-a...}]",
        ),
        (
            "jq(secret_scan('-----BEGIN RSA PRIVATE KEY-----\\nghp_abcdefghijklmnopqrstuvwxyz0123456789 postgres://u:p@h'), 'map(.kind)')",
            "[[private_key, github_token, password_in_url]]",
        ),
    ]);
}

#[test]
fn test_reports() {
    let report = "<?xml version=\"1.0\"?><testsuites><testsuite name=\"s&amp;t\"><!-- x -->\
        <testcase classname=\"c\" name=\"ok &gt; 1\" time=\"0.5\"/>\
        <testcase classname=\"c\" name=\"bad\"><failure message=\"m &#65;\">at <![CDATA[<here>]]></failure></testcase>\
        <testcase name=\"later\"><skipped/></testcase></testsuite></testsuites>";
    assert_eq!(
        told(&format!("parse_junit_xml('{report}')")),
        "[{classname: c, details: , message: nil, name: ok > 1, status: passed, suite: s&t, time: 0.5}, \
         {classname: c, details: at <here>, message: m A, name: bad, status: failed, suite: s&t, time: nil}, \
         {classname: , details: , message: nil, name: later, status: skipped, suite: s&t, time: nil}]"
    );
    check(&[
        ("parse_junit_xml('')", "[]"),
        ("parse_junit_xml('<a')", "Thrown: parse_junit_xml: a tag does not end"),
        ("parse_junit_xml('<!-- x')", "Thrown: parse_junit_xml: '<!--' has no '-->'"),
    ]);
}

#[test]
fn tools() {
    let one = "tool_define(tool_registry(), 'add', 'Adds.', {parameters: {a: 'int', b: {type: 'int', default: 1}}, \
               handler: closure, returns: {type: 'int'}})";
    for (call, expected) in [
        ("tool_registry()", "{_type: tool_registry, tools: []}"),
        (
            "ONE",
            "{_type: tool_registry, tools: [{description: Adds., executor: harn, handler: <builtin len>, name: add, \
             outputSchema: {type: int}, parameters: {a: {type: int}, b: {default: 1, type: int}}, returns: {type: int}}]}",
        ),
        ("tool_count(tool_define(ONE, 'add', 'Other.', {handler: closure}))", "1"),
        ("tool_count(tool_define(ONE, 'sub', 'Other.', {executor: 'provider_native'}))", "2"),
        ("json_pointer(tool_find(ONE, 'add'), '/description')", "Adds."),
        ("tool_find(ONE, 'x')", "nil"),
        (
            "jq(tool_list(ONE), '.[] | keys')",
            "[[description, executor, name, outputSchema, parameters, returns]]",
        ),
        ("tool_count(tool_remove(ONE, 'add'))", "0"),
        ("tool_count(tool_select(ONE, ['add']))", "1"),
        ("tool_select(ONE, ['x'])", "Thrown: tool_select: the registry has no tool \"x\""),
        ("tool_describe(ONE)", "- add(a: int, b?: int): Adds."),
        (
            "tool_schema(ONE)",
            "{tools: [{description: Adds., inputSchema: {properties: {a: {type: integer}, b: {default: 1, type: integer}}, \
             required: [a], type: object}, name: add, outputSchema: {type: integer}}]}",
        ),
        (
            "tool_prompt(ONE)",
            "These tools are available. To call one, write:\n\n<tool_call>\n{\"name\": \"TOOL\", \"arguments\": \
             {\"NAME\": VALUE}}\n</tool_call>\n\n- add(a: int, b?: int): Adds.",
        ),
        (
            "tool_format_result('add', [1])",
            "<tool_result>\n{\"name\":\"add\",\"result\":[1]}\n</tool_result>",
        ),
        (
            "tool_parse_call('x <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call> <tool_call>no</tool_call>')",
            "[{arguments: {a: 1}, name: add}]",
        ),
        (
            "tool_define({}, 'x', '', {})",
            "Thrown: tool_define: first argument must be a tool registry (created with tool_registry())",
        ),
        (
            "tool_define(tool_registry(), 'x', '', 5)",
            "Thrown: tool_define: config must be a dict with parameters and handler",
        ),
        (
            "tool_define(tool_registry(), 'fly', '', {executor: 'rocketship'})",
            "Thrown: tool_define: unknown executor \"rocketship\" for tool \"fly\". Expected one of: \"harn\", \
             \"host_bridge\", \"mcp_server\", \"provider_native\"",
        ),
        (
            "tool_define(tool_registry(), 'ask_user', '', {executor: 'host_bridge', handler: closure, host_capability: 'a.b'})",
            "Thrown: tool_define: tool \"ask_user\" declares executor: \"host_bridge\" but also has a `handler`. Drop the \
             handler — host-bridge tools are dispatched by the host shell, not the VM.",
        ),
    ] {
        assert_eq!(told(&call.replace("ONE", one)), expected, "{call}");
    }
    for (config, start) in [
        (
            "{executor: 'host_bridge'}",
            "Thrown: tool_define: tool \"ask_user\" declares executor: \"host_bridge\" but is missing `host_capability`. \
             Set it to the canonical bridge identifier (e.g. \"interaction.ask\") so `harn check` can validate the \
             binding against the host capabilit",
        ),
        (
            "{parameters: {}}",
            "Thrown: tool_define: tool \"ask_user\" has no `handler` and no `executor`. Either attach a `handler` fn \
             (executor: \"harn\") or declare an alternate backend, e.g. executor: \"host_bridge\" + host_capability: \
             \"cap.op\", executor: \"mcp_server\" + m",
        ),
        (
            "{executor: 'mcp_server'}",
            "Thrown: tool_define: tool \"ask_user\" declares executor: \"mcp_server\" but is missing",
        ),
        (
            "{executor: 'harn'}",
            "Thrown: tool_define: tool \"ask_user\" declares executor: \"harn\" but has no `handler`",
        ),
    ] {
        let got = told(&format!("tool_define(tool_registry(), 'ask_user', '', {config})"));
        assert!(got.starts_with(start), "{got}");
    }
}

#[test]
fn skills() {
    let one = "skill_define(skill_registry(), 'deploy', {prompt: 'Run $1 with $ARGUMENTS for $$', on_activate: closure})";
    for (call, expected) in [
        ("skill_registry()", "{_type: skill_registry, skills: []}"),
        ("skill_count(ONE)", "1"),
        ("jq(skill_list(ONE), '.[] | keys')", "[[description, name, prompt]]"),
        ("json_pointer(skill_find(ONE, 'deploy'), '/name')", "deploy"),
        ("skill_find(ONE, 'x')", "nil"),
        ("skill_describe(ONE)", "- deploy: "),
        ("__skills_entries(ONE)", "[{description: , name: deploy, when_to_use: }]"),
        (
            "__skills_entries(skill_define(ONE, 'a', {short: 's', description: 'd', when_to_use: 'w'}))",
            "[{description: s, name: a, when_to_use: w}, {description: , name: deploy, when_to_use: }]",
        ),
        (
            "__skills_told(skill_define(ONE, 'a', {description: 'd', when_to_use: 'w'}))",
            "- a: d Use when: w\n- deploy: ",
        ),
        (
            "__skills_told(skill_define(ONE, 'a', {description: 'd', when_to_use: 'w'}), 20)",
            "- a: d Use when: w\n- and 1 more",
        ),
        (
            "__skills_told(5)",
            "Thrown: render_always_on_catalog: first argument must be a skill registry (created with skill_registry())",
        ),
        ("skill_count(skill_remove(ONE, 'deploy'))", "0"),
        ("skill_count(skill_select(ONE, ['x']))", "0"),
        ("skill_render(skill_find(ONE, 'deploy'), ['a', 'b'])", "Run a with a b for $"),
        ("skill_render(skill_find(ONE, 'deploy'))", "Run $1 with  for $"),
        (
            "skill_render({prompt: 'In ${HARN_SKILL_DIR} of ${HARN_SESSION_ID}, $0 ${HOME}', dir: '/s'})",
            "In /s of ${HARN_SESSION_ID}, $0 ${HOME}",
        ),
        (
            "skill_define(skill_registry(), 's', {invocation: 5})",
            "Thrown: skill_define: 'invocation' must be a string, got int",
        ),
        (
            "skill_define(skill_registry(), 's', {paths: 'x'})",
            "Thrown: skill_define: 'paths' must be a list, got string",
        ),
        (
            "skill_count(1)",
            "Thrown: skill_count: first argument must be a skill registry (created with skill_registry())",
        ),
    ] {
        assert_eq!(told(&call.replace("ONE", one)), expected, "{call}");
    }
}

#[test]
fn patterns_and_rankings() {
    for (call, expected) in [
        ("__fits_pattern('read_*', 'read_file')", "true"),
        ("__fits_pattern('read_?', 'read_file')", "false"),
        ("__fits_pattern('*', 'a/b')", "true"),
        ("__fits_pattern('*', '')", "true"),
        ("__fits_pattern('', 'a')", "false"),
        ("__fits_pattern('src/*.rs', 'src/vm/mod.rs', true)", "false"),
        ("__fits_pattern('src/**/*.rs', 'src/vm/mod.rs', true)", "true"),
        ("__fits_pattern('src/**/*.rs', 'src/mod.rs', true)", "true"),
        ("__fits_pattern('**/mod.rs', 'src/vm/mod.rs', true)", "true"),
        ("__fits_pattern('infra/**', 'infra/a/b.tf', true)", "true"),
        ("__fits_pattern('*.tf', 'infra/a/b.tf', true)", "true"),
        ("__fits_pattern('Dockerfile', 'infra/Dockerfile', true)", "true"),
        ("__near('divde', ['divide', 'add'])", "divide"),
        ("__near('fly', ['divide', 'add'])", "nil"),
        ("__word_hits('Ship it to production', 'ships production releases')", "2"),
        ("__bm25('the of', ['the log of it'])", "[0.0]"),
        ("__bm25('log', [])", "[]"),
    ] {
        assert_eq!(told(call), expected, "{call}");
    }
    // The rarer word counts more, and so does the shorter text.
    let best = "__bm25('invoice customer', ['customer mail', 'invoice', 'customer', 'weather'])";
    assert_eq!(
        told(&format!("jq({best}, '[.[1] > .[2], .[2] > .[0], .[0] > .[3], .[3] == 0]')")),
        "[[true, true, true, true]]"
    );
}
