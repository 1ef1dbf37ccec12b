//! How a script is run here, and models at the address of a fake provider.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use harn_core::chat::ModelRef;
use harn_core::run::{Budget, Limits, Shown, Trust};
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::fixture::Fixture;
use harn_engine::guard::GuardCommand;
use harn_engine::script::{Ending, ScriptProgram};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::Vm;
use harn_model::catalog::{Catalog, OverlayFile, OverlayKind};
use harn_model::{CatalogSource, Model, Models, OfflineModel, Proxy, TransportOptions};
use harn_policy::Policy;
use harn_testkit::providers::{anthropic, openai_chat};
use parking_lot::Mutex;

/// What a script printed.
#[derive(Default)]
struct Page(Mutex<String>);

impl Witness for Page {
    fn printed(&self, shown: &[Shown]) -> io::Result<()> {
        shown.iter().for_each(|shown| self.0.lock().push_str(&shown.text));
        Ok(())
    }
}

/// How a script is run.
pub struct Stage {
    pub models: Models,
    pub model: ModelRef,
    pub budget: Budget,
    pub variables: Vec<(String, String)>,
    pub fixture: Option<Arc<Fixture>>,
    pub policy: Arc<Policy>,
    pub trust: Trust,
}

impl Stage {
    pub fn with(models: Models) -> Self {
        let model = OfflineModel.reference();
        Self {
            models,
            model,
            budget: Budget::default(),
            variables: Vec::new(),
            fixture: None,
            policy: Arc::default(),
            trust: Trust::Own,
        }
    }

    /// The lines that the script prints.
    pub async fn play(self, code: &str) -> Vec<String> {
        let source = Source { name: "test.harn".into(), text: code.into() };
        let program = match compile(source, &NoModules, &Settings::default()) {
            Ok(program) => program,
            Err(problems) => panic!("{:?}", problems.all),
        };
        let vm = Vm::new(Arc::new(program), Vec::new(), harn_lang::vm::Limits::default(), 1);
        let program = ScriptProgram::new(Arc::new(Mutex::new(vm)));
        let ending = program.ending();
        let guard = GuardCommand { program: PathBuf::from("/nowhere"), args: Vec::new() };
        let options = EngineOptions::new(self.models, self.model, guard);
        let page = Arc::new(Page::default());
        let place = Place { variables: self.variables, ..Place::default() };
        let setup = Setup {
            policy: self.policy,
            trust: self.trust,
            limits: Limits { budget: self.budget, ..options.limits },
            place: Arc::new(place),
            witness: page.clone(),
            interrupts: Arc::new(Interrupts::default()),
            people: None,
            fixture: self.fixture,
        };
        ephemeral::run(&options, setup, Box::new(program)).await.expect("the script ends");
        if let Some(Ending::Failed(failure)) = &*ending.lock() {
            page.0.lock().push_str(&failure.fault.to_string());
        }
        let printed = page.0.lock();
        printed.lines().map(str::to_owned).collect()
    }
}

fn keys(name: &str) -> Option<String> {
    match name {
        "CLAUDE_KEY" | "OTHER_KEY" => Some(anthropic::KEY.into()),
        "CHAT_KEY" | "OWN_KEY" => Some(openai_chat::KEY.into()),
        _ => None,
    }
}

/// The built-in catalog, with a provider of our own at this address.
pub fn models_at(id: &str, wire: &str, key: &str, header: &str, url: &str) -> Models {
    let text = format!(
        r#"
        [[providers]]
        id = "{id}"
        wire = "{wire}"
        location = "local"
        base_url = "{url}"
        auth = {{ kind = "api_key", env = ["{key}"], header = "{header}" }}
        default_model = "big"

        [[models]]
        provider = "{id}"
        id = "big"
        aliases = ["the-big-one"]
        tools = true
        context_window = 8000
        input = ["text", "image", "document"]
        prices = {{ input = 1_000_000, output = 2_000_000 }}
        "#
    );
    let file = OverlayFile { kind: OverlayKind::Providers, path: "providers.toml", text: &text };
    let catalog = Catalog::builtin().overlaid(&[file]).unwrap();
    let options = TransportOptions { proxy: Proxy::None, ..TransportOptions::default() };
    let source = CatalogSource::new(catalog, keys, options);
    Models::new(vec![Arc::new(OfflineModel)]).with_source(Arc::new(source))
}

pub fn claude_at(url: &str) -> Models {
    models_at("claude-like", "anthropic_messages", "CLAUDE_KEY", "x_api_key", url)
}

pub fn chat_at(url: &str) -> Models {
    models_at("chat-like", "openai_chat", "CHAT_KEY", "bearer", url)
}

pub fn said(text: &'static str) -> openai_chat::Turn {
    openai_chat::Turn::Answer(openai_chat::Said { text, finish: "stop", ..openai_chat::Said::default() })
}
