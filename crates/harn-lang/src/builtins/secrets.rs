//! Finds keys and tokens in text by the forms that well-known services give them.

use super::args;
use super::{Cx, Group, pure, regex};
use crate::fault::Fault;
use crate::value::Value;

pub static SECRETS: Group = Group {
    title: "Secrets in text",
    builtins: &[pure(
        "secret_scan",
        "content",
        "list",
        "The keys and tokens in a text: `kind`, `line`, `column`, `length` and a `preview` without the secret.",
        secret_scan,
    )],
};

/// The kind of a secret and what it looks like. More specific forms come first.
const FORMS: &[(&str, &str)] = &[
    ("private_key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    ("aws_access_key_id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})"),
    ("gitlab_token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("slack_token", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("slack_webhook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    ("stripe_key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("google_api_key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("anthropic_key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai_key", r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("npm_token", r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi_token", r"\bpypi-[A-Za-z0-9_-]{32,}"),
    ("sendgrid_key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("password_in_url", r"\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s:/@]+@"),
];

fn secret_scan(cx: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    let text = args::text(cx, args, 0)?;
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (kind, form) in FORMS {
        let form = regex::compiled(cx, form, "")?;
        cx.work(text.len());
        for one in form.find_iter(&text) {
            cx.charge(512)?;
            found.push((one.start(), one.end(), kind));
        }
    }
    // Stable: of two that start together, the more specific one stays.
    found.sort_by_key(|(start, _, _)| *start);
    let (mut covered, mut line, mut line_start, mut seen) = (0, 1, 0, 0);
    let mut findings = Vec::new();
    for (start, end, kind) in found.into_iter() {
        if start < covered {
            continue;
        }
        covered = end;
        for (at, _) in text[seen..start].match_indices('\n') {
            line += 1;
            line_start = seen + at + 1;
        }
        seen = start;
        let secret = &text[start..end];
        let shown: String = secret.chars().take(4).collect();
        findings.push(Value::record([
            ("kind", kind.into()),
            ("line", Value::Int(line)),
            ("column", args::number(text[line_start..start].chars().count() + 1)),
            ("length", args::number(secret.chars().count())),
            ("preview", format!("{shown}...").into()),
        ]));
    }
    Ok(Value::list(findings))
}
