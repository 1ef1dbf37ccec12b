//! Nothing is left out: every error text that is promised and every rule has its test.

use std::fs;
use std::path::{Path, PathBuf};

/// Programs that end with an error, and what it contains.
const ERRORS: &[(&str, &str)] = &[
    ("errors/runtime/date_parse_invalid", "Cannot parse date"),
    ("errors/runtime/deadline_timeout", "Deadline exceeded"),
    ("errors/runtime/delete_nonexistent", "Failed to delete file"),
    ("errors/runtime/exec_missing_cmd", "exec: command is required"),
    ("errors/runtime/json_extract_bad", "json_extract: failed to parse JSON"),
    ("errors/runtime/json_validate_required", "missing required key 'age'"),
    ("errors/runtime/json_validate_type", "expected type 'string', got 'int'"),
    ("errors/runtime/list_index_oob", "Index 10 out of bounds for list of length 3"),
    ("errors/runtime/llm_calls_disabled", "HARN_LLM_CALLS_DISABLED"),
    ("errors/runtime/mcp_connect_bad_cmd", "mcp_connect: failed to spawn"),
    ("errors/runtime/range_index_oob", "re:range index out of range"),
    ("errors/runtime/require_failed", "math broke"),
    ("errors/runtime/stdlib_math_correlation_constant", "correlation requires non-constant inputs"),
    ("errors/runtime/stdlib_math_covariance_mismatch", "xs and ys must have the same length"),
    ("errors/runtime/stdlib_math_kmeans_bad_dims", "all points must have the same dimension"),
    ("errors/runtime/stdlib_math_kmeans_invalid_k", "k must be at least 1"),
    ("errors/runtime/stdlib_math_median_empty", "items must not be empty"),
    ("errors/runtime/stdlib_math_moving_avg_bad_window", "window must not exceed the number of items"),
    ("errors/runtime/stdlib_math_normal_quantile_invalid", "probability must be between 0 and 1"),
    ("errors/runtime/stdlib_math_percentile_invalid", "percentile must be between 0 and 100"),
    ("errors/runtime/stdlib_math_sample_variance_too_small", "sample variance requires at least 2 values"),
    ("errors/runtime/stdlib_math_softmax_bad_temp", "temperature must be greater than 0"),
    ("errors/runtime/stdlib_math_vector_mismatch", "vectors must have the same length"),
    ("errors/runtime/stdlib_math_weighted_choice_zero_total", "weights must sum to a positive value"),
    ("errors/runtime/stdlib_math_weighted_mean_bad_weights", "items and weights must have the same length"),
    ("errors/runtime/stdlib_math_zero_vector", "cannot normalize a zero vector"),
    ("errors/runtime/uncaught_throw", "Thrown: fatal"),
    (
        "errors/semantic/adt_non_exhaustive_match",
        "re:Non-exhaustive match on enum Action.* missing variants .*Edit",
    ),
    ("errors/semantic/agent_invalid", "agent_config: first argument must be an agent (created with agent())"),
    ("errors/semantic/compound_assign_immutable", "immutable"),
    ("errors/semantic/destructure_dict_as_list", "cannot destructure dict with [...] pattern"),
    ("errors/semantic/destructure_int_as_dict", "cannot destructure int with {...} pattern"),
    ("errors/semantic/destructure_list_as_dict", "cannot destructure list with {...} pattern"),
    ("errors/semantic/destructure_string_as_list", "cannot destructure string with [...] pattern"),
    ("errors/semantic/did_you_mean_builtin", "did you mean"),
    ("errors/semantic/did_you_mean_variable", "did you mean `response`"),
    ("errors/semantic/discard_binding_undefined", "Undefined variable: _"),
    ("errors/semantic/immutable_assignment", "Cannot assign to immutable binding: x"),
    ("errors/semantic/let_redeclare", "Cannot redeclare immutable variable 'x' in the same scope"),
    ("errors/semantic/mcp_serve_invalid", "argument must be a tool registry"),
    ("errors/semantic/shape_missing_field", "declared as {name: string, age: int}, but assigned {age: int}"),
    (
        "errors/semantic/shape_union_non_exhaustive_match",
        "re:Non-exhaustive match on tagged shape union: missing variants .*pong",
    ),
    (
        "errors/semantic/shape_wrong_field_type",
        "declared as {name: string, age: int}, but assigned {name: int, age: int}",
    ),
    ("errors/semantic/skill_define_invalid", "re:skill_define: 'invocation' must be a string"),
    ("errors/semantic/spread_non_dict", "cannot destructure int with {...} pattern"),
    ("errors/semantic/spread_non_list", "cannot destructure int with [...] pattern"),
    (
        "errors/semantic/tool_define_host_bridge_missing_capability",
        "tool_define: tool \"ask_user\" declares executor: \"host_bridge\" but is missing `host_capability`. Set it to the canonical bridge identifier (e.g. \"interaction.ask\") so `harn check` can validate the binding against the host capabilit",
    ),
    (
        "errors/semantic/tool_define_host_bridge_with_handler",
        "tool_define: tool \"ask_user\" declares executor: \"host_bridge\" but also has a `handler`. Drop the handler — host-bridge tools are dispatched by the host shell, not the VM.",
    ),
    ("errors/semantic/tool_define_invalid", "tool_define: config must be a dict with parameters and handler"),
    (
        "errors/semantic/tool_define_no_handler_no_executor",
        "tool_define: tool \"ask_user\" has no `handler` and no `executor`. Either attach a `handler` fn (executor: \"harn\") or declare an alternate backend, e.g. executor: \"host_bridge\" + host_capability: \"cap.op\", executor: \"mcp_server\" + m",
    ),
    (
        "errors/semantic/tool_define_unknown_executor",
        "tool_define: unknown executor \"rocketship\" for tool \"fly\". Expected one of: \"harn\", \"host_bridge\", \"mcp_server\", \"provider_native\"",
    ),
    ("errors/semantic/undefined_builtin", "call target `nonexistent_function` is not defined or imported"),
    ("errors/semantic/undefined_variable", "Undefined variable: undefined_var"),
    (
        "errors/syntax/default_after_required",
        "Required parameter cannot follow a parameter with a default value",
    ),
    ("errors/syntax/missing_close_brace", "Unexpected end of file, expected }"),
    ("errors/syntax/multiple_parse_errors", "Expected expression"),
    ("errors/syntax/unexpected_character", "Unexpected character '`' at 2:11"),
    ("errors/syntax/unexpected_token", "Unexpected end of file, expected expression"),
    ("errors/syntax/unterminated_string", "Unterminated string at 2:11"),
    ("errors/types/binop_add_type_error", "re:can't add \\w+ and \\w+"),
    ("errors/types/binop_mul_type_error", "re:can't multiply \\w+ and \\w+ \\(try string \\* int\\)"),
    ("errors/types/binop_runtime_type_error", "re:Cannot (add|subtract|multiply) \\w+ (and|from) \\w+"),
    ("errors/types/binop_sub_type_error", "re:can't use '-' on \\w+ and \\w+ \\(needs numeric operands\\)"),
    ("errors/types/channel_send_wrong_type", "first argument must be a channel"),
    ("errors/types/property_on_int", "cannot access property"),
    ("errors/types/type_check_runtime", "Argument 1 ('a'): expected int, got string"),
    ("errors/types/type_mismatch_fn_param", "expected int, got string"),
    ("errors/types/type_mismatch_let", "declared as int, but assigned string"),
    ("errors/types/type_mismatch_param", "expected int, got string"),
    ("errors/types/type_mismatch_return", "return type doesn't match: expected int, got string"),
    ("tests/collections/iter_type_error", "declared as list<int>, but assigned iter"),
    ("tests/errors_tests/try_catch_expr_rethrow", "Thrown: OtherError.Kind(mismatch)"),
    ("tests/errors_tests/try_star_top_level", "try* requires an enclosing function"),
    ("tests/errors_tests/try_star_typed_catch_mismatch", "Thrown: AppError.NotFound(user)"),
    (
        "tests/integration/agent_loop_profile_invalid",
        "profile must be one of tool_using, researcher, verifier, completer",
    ),
    ("tests/language/semicolon_empty_statement_invalid", "got ;"),
    ("tests/language/semicolon_if_else_invalid", "expected statement separator (`;` or newline)"),
    ("tests/language/semicolon_if_else_invalid", "else"),
    ("tests/language/semicolon_try_catch_invalid", "expected statement separator (`;` or newline)"),
    ("tests/language/semicolon_try_catch_invalid", "catch"),
    ("tests/modules/pub_import_duplicate", "Import collision: 'duplicate'"),
    ("tests/templates/template_include_cycle", "circular include detected"),
    ("tests/types/generic_binding_conflict", "type parameter 'T' was inferred as both int and string"),
    (
        "tests/types/interface_associated_type_default",
        "associated type 'Item' resolves to 'string', expected 'int'",
    ),
    ("tests/types/interface_constraint_param_type", "does not satisfy interface 'Processor'"),
    ("tests/types/interface_constraint_return_type", "does not satisfy interface 'Sizable'"),
    ("tests/types/stream_generator_distinct", "declared as Generator<int>, but assigned Stream<int>"),
    ("tests/types/stream_rejects_yield", "use `emit` inside `gen fn`"),
    ("tests/types/typed_pipeline_mismatch", "return type doesn't match"),
    ("tests/types/unknown_requires_narrowing", "'s' declared as string, but assigned unknown"),
    ("tests/types/variance_list_invariant_write", "'ys' declared as list<float>"),
    ("tests/types/variance_user_generic_in_violation", "declared 'in'"),
    ("tests/types/variance_user_generic_out_violation", "declared 'out'"),
];

/// Those that no program of the suite can show, which has neither files nor processes nor models, and why.
const NEED_A_HOST: &[(&str, &str)] = &[
    ("errors/runtime/delete_nonexistent", "deletes a file"),
    ("errors/runtime/exec_missing_cmd", "starts a process"),
    ("errors/runtime/llm_calls_disabled", "calls a model"),
    ("errors/runtime/mcp_connect_bad_cmd", "starts a server of tools"),
    ("errors/semantic/mcp_serve_invalid", "serves tools"),
    (
        "tests/templates/template_include_cycle",
        "reads files: `what_goes_wrong_is_told_with_its_line` of templates.rs",
    ),
];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

#[test]
fn every_error_text_has_its_program() {
    for (name, text) in ERRORS {
        if NEED_A_HOST.iter().any(|(known, _)| known == name) {
            continue;
        }
        let program = tests().join("suite").join(name.trim_start_matches("tests/"));
        assert!(program.with_extension("harn").is_file(), "{name} has no program");
        let expected = fs::read_to_string(program.with_extension("error")).unwrap_or_default();
        assert!(expected.lines().any(|line| line.contains(text)), "{name} does not expect: {text}");
    }
    for (name, reason) in NEED_A_HOST {
        assert!(ERRORS.iter().any(|(known, _)| known == name) && !reason.is_empty(), "{name}");
    }
}

/// `folder/program`, `file.rs: function` or `harn-cli/tests/file.rs: function`.
fn is_there(named: &str) -> bool {
    let Some((file, function)) = named.split_once(": ") else {
        return tests().join("suite").join(named).with_extension("harn").is_file();
    };
    let file = match file.starts_with("harn-cli/") {
        true => tests().join("../..").join(file),
        false => tests().join(file),
    };
    fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {function}()")))
}

#[test]
fn every_rule_has_a_test_that_is_there() {
    let text = fs::read_to_string(tests().join("suite/COVERAGE.md")).expect("the table of rules");
    let mut rules = 0;
    for line in text.lines().filter(|line| line.starts_with("| ") && *line != "| rule | shown by |") {
        let (_, shown) = line.trim_end_matches(" |").rsplit_once(" | ").expect("two columns");
        let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{line}");
        for name in named {
            assert!(is_there(name), "{name}, which is to show: {line}");
        }
        rules += 1;
    }
    assert!(rules > 100, "{rules} rules");
}

/// Programs about rules are there to be found: each is in the table.
#[test]
fn every_program_about_a_rule_is_in_the_table() {
    let table = fs::read_to_string(tests().join("suite/COVERAGE.md")).expect("the table of rules");
    for path in super::programs() {
        let path = path.with_extension("");
        let Ok(name) = path.strip_prefix(tests().join("suite")) else { continue };
        let name = name.to_str().expect("a plain path");
        assert!(!name.starts_with("rules/") || table.contains(&format!("`{name}`")), "{name}");
    }
}
