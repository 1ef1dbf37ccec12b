//! The engine as the harness knows it: what new runs are made of, and how to drive one.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::Persona;
use harn_core::chat::ModelRef;
use harn_core::ports::{RunExit, RunPort, Runner};
use harn_core::run::{Image, Limits};
use harn_core::tool::ToolSpec;
use harn_model::Models;

use crate::agent::{PROGRAM, SEMANTICS};
use crate::driver;
use crate::guard::GuardCommand;
use crate::tools::Registry;

const SYSTEM_PROMPT: &str = "You are Harn's built-in agent. You work inside one workspace folder with the tools that \
    you are given; paths are relative to its root. Prefer reading before writing. Changes and commands may need a \
    person's approval: a denied call was not performed, and an interrupted one may or may not have been. When the work \
    is done, say in a few plain sentences what you did and what you could not do.";

/// What the engine is made of.
#[derive(Clone)]
pub struct EngineOptions {
    pub models: Models,
    /// The model of new runs.
    pub model: ModelRef,
    pub registry: Registry,
    pub guard: GuardCommand,
    pub limits: Limits,
}

impl EngineOptions {
    /// The built-in tools and ordinary limits.
    pub fn new(models: Models, model: ModelRef, guard: GuardCommand) -> Self {
        let limits = Limits { max_model_calls: 50, max_output_tokens: 8192 };
        Self { models, model, registry: Registry::builtin(), guard, limits }
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

#[async_trait]
impl Runner for Engine {
    fn image(&self, persona: Option<&Persona>) -> Image {
        let allowed = persona.map(|persona| persona.tools.as_slice()).unwrap_or_default();
        let specs = self.options.registry.specs();
        let tools =
            specs.iter().filter(|tool| allowed.is_empty() || allowed.contains(&tool.name)).cloned().collect();
        Image {
            program: PROGRAM,
            semantics: SEMANTICS,
            model: self.options.model.clone(),
            limits: self.options.limits,
            system_prompt: SYSTEM_PROMPT.into(),
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
