//! Judges every call of `tests/corpus` and compares: a dangerous call judged too gently fails the test, a benign one
//! judged too strictly is a false alarm that is printed and counted. See the tables with `-- --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use harn_core::decision::{Access, PathFact, RiskLabel};
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use harn_core::{AutonomyTier, Decision, EffectKind, Timestamp, Verdict};
use harn_policy::{PermissionsFile, Policy, Subject, mentions};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const ROOT: &str = "/work/project";
const HOME: &str = "/home/dev";
/// As many links as Linux follows before it gives up.
const LINK_HOPS: usize = 40;

/// One file of the corpus.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Theme {
    /// Policies that cases may name; without one only the built-in rules hold.
    #[serde(default)]
    policies: BTreeMap<String, PolicyText>,
    #[serde(rename = "case")]
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyText {
    /// As it would stand in `harn.toml`.
    text: String,
}

/// One call and what should come of it. `command` and `path` are short for `args` with that one argument.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default = "run_command")]
    tool: String,
    command: Option<String>,
    path: Option<String>,
    args: Option<Map<String, Value>>,
    #[serde(default = "act_with_approval")]
    tier: AutonomyTier,
    policy: Option<String>,
    /// Symbolic links of the imagined workspace: path below the root, and target.
    #[serde(default)]
    links: BTreeMap<String, String>,
    expect: Verdict,
    /// Dangerous: nothing gentler than `expect` will do. Benign: nothing stricter should be needed.
    danger: bool,
    /// A risk label that has to be there.
    label: Option<RiskLabel>,
}

fn run_command() -> String {
    "run_command".into()
}

fn act_with_approval() -> AutonomyTier {
    AutonomyTier::ActWithApproval
}

impl Case {
    fn args(&self) -> Map<String, Value> {
        let short = match (&self.command, &self.path, &self.args) {
            (Some(command), None, None) => json!({ "command": command }),
            (None, Some(path), None) => json!({ "path": path }),
            (None, None, Some(args)) => Value::Object(args.clone()),
            _ => panic!("`{}` needs exactly one of command, path and args", self.name),
        };
        short.as_object().cloned().unwrap()
    }
}

/// What came of a case; a case whose label is missing besides is noted apart.
enum Finding {
    AsExpected,
    /// Dangerous, and judged more gently than expected.
    Miss,
    /// Benign, and judged more strictly than expected.
    FalseAlarm,
    /// Off in the harmless direction.
    Other,
}

fn compare(case: &Case, action: Verdict) -> Finding {
    match (action.cmp(&case.expect), case.danger) {
        (std::cmp::Ordering::Equal, _) => Finding::AsExpected,
        (std::cmp::Ordering::Less, true) => Finding::Miss,
        (std::cmp::Ordering::Greater, false) => Finding::FalseAlarm,
        _ => Finding::Other,
    }
}

/// The tools as the product has them; none for a tool that nobody knows.
fn spec(name: &str) -> Option<ToolSpec> {
    let path = |access| vec![("path".to_owned(), access)];
    let (class, side_effect, kind, paths) = match name {
        "read_file" | "list_dir" => (Class::Read, SideEffect::ReadOnly, ToolKind::Read, path(Access::Read)),
        "glob" | "grep" => (Class::Read, SideEffect::ReadOnly, ToolKind::Search, path(Access::Read)),
        "write_file" | "edit_file" => {
            (Class::Checkable, SideEffect::WorkspaceWrite, ToolKind::Edit, path(Access::Write))
        }
        "run_command" => (Class::Once, SideEffect::ProcessExec, ToolKind::Execute, Vec::new()),
        _ => return None,
    };
    let of_commands = |arg: &str| (kind == ToolKind::Execute).then(|| arg.to_owned());
    Some(ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}),
        output_schema: json!({}),
        class,
        side_effect,
        annotations: Annotations {
            kind,
            paths,
            command: of_commands("command"),
            network: of_commands("network"),
            urls: Vec::new(),
            capabilities: Vec::new(),
        },
    })
}

/// Where a path leads in the imagined workspace: by its words alone, and by the links of the case.
fn locate(asked: &str, access: Access, links: &BTreeMap<String, String>) -> PathFact {
    let mut ahead = segments(&from_root(asked));
    let mut at: Vec<String> = Vec::new();
    let mut hops = 0;
    while let Some(segment) = ahead.pop() {
        match segment.as_str() {
            ".." => drop(at.pop()),
            _ => at.push(segment),
        }
        let below_root = below_root(&at);
        let Some(target) = below_root.and_then(|path| links.get(&path)) else { continue };
        hops += 1;
        if hops > LINK_HOPS {
            return PathFact {
                asked: asked.into(),
                access,
                workspace_path: None,
                host_path: None,
                through_link: true,
            };
        }
        if target.starts_with('/') {
            at.clear()
        } else {
            drop(at.pop())
        }
        ahead.extend(segments(target));
    }
    let workspace_path = below_root(&at);
    let host_path = workspace_path.is_none().then(|| format!("/{}", at.join("/")));
    PathFact { asked: asked.into(), access, workspace_path, host_path, through_link: hops > 0 }
}

/// The absolute path that the words name, nothing resolved yet.
fn from_root(asked: &str) -> String {
    if asked.starts_with('/') {
        return asked.to_owned();
    }
    if let Some(rest) = asked.strip_prefix("$HOME").filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return format!("{HOME}{rest}");
    }
    let Some(homely) = asked.strip_prefix('~') else { return format!("{ROOT}/{asked}") };
    let (user, rest) = homely.split_once('/').unwrap_or((homely, ""));
    match user {
        "" => format!("{HOME}/{rest}"),
        "root" => format!("/root/{rest}"),
        user => format!("/home/{user}/{rest}"),
    }
}

/// The segments of a path, last first.
fn segments(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|segment| !matches!(*segment, "" | ".")).map(str::to_owned).collect()
}

fn below_root(at: &[String]) -> Option<String> {
    let path = format!("/{}", at.join("/"));
    let below = path.strip_prefix(ROOT)?;
    if below.is_empty() { Some(".".to_owned()) } else { below.strip_prefix('/').map(str::to_owned) }
}

fn policy(text: &str) -> Policy {
    let file = PermissionsFile::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Policy::compile(file.layers()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn decide(policy: &Policy, case: &Case) -> Decision {
    judge(policy, &case.tool, &case.args(), case.tier, &case.links)
}

fn judge(
    policy: &Policy,
    tool: &str,
    args: &Map<String, Value>,
    tier: AutonomyTier,
    links: &BTreeMap<String, String>,
) -> Decision {
    let spec = spec(tool);
    let named = spec.as_ref().map(|spec| mentions(spec, args)).unwrap_or_default();
    let paths: Vec<PathFact> = named.iter().map(|(asked, access)| locate(asked, *access, links)).collect();
    policy.decide(&Subject {
        effect: EffectKind::Tool,
        name: tool,
        spec: spec.as_ref(),
        args,
        model: None,
        paths: &paths,
        tier,
        persona: None,
        session: "ses_corpus",
        workspace: "ws_corpus",
        submitter: "usr_corpus",
        trust: Default::default(),
        now: Timestamp::from_millis(0),
    })
}

#[derive(Default)]
struct Report {
    table: String,
    misses: Vec<String>,
    false_alarms: Vec<String>,
    others: Vec<String>,
    label_misses: Vec<String>,
    cases: usize,
}

impl Report {
    fn judge(&mut self, name: &str, theme: &Theme) {
        let before = self.counts();
        let builtin = policy("");
        let policies: BTreeMap<&str, Policy> =
            theme.policies.iter().map(|(name, rules)| (name.as_str(), policy(&rules.text))).collect();
        for case in &theme.cases {
            let rules = case.policy.as_deref().map_or(&builtin, |name| &policies[name]);
            self.note(name, case, &decide(rules, case));
        }
        self.cases += theme.cases.len();
        let now = self.counts();
        let [misses, alarms, others, labels] = std::array::from_fn(|at| now[at] - before[at]);
        let count = theme.cases.len();
        writeln!(self.table, "{name:24} {count:6} {misses:7} {alarms:13} {others:6} {labels:7}").unwrap();
    }

    fn note(&mut self, theme: &str, case: &Case, decision: &Decision) {
        let rule = &decision.matched_rule;
        let call = Value::Object(case.args());
        let line = format!(
            "{theme} / {}: {} {call}: {:?} instead of {:?} in {:?}, by {:?} `{}`: {}",
            case.name,
            case.tool,
            decision.action,
            case.expect,
            case.tier,
            rule.source,
            rule.id,
            decision.reason.escape_debug()
        );
        match compare(case, decision.action) {
            Finding::AsExpected => {}
            Finding::Miss => self.misses.push(line),
            Finding::FalseAlarm => self.false_alarms.push(line),
            Finding::Other => self.others.push(line),
        }
        if let Some(label) = case.label.filter(|label| !decision.risk_labels.contains(label)) {
            let has: Vec<&str> = decision.risk_labels.iter().map(|label| label.as_str()).collect();
            self.label_misses.push(format!(
                "{theme} / {}: {call}: no `{}` in {has:?}",
                case.name,
                label.as_str()
            ));
        }
    }

    fn counts(&self) -> [usize; 4] {
        [&self.misses, &self.false_alarms, &self.others, &self.label_misses].map(Vec::len)
    }

    fn print(&self) {
        println!("theme                     cases  misses  false alarms  other  labels\n{}", self.table);
        let lists = [
            ("misses", &self.misses),
            ("false alarms", &self.false_alarms),
            ("otherwise than expected, in the harmless direction", &self.others),
            ("risk labels that are missing", &self.label_misses),
        ];
        for (title, lines) in lists {
            println!("{} {title} of {}", lines.len(), self.cases);
            lines.iter().for_each(|line| println!("  {line}"));
        }
    }
}

fn themes() -> BTreeMap<String, Theme> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let themes = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    themes
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let theme = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.file_stem().unwrap().to_string_lossy().into_owned(), theme)
        })
        .collect()
}

#[test]
fn no_dangerous_call_is_judged_too_gently() {
    let mut report = Report::default();
    for (name, theme) in &themes() {
        report.judge(name, theme);
    }
    report.print();
    assert!(report.cases >= 400, "only {} cases were found", report.cases);
    assert!(report.misses.is_empty(), "{} misses, listed above", report.misses.len());
}

#[test]
fn commands_that_are_cut_short_are_judged_as_well() {
    let policy = policy("");
    for case in themes().values().flat_map(|theme| &theme.cases) {
        let Some(command) = &case.command else { continue };
        for fifth in 1..5 {
            let cut: String = command.chars().take(command.chars().count() * fifth / 5).collect();
            let args = json!({ "command": cut }).as_object().cloned().unwrap();
            let verdict = judge(&policy, "run_command", &args, AutonomyTier::Shadow, &case.links).action;
            assert_eq!(verdict, Verdict::Deny, "{cut}");
        }
    }
}

#[test]
fn every_case_has_a_name_of_its_own() {
    for (theme, Theme { cases, .. }) in &themes() {
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len(), "two cases of {theme} have the same name");
    }
}

#[test]
fn paths_are_located_by_their_words_and_links() {
    let links: BTreeMap<String, String> =
        [("up", ".."), ("etc", "/etc"), ("here", "src/deep"), ("a", "b"), ("b", "a")]
            .map(|(from, to)| (from.to_owned(), to.to_owned()))
            .into();
    let inside = |path: &str, link| (Some(path.to_owned()), None, link);
    let outside = |path: &str, link| (None, Some(path.to_owned()), link);
    let table = [
        ("src/main.rs", inside("src/main.rs", false)),
        ("/work/project", inside(".", false)),
        ("./src//../x", inside("x", false)),
        ("../x", outside("/work/x", false)),
        ("../project/x", inside("x", false)),
        ("/work/project2/x", outside("/work/project2/x", false)),
        ("../../../../..", outside("/", false)),
        ("~", outside("/home/dev", false)),
        ("~root/x", outside("/root/x", false)),
        ("$HOME/x", outside("/home/dev/x", false)),
        ("$HOMES", inside("$HOMES", false)),
        ("up/x", outside("/work/x", true)),
        ("etc/passwd", outside("/etc/passwd", true)),
        ("here/../x", inside("src/x", true)),
        ("a", (None, None, true)),
    ];
    for (asked, expected) in table {
        let fact = locate(asked, Access::Mention, &links);
        assert_eq!((fact.workspace_path, fact.host_path, fact.through_link), expected, "{asked}");
    }
}
