//! The engine as the harness knows it: what new runs are made of, and how to drive one.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::chat::ModelRef;
use harn_core::ports::{RunExit, RunPort, Runner, Setting};
use harn_core::run::{Budget, Image, Limits};
use harn_core::tool::ToolSpec;
use harn_model::{ModelCard, Models};

use crate::agent::{PROGRAM, SEMANTICS};
use crate::driver;
use crate::guard::GuardCommand;
use crate::prompt;
use crate::tools::{Registry, Stashes};

/// What the engine is made of.
#[derive(Clone)]
pub struct EngineOptions {
    pub models: Models,
    /// The model of new runs.
    pub model: ModelRef,
    pub registry: Registry,
    pub guard: GuardCommand,
    pub stashes: Arc<Stashes>,
    pub limits: Limits,
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
        Self { models, model, registry: Registry::builtin(), guard, stashes: Arc::default(), limits }
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
}

fn quarter(window: u64) -> u32 {
    u32::try_from(window / 4).unwrap_or(u32::MAX)
}

#[async_trait]
impl Runner for Engine {
    fn image(&self, setting: &Setting<'_>) -> Image {
        let allowed = setting.persona.map(|persona| persona.tools.as_slice()).unwrap_or_default();
        let specs = self.options.registry.specs();
        let tools =
            specs.iter().filter(|tool| allowed.is_empty() || allowed.contains(&tool.name)).cloned().collect();
        let model = self.options.model.clone();
        let card = self.options.models.get(&model).map(|model| model.card()).unwrap_or_default();
        Image {
            program: PROGRAM,
            semantics: SEMANTICS,
            model,
            limits: Limits {
                context_window: card.context_window,
                // An answer may not take the room that the conversation needs.
                max_output_tokens: self.options.limits.max_output_tokens.min(quarter(card.context_window)),
                ..self.options.limits
            },
            price: card.price,
            system_prompt: prompt::system(setting).into(),
            tools,
        }
    }

    fn tools(&self) -> Arc<[ToolSpec]> {
        self.options.registry.specs()
    }

    async fn run(&self, port: Arc<dyn RunPort>) -> RunExit {
        driver::run(&self.options, port).await
    }
}
