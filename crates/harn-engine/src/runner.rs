//! The engine as the harness knows it: what new runs are made of, and how to drive one.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::Part;
use harn_core::chat::ModelRef;
use harn_core::ports::{
    Directory, Export, HostPort, RunExit, RunPort, Runner, Runs, ScriptChoice, Setting, SkillFile,
};
use harn_core::route::{FallbackOn, MOST_FALLBACKS, Route};
use harn_core::run::{Budget, Image, Limits, ScriptImage};
use harn_core::tool::ToolSpec;
use harn_model::{ModelCard, Models};
use serde_json::{Value, json};

use crate::agent::{PROGRAM, SEMANTICS};
use crate::calls::{self, Place};
use crate::driver;
use crate::guard::GuardCommand;
use crate::prompt;
use crate::script;
use crate::secrets::Secrets;
use crate::tools::{Registry, Stashes};

/// What the engine is made of.
#[derive(Clone)]
pub struct EngineOptions {
    pub models: Models,
    /// The model of runs that ask for none.
    pub model: ModelRef,
    /// The models that such a run asks instead, one after the other, when one fails in one of these ways.
    pub fallbacks: Vec<ModelRef>,
    pub fallback_on: Vec<FallbackOn>,
    pub registry: Registry,
    /// What scripts can ask for.
    pub calls: Registry,
    pub guard: GuardCommand,
    pub stashes: Arc<Stashes>,
    pub limits: Limits,
    /// The surroundings that runs are started in; none where nobody is there.
    pub host: Option<Arc<dyn HostPort>>,
    pub secrets: Arc<Secrets>,
    /// The provider catalog v2.
    pub catalog: Value,
}

impl EngineOptions {
    /// The built-in tools and ordinary limits.
    pub fn new(models: Models, model: ModelRef, guard: GuardCommand) -> Self {
        let limits = Limits {
            max_model_calls: 50,
            max_output_tokens: 8192,
            context_window: ModelCard::default().context_window,
            budget: Budget::default(),
        };
        Self {
            models,
            model,
            fallbacks: Vec::new(),
            fallback_on: FallbackOn::ALL.to_vec(),
            registry: Registry::builtin(),
            calls: crate::calls::all(),
            guard,
            stashes: Arc::default(),
            limits,
            host: None,
            secrets: Arc::new(Secrets::of_user()),
            catalog: json!({}),
        }
    }

    /// All that a run has to know of a model beforehand.
    pub(crate) fn route(&self, models: &Models, model: ModelRef) -> Route {
        let ModelCard { context_window, max_output, prices } =
            models.get(&model).map(|model| model.card()).unwrap_or_default();
        let longest = max_output.map_or(u32::MAX, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        // An answer may not take the room that the conversation needs.
        let max_output_tokens = self.limits.max_output_tokens.min(quarter(context_window)).min(longest);
        Route { model, prices, context_window, max_output_tokens }
    }
}

/// Runs tasks with the built-in agent.
pub struct Engine {
    options: EngineOptions,
}

impl Engine {
    pub fn new(options: EngineOptions) -> Self {
        Self { options }
    }

    /// The models that a run may ask, the first one first. The error names the one that there is not.
    fn routes(&self, setting: &Setting<'_>) -> Result<Vec<Route>, String> {
        let named = |selector: &str| match selector.trim() {
            "" | "@inherit" => Ok(self.options.model.clone()),
            selector => self.options.models.resolve(selector),
        };
        let mut wanted = vec![named(setting.model.unwrap_or_default())?];
        match setting.fallbacks {
            Some(selectors) => {
                for selector in selectors.iter().take(MOST_FALLBACKS) {
                    wanted.push(named(selector)?);
                }
            }
            None => wanted.extend(self.options.fallbacks.iter().cloned()),
        }
        let mut routes: Vec<Route> = Vec::new();
        for model in wanted {
            if !routes.iter().any(|route| route.model == model) {
                routes.push(self.options.route(&self.options.models, model));
            }
        }
        Ok(routes)
    }
}

fn quarter(window: u64) -> u32 {
    u32::try_from(window / 4).unwrap_or(u32::MAX)
}

impl Directory for Engine {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.options.registry.specs()
    }

    fn catalog(&self) -> Value {
        self.options.catalog.clone()
    }

    fn exports(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<Vec<Export>, String> {
        script::image::list(root, choice)
    }

    fn skill_files(&self, root: &str) -> Result<Vec<SkillFile>, String> {
        calls::skills(&Place::of(root.into(), None))
    }
}

#[async_trait]
impl Runner for Engine {
    fn image(&self, setting: &Setting<'_>) -> Result<Image, String> {
        let allowed = setting.persona.map(|persona| persona.tools.as_slice()).unwrap_or_default();
        let specs = self.options.registry.specs();
        let tools =
            specs.iter().filter(|tool| allowed.is_empty() || allowed.contains(&tool.name)).cloned().collect();
        let mut fallbacks = self.routes(setting)?;
        let Route { model, prices, context_window, max_output_tokens } = fallbacks.remove(0);
        let fallback_on = if fallbacks.is_empty() { Vec::new() } else { self.options.fallback_on.clone() };
        let (program, semantics) = match setting.runs {
            Runs::Agent => (PROGRAM, SEMANTICS),
            Runs::Script => (script::PROGRAM, script::SEMANTICS),
        };
        Ok(Image {
            program,
            semantics,
            model,
            thinking: setting.thinking.unwrap_or_default(),
            limits: Limits { context_window, max_output_tokens, ..self.options.limits },
            prices,
            fallbacks,
            fallback_on,
            system_prompt: prompt::system(setting).into(),
            tools,
        })
    }

    fn script(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<ScriptImage, String> {
        script::image::capture(root, choice)
    }

    fn fits(&self, script: &ScriptImage, input: &[Part]) -> Result<(), String> {
        script::image::fits(script, &script::Given::said(input))
    }

    fn model(&self) -> ModelRef {
        self.options.model.clone()
    }

    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        self.options.models.resolve(selector)
    }

    fn calls(&self) -> Arc<[ToolSpec]> {
        self.options.calls.specs()
    }

    async fn run(&self, port: Arc<dyn RunPort>) -> RunExit {
        driver::run(&self.options, port).await
    }
}
