//! Calls that are one plain function.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::decision::Access;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

/// What a call does, given where it works and its arguments. It may block for as long as the file system does.
pub type Work = fn(&ToolContext, &Map<String, Value>) -> Result<Value, ToolFailure>;

/// A call that is a function, with what policy has to know about it.
pub struct Simple {
    spec: ToolSpec,
    work: Work,
    /// Reads of the file system and the like may take long, so they do not hold up the others.
    is_slow: bool,
}

impl Simple {
    pub fn new(name: &str, description: &str, class: Class, side_effect: SideEffect, work: Work) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class,
            side_effect,
            annotations: Annotations::default(),
        };
        Self { spec, work, is_slow: side_effect != SideEffect::None }
    }

    /// An argument that is a path, and what happens there.
    pub fn path(mut self, argument: &str, access: Access) -> Self {
        self.spec.annotations.paths.push((argument.to_owned(), access));
        self
    }

    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.spec.annotations.kind = kind;
        self
    }

    pub fn call(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

/// A call that looks at something that is there at once.
pub fn reads(name: &str, description: &str, work: Work) -> Arc<dyn Tool> {
    Simple::new(name, description, Class::Read, SideEffect::None, work).call()
}

#[async_trait]
impl Tool for Simple {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(&self, _: &ToolContext, _: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Ok(Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        if !self.is_slow {
            return (self.work)(ctx, args).map(ToolOutput::from);
        }
        let (work, ctx, args) = (self.work, ctx.clone(), args.clone());
        let done = tokio::task::spawn_blocking(move || work(&ctx, &args)).await;
        done.unwrap_or_else(|_| Err(ToolFailure::new("The call was stopped."))).map(ToolOutput::from)
    }
}
