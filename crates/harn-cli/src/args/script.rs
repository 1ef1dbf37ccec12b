//! Arguments of the commands for scripts.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use harn_core::narrowing::Narrowing;
use harn_core::run::ScriptLimits;

use super::{TargetArgs, TestCommand};
use crate::commands::script::host::Answers;
use crate::problem::Problem;

#[derive(Args)]
pub struct RunArgs {
    /// The script; `-` for standard input.
    #[arg(value_name = "FILE", required_unless_present = "code", conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// Code to run instead of a file.
    #[arg(short = 'e', value_name = "CODE")]
    pub code: Option<String>,
    /// Steps that the script may make, if not a hundred billion; 0 for as many as it wants.
    #[arg(long, value_name = "STEPS")]
    pub max_steps: Option<u64>,
    /// Memory that the script may use, if not 1024, or 256 as a task.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub max_memory: Option<u64>,
    /// What the script may print, if not 64; 0 for as much as it wants.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 30))]
    pub max_output: Option<u64>,
    /// The script may do only this: calls such as `read_file`, or `files`, `process`, `network`, `models`, `people`, `host`.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// The script may not do this; the same words as for --allow.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// Answers in the place of models, one JSON object in a line.
    #[arg(long, value_name = "FILE")]
    pub llm_mock: Option<PathBuf>,
    /// Write what models answer to a file for --llm-mock.
    #[arg(long, value_name = "FILE", conflicts_with = "llm_mock")]
    pub llm_mock_record: Option<PathBuf>,
    /// A folder with skills, before all others that the script finds; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub skill_dir: Vec<PathBuf>,
    /// Run it as a task of the harness, which goes on after a crash. A script that asks people or other agents, or sleeps
    /// for more than a minute, always does.
    #[arg(long, conflicts_with = "code")]
    pub durable: bool,
    /// Print the events of such a run as JSON lines.
    #[arg(long)]
    pub json: bool,
    /// What the script finds in `argv`.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub target: TargetArgs,
}

impl RunArgs {
    pub fn answers(&self) -> Answers {
        Answers { from: self.llm_mock.clone(), to: self.llm_mock_record.clone() }
    }

    /// The folders with skills, wherever the script runs.
    pub fn skills(&self) -> Result<Vec<PathBuf>> {
        let full = |folder: &PathBuf| {
            let found = folder.canonicalize().ok().filter(|folder| folder.is_dir());
            found.ok_or_else(|| {
                Problem::usage(format!("--skill-dir: {} is no folder", folder.display())).into()
            })
        };
        self.skill_dir.iter().map(full).collect()
    }

    pub fn narrowing(&self) -> Narrowing {
        Narrowing { allow: self.allow.clone(), deny: self.deny.clone() }
    }

    /// What it may use, where something is said about it.
    pub fn limits(&self) -> ScriptLimits {
        let bytes = |mib: Option<u64>| mib.map(|mib| mib << 20);
        ScriptLimits { steps: self.max_steps, memory: bytes(self.max_memory), output: bytes(self.max_output) }
    }
}

#[derive(Args)]
pub struct ScriptsArgs {
    /// Scripts, and folders with scripts.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
    /// End with 1 if there are warnings, too.
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args)]
pub struct FormatArgs {
    /// Scripts, and folders with scripts.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Change nothing; list what would change, and end with 1 if anything would.
    #[arg(long)]
    pub check: bool,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct TestArgs {
    #[command(subcommand)]
    pub command: Option<TestCommand>,
    /// A script with tests, or a folder with such scripts; `tests` if nothing is said.
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Only tests with this in `FILE::NAME`.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// What one test may take.
    #[arg(long, default_value_t = 30_000, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Run several tests at a time; as many as there are processors, if no number is given.
    #[arg(long, value_name = "JOBS", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub parallel: Option<usize>,
    /// Write the outcomes to a JUnit file, too.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Show what tests print even if they pass.
    #[arg(short, long)]
    pub verbose: bool,
    /// Show how long each test took.
    #[arg(long)]
    pub timing: bool,
    /// Run every test twice; it fails if the two runs print or ask for different things.
    #[arg(long)]
    pub determinism: bool,
    /// Let tests reach models and the network, and keep what they were given in `fixtures/` beside each test.
    #[arg(long)]
    pub record: bool,
    /// Answer from what --record has kept; what it has not fails.
    #[arg(long, conflicts_with_all = ["record", "network"])]
    pub replay: bool,
    /// Let tests reach models and the network.
    #[arg(long)]
    pub network: bool,
    /// Run the tests again whenever a script changes, until Ctrl-C.
    #[arg(long)]
    pub watch: bool,
}

impl TestArgs {
    pub fn path(&self) -> PathBuf {
        self.path.clone().unwrap_or_else(|| PathBuf::from("tests"))
    }
}

#[derive(Args)]
pub struct ProgramsArgs {
    /// A program, or a folder with programs.
    #[arg(value_name = "PATH", default_value = "conformance")]
    pub path: PathBuf,
    /// Only programs with this in their name: parts or globs with `|` between them, or `re:` and a regular expression.
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// What one program may take.
    #[arg(long, default_value_t = 30_000, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Run several programs at a time; as many as there are processors, if no number is given.
    #[arg(long, value_name = "JOBS", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub parallel: Option<usize>,
    /// Show what programs print even if they pass.
    #[arg(short, long)]
    pub verbose: bool,
    /// Show how long each program took.
    #[arg(long)]
    pub timing: bool,
}

#[derive(Args)]
pub struct NewArgs {
    /// The folder to make.
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub name: Option<PathBuf>,
    /// What to put into it; see --list.
    #[arg(long, value_name = "TEMPLATE", default_value = "script")]
    pub template: String,
    /// List the templates.
    #[arg(long)]
    pub list: bool,
}
