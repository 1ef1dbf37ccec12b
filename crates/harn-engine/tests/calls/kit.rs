//! A folder to run scripts in, and what becomes of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::chat::ModelRef;
use harn_core::run::{Channel, Shown, Trust};
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::guard::GuardCommand;
use harn_engine::script::{Ending, ScriptProgram};
use harn_engine::secrets::{Kept, May, Secrets};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::{Limits, Vm};
use harn_model::Models;
use harn_policy::{PermissionsFile, Policy};
use parking_lot::Mutex;
use tempfile::TempDir;

/// A folder with a project in it, so that there is an outside.
pub struct Scene {
    dir: TempDir,
    pub trust: Trust,
    /// `[permissions]` of the owner.
    pub permissions: String,
    pub variables: Vec<(String, String)>,
    /// The script's file, from the project on.
    pub file: &'static str,
    pub secrets: Arc<Secrets>,
}

/// What was printed, and after it the error that nobody caught.
#[derive(Default)]
struct Printed(Mutex<String>);

impl Witness for Printed {
    fn printed(&self, shown: &[Shown]) -> std::io::Result<()> {
        let out = shown.iter().filter(|part| part.to == Channel::Out);
        out.for_each(|part| self.0.lock().push_str(&part.text));
        Ok(())
    }
}

impl Scene {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let secrets = Arc::new(Secrets::at(dir.path().join("secrets"), Some(Kept::File)));
        let (permissions, variables) = (String::new(), Vec::new());
        Self { dir, trust: Trust::Own, permissions, variables, file: "main.harn", secrets }
    }

    /// A script that somebody else wrote.
    pub fn judged() -> Self {
        Self { trust: Trust::Judged, ..Self::new() }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    /// A path beside the project.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A secret that may go to these hosts and programs.
    pub fn secret(&self, name: &str, value: &str, hosts: &[&str], programs: &[&str]) {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        self.secrets.put(name, value, May { hosts: owned(hosts), programs: owned(programs) }).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn place(&self) -> Place {
        let place = Place::of(self.root(), Some(Path::new(self.file)));
        Place { variables: self.variables.clone(), ..place }
    }

    /// What a script prints, and its error as the last line.
    pub fn run(&self, text: &str) -> String {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(self.go(text))
    }

    async fn go(&self, text: &str) -> String {
        let source = Source { name: self.file.into(), text: text.into() };
        let program = match compile(source, &NoModules, &Settings::default()) {
            Ok(program) => Arc::new(program),
            Err(problems) => panic!("{:?}", problems.all.iter().map(|p| &p.message).collect::<Vec<_>>()),
        };
        let vm = Vm::new(program, Vec::new(), Limits::default(), 1);
        let program = ScriptProgram::new(Arc::new(Mutex::new(vm)));
        let ending = program.ending();
        let printed = Arc::new(Printed::default());
        let options = EngineOptions { secrets: Arc::clone(&self.secrets), ..options() };
        let layers = PermissionsFile::parse(&self.permissions).unwrap().layers();
        let setup = Setup {
            policy: Arc::new(Policy::compile(layers).unwrap()),
            trust: self.trust,
            limits: options.limits,
            place: Arc::new(self.place()),
            witness: Arc::clone(&printed) as Arc<dyn Witness>,
            interrupts: Arc::new(Interrupts::default()),
            people: None,
            fixture: None,
        };
        ephemeral::run(&options, setup, Box::new(program)).await;
        let mut output = std::mem::take(&mut *printed.0.lock());
        match ending.lock().take() {
            Some(Ending::Failed(failure)) => {
                let message = failure.fault.to_string();
                output.push_str(message.strip_prefix("Thrown: ").unwrap_or(&message));
            }
            Some(_) => {}
            None => output.push_str("it did not end"),
        }
        output
    }
}

/// `[permissions]` that deny what this matches.
pub fn denied(what: &str) -> String {
    format!("[[permissions.rules]]\nid = \"closed\"\naction = \"deny\"\nmatch = {{ {what} }}\n")
}

pub fn options() -> EngineOptions {
    let guard = GuardCommand { program: guard_program(), args: Vec::new() };
    let model = ModelRef { provider: "none".into(), model: "none".into() };
    EngineOptions::new(Models::new(Vec::new()), model, guard)
}

/// The example `guard`, which cargo builds along with the tests.
pub fn guard_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/guard");
    assert!(program.exists(), "{program:?} is missing: run `cargo build -p harn-engine --examples`");
    program
}
