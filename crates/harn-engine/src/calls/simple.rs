//! Calls that are one function: most of them.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use harn_core::decision::Access;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Value, json};

use super::args::Args;
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

pub type Answer = Result<Value, ToolFailure>;

/// What a call does, given where it works and its arguments. It may block for as long as the file system does.
pub type Work = fn(&ToolContext, &Args) -> Answer;

/// Whether the arguments make sense, before the call is begun.
type Check = fn(&ToolContext, &Args) -> Result<(), ToolFailure>;

enum How {
    AtOnce(Work),
    /// Reads of the file system and the like may take long, so they do not hold up the others.
    Beside(Work),
    Waiting(Box<dyn Waits>),
}

/// What a call does that waits for something: a function with `async`.
pub trait Waits: Send + Sync + 'static {
    fn begin(&self, ctx: ToolContext, args: Args) -> BoxFuture<'static, Answer>;
}

impl<W, F> Waits for W
where
    W: Fn(ToolContext, Args) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    fn begin(&self, ctx: ToolContext, args: Args) -> BoxFuture<'static, Answer> {
        self(ctx, args).boxed()
    }
}

/// A call that is a function, with what policy has to know about it.
pub struct Simple {
    spec: ToolSpec,
    how: How,
    check: Check,
}

impl Simple {
    pub fn new(name: &str, description: &str, class: Class, side_effect: SideEffect, work: Work) -> Self {
        let how = if side_effect == SideEffect::None { How::AtOnce(work) } else { How::Beside(work) };
        Self::of(name, description, class, side_effect, how)
    }

    pub fn waiting(
        name: &str,
        description: &str,
        class: Class,
        side_effect: SideEffect,
        work: impl Waits,
    ) -> Self {
        Self::of(name, description, class, side_effect, How::Waiting(Box::new(work)))
    }

    fn of(name: &str, description: &str, class: Class, side_effect: SideEffect, how: How) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class,
            side_effect,
            annotations: Annotations::default(),
        };
        Self { spec, how, check: |_, _| Ok(()) }
    }

    /// An argument that is a path, and what happens there.
    pub fn path(mut self, argument: &str, access: Access) -> Self {
        self.spec.annotations.paths.push((argument.to_owned(), access));
        self
    }

    /// An argument that is an address.
    pub fn url(mut self, argument: &str) -> Self {
        self.spec.annotations.urls.push(argument.to_owned());
        self
    }

    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.spec.annotations.kind = kind;
        self
    }

    pub fn checked(self, check: Check) -> Self {
        Self { check, ..self }
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

    async fn prepare(&self, ctx: &ToolContext, args: &Args) -> Result<Prepared, ToolFailure> {
        (self.check)(ctx, args).map(|()| Prepared::Ready)
    }

    async fn perform(&self, ctx: &ToolContext, args: &Args, _: Prepared) -> Result<ToolOutput, ToolFailure> {
        let answer = match &self.how {
            How::AtOnce(work) => work(ctx, args),
            How::Beside(work) => {
                let (work, ctx, args) = (*work, ctx.clone(), args.clone());
                let done = tokio::task::spawn_blocking(move || work(&ctx, &args)).await;
                done.unwrap_or_else(|_| Err(ToolFailure::new("The call was stopped.")))
            }
            How::Waiting(work) => work.begin(ctx.clone(), args.clone()).await,
        };
        answer.map(ToolOutput::from)
    }
}
