//! The rules that hold without any configuration.

use harn_core::decision::{Access, RiskLabel};
use harn_core::tool::SideEffect;
use harn_core::{AutonomyTier, Verdict};

use crate::danger::{self, Danger};
use crate::embedded::hides_danger;
use crate::facts::{Act, Facts, SeenPath};
use crate::lookalike::pretends;
use crate::{paths, reading};

/// A rule of the floor. The order of the variants is the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Builtin {
    HarnFolder,
    OutsideWorkspace,
    SensitivePath,
    DestructiveCommand,
    UnparsedCommand,
    UnknownProgram,
    PipeToShell,
    Privilege,
    Lookalike,
    OutsideMention,
    PossibleSecret,
    PolicyFile,
    GitSettings,
    CiFile,
    ShellStartup,
    GitPush,
    Publish,
    RecursiveDelete,
    EmbeddedCommand,
    ReadingCommand,
}

/// What a built-in rule is about, for labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Path,
    Command,
}

impl Builtin {
    pub const fn id(self) -> &'static str {
        match self {
            Self::HarnFolder => "builtin.harn_folder",
            Self::OutsideWorkspace => "builtin.outside_workspace",
            Self::SensitivePath => "builtin.sensitive_path",
            Self::DestructiveCommand => "builtin.destructive_command",
            Self::UnparsedCommand => "builtin.unparsed_command",
            Self::UnknownProgram => "builtin.dynamic_program",
            Self::PipeToShell => "builtin.pipe_to_shell",
            Self::Privilege => "builtin.privilege_escalation",
            Self::Lookalike => "builtin.unicode_lookalike",
            Self::OutsideMention => "builtin.outside_mention",
            Self::PossibleSecret => "builtin.possible_secret",
            Self::PolicyFile => "builtin.policy_file",
            Self::GitSettings => "builtin.git_settings",
            Self::CiFile => "builtin.ci_file",
            Self::ShellStartup => "builtin.shell_startup",
            Self::GitPush => "builtin.git_push",
            Self::Publish => "builtin.publish",
            Self::RecursiveDelete => "builtin.recursive_delete",
            Self::EmbeddedCommand => "builtin.embedded_command",
            Self::ReadingCommand => "builtin.reading_command",
        }
    }

    pub const fn action(self) -> Verdict {
        match self {
            Self::HarnFolder | Self::OutsideWorkspace | Self::SensitivePath | Self::DestructiveCommand => {
                Verdict::Deny
            }
            Self::ReadingCommand => Verdict::Allow,
            _ => Verdict::Ask,
        }
    }

    pub const fn about(self) -> About {
        match self {
            Self::HarnFolder
            | Self::OutsideWorkspace
            | Self::SensitivePath
            | Self::OutsideMention
            | Self::PossibleSecret
            | Self::PolicyFile
            | Self::GitSettings
            | Self::CiFile
            | Self::ShellStartup => About::Path,
            _ => About::Command,
        }
    }

    /// Why, as the end of a sentence.
    pub const fn because(self) -> &'static str {
        match self {
            Self::HarnFolder => "the folder `.harn` belongs to the harness",
            Self::OutsideWorkspace => "that is outside of the workspace",
            Self::SensitivePath => "such a path usually holds secrets",
            Self::DestructiveCommand => "the damage could not be undone",
            Self::UnparsedCommand => "nobody can say what it would do",
            Self::UnknownProgram => "which program runs is only known when it runs",
            Self::PipeToShell => "what it reads would be run as a program",
            Self::Privilege => "it asks for the rights of another user",
            Self::Lookalike => "it has characters that look like others",
            Self::OutsideMention => "it names a path outside of the workspace",
            Self::PossibleSecret => "the pattern may also mean a file with secrets",
            Self::PolicyFile => "`harn.toml` holds the rules themselves",
            Self::GitSettings => "git runs or obeys what is there",
            Self::CiFile => "a build service runs what is there",
            Self::ShellStartup => "a shell runs what is there when it starts",
            Self::GitPush => "commits would leave this machine",
            Self::Publish => "a package would be published",
            Self::RecursiveDelete => "files would be gone",
            Self::EmbeddedCommand => "one of its words holds a command that is dangerous by itself",
            Self::ReadingCommand => "it only reads",
        }
    }
}

/// Paths for which built-in denials do not hold.
pub trait Waivers {
    fn waived(&self, rule: Builtin, path: &SeenPath) -> bool;
}

/// The first built-in denial that an act meets.
pub fn denial(facts: &Facts<'_>, act: Act, waivers: &impl Waivers) -> Option<Builtin> {
    let own = facts.act_paths(act).iter().map(|path| &facts.paths[*path]);
    let by_path = own.filter_map(|path| path_denial(path, waivers)).min();
    let ruin = match act {
        Act::Command(index) => facts.analysis.fork_bomb || facts.dangers[index] == Some(Danger::Ruin),
        Act::Unparsed => facts.analysis.fork_bomb,
        _ => false,
    };
    by_path.into_iter().chain(ruin.then_some(Builtin::DestructiveCommand)).min()
}

fn path_denial(path: &SeenPath, waivers: &impl Waivers) -> Option<Builtin> {
    let named = |test: fn(&str) -> bool| path.folded.iter().any(|name| test(name));
    if named(paths::in_harn_folder) {
        return Some(Builtin::HarnFolder);
    }
    if is_outside(path) && denied_outside(path) && !waivers.waived(Builtin::OutsideWorkspace, path) {
        return Some(Builtin::OutsideWorkspace);
    }
    let sensitive = named(paths::is_sensitive) && !waivers.waived(Builtin::SensitivePath, path);
    sensitive.then_some(Builtin::SensitivePath)
}

pub fn is_outside(path: &SeenPath) -> bool {
    path.fact.workspace_path.is_none()
}

fn denied_outside(path: &SeenPath) -> bool {
    let leads = path.leads().unwrap_or(&path.fact.asked);
    match (path.in_command, path.fact.access) {
        (false, _) => true,
        (true, Access::Mention) => false,
        (true, Access::Read) => !paths::harmless_outside(leads),
        (true, Access::Write) => !paths::swallows(leads) && !leads.starts_with("/tmp/"),
    }
}

/// Every built-in question about an act, in order: those about its command, and those about its paths.
pub fn questions(facts: &Facts<'_>, act: Act, waivers: &impl Waivers) -> Vec<Builtin> {
    let mut found = Vec::new();
    match act {
        Act::Command(index) => {
            let command = &facts.analysis.commands[index];
            let traits = command.traits;
            let danger = facts.dangers[index];
            let checks = [
                (traits.unknown_program, Builtin::UnknownProgram),
                (traits.runs_input, Builtin::PipeToShell),
                (traits.privileged, Builtin::Privilege),
                (command.words.first().is_some_and(|word| pretends(&word.text)), Builtin::Lookalike),
                (danger::steers_git(command), Builtin::GitSettings),
                (danger == Some(Danger::Push), Builtin::GitPush),
                (danger == Some(Danger::Publish), Builtin::Publish),
                (danger == Some(Danger::Delete), Builtin::RecursiveDelete),
                (hides_danger(command), Builtin::EmbeddedCommand),
            ];
            found.extend(checks.into_iter().filter_map(|(holds, rule)| holds.then_some(rule)));
        }
        Act::Unparsed => found.push(Builtin::UnparsedCommand),
        Act::Whole | Act::Path(_) | Act::Host(_) => {}
    }
    for path in facts.act_paths(act) {
        path_questions(&facts.paths[*path], waivers, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn path_questions(path: &SeenPath, waivers: &impl Waivers, found: &mut Vec<Builtin>) {
    let named = |test: fn(&str) -> bool| path.folded.iter().any(|name| test(name));
    let mentioned = path.in_command && path.fact.access == Access::Mention && is_outside(path);
    let leads = path.leads().unwrap_or(&path.fact.asked);
    let harmless = match path.touch {
        reading::Touch::Changes => paths::swallows(leads) || leads.starts_with("/tmp/"),
        reading::Touch::Reads | reading::Touch::Unknown => paths::harmless_outside(leads),
    };
    let changes = path.may_change();
    let checks = [
        (pretends(&path.fact.asked), Builtin::Lookalike),
        (mentioned && !harmless && !waivers.waived(Builtin::OutsideWorkspace, path), Builtin::OutsideMention),
        (
            path.in_command && path.names.iter().any(|name| paths::may_hold_secret(&name.to_lowercase())),
            Builtin::PossibleSecret,
        ),
        (changes && named(paths::is_policy_file), Builtin::PolicyFile),
        (changes && named(paths::steers_git), Builtin::GitSettings),
        (changes && named(paths::is_ci_file), Builtin::CiFile),
        (changes && named(paths::is_shell_startup), Builtin::ShellStartup),
    ];
    found.extend(checks.into_iter().filter_map(|(holds, rule)| holds.then_some(rule)));
}

/// Whether an act is a command that only reads, inside of the workspace.
pub fn reads(facts: &Facts<'_>, act: Act, waivers: &impl Waivers) -> bool {
    let Act::Command(index) = act else { return false };
    let inside = |path: &SeenPath| {
        !is_outside(path)
            || waivers.waived(Builtin::OutsideWorkspace, path)
            || path.leads().is_some_and(paths::swallows)
    };
    facts.reach != SideEffect::Network
        && reading::only_reads(&facts.analysis.commands[index])
        && facts.command_paths[index].iter().all(|path| inside(&facts.paths[*path]))
}

/// What the tier says, as rule, verdict and sentence.
pub struct TierRule {
    pub id: &'static str,
    pub index: u32,
    pub action: Verdict,
    pub says: &'static str,
}

/// What the tier forbids whatever the rules say.
pub fn ceiling(tier: AutonomyTier, reach: SideEffect) -> Option<TierRule> {
    let rule = |id, index, says| Some(TierRule { id, index, action: Verdict::Deny, says });
    match tier {
        AutonomyTier::Shadow if reach > SideEffect::None => {
            rule("tier.shadow", 0, "the tier `shadow` performs nothing")
        }
        AutonomyTier::Suggest if reach > SideEffect::ReadOnly => {
            rule("tier.suggest", 1, "the tier `suggest` may read but not change anything")
        }
        _ => None,
    }
}

/// What holds when no rule matched.
pub fn default(tier: AutonomyTier, reach: SideEffect) -> TierRule {
    let rule = |id, index, action, says| TierRule { id, index, action, says };
    match (reach, tier) {
        (SideEffect::None, _) => rule("reach.none", 2, Verdict::Allow, "it touches nothing"),
        (SideEffect::ReadOnly, _) => rule("reach.read_only", 3, Verdict::Allow, "it only reads"),
        (_, AutonomyTier::ActAuto) => {
            rule("tier.act_auto", 5, Verdict::Allow, "the tier `act_auto` lets it happen without a question")
        }
        _ => rule(
            "tier.act_with_approval",
            4,
            Verdict::Ask,
            "the tier `act_with_approval` asks a person first",
        ),
    }
}

/// What holds for a script that its owner runs himself, when no rule matched.
pub fn own_script() -> TierRule {
    TierRule {
        id: "script.own",
        index: 6,
        action: Verdict::Allow,
        says: "a script that its owner runs may do what no rule forbids",
    }
}

/// The labels of a path by itself.
pub fn path_labels(path: &SeenPath, labels: &mut Vec<RiskLabel>) {
    let named = |test: fn(&str) -> bool| path.folded.iter().any(|name| test(name));
    let swallowed = path.leads().is_some_and(paths::swallows);
    let checks = [
        (is_outside(path) && !swallowed, RiskLabel::OutsideWorkspace),
        (named(paths::is_sensitive), RiskLabel::SensitivePath),
        (path.fact.through_link, RiskLabel::Symlink),
        (named(paths::is_policy_file), RiskLabel::PolicyFile),
        (pretends(&path.fact.asked), RiskLabel::Lookalike),
        (path.fact.access == Access::Write && !is_outside(path), RiskLabel::WorkspaceWrite),
    ];
    labels.extend(checks.into_iter().filter_map(|(holds, label)| holds.then_some(label)));
}
