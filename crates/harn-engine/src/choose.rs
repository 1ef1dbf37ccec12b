//! Which model a call means, what it costs, and whether models may be called at all.

use harn_core::Failure;
use harn_core::chat::{ModelRef, ModelRequest, Thinking};
use harn_core::price::Prices;
use harn_core::run::{Request, Trust};

use crate::driver::{Begun, Driver};
use crate::script;

/// With this variable nobody is called; answers of a file are still given.
pub const DISABLED: &str = "HARN_LLM_CALLS_DISABLED";

impl Driver<'_> {
    /// Scripts name models as they like and leave out what they do not care about; all other programs are exact.
    pub(crate) fn is_script(&self) -> bool {
        self.manifest.program == script::PROGRAM
    }

    /// The request as it is performed: a model call with the model that it means. The failure says why there is none.
    pub(crate) fn settled(&self, request: Request, begun: Option<&Begun>) -> Result<Request, Failure> {
        let Request::Model(mut call) = request else { return Ok(request) };
        if self.is_script() {
            call = self.completed(call, begun)?;
        }
        if self.are_models_disabled() && !self.is_recorded(&call.model) {
            let message = format!(
                "LLM calls are disabled: {DISABLED} is set. Answer this one with llm_mock(), or unset the variable; \
                 for a test, `harn test --record` keeps the answer, and --network allows the call."
            );
            return Err(Failure::new("denied", message));
        }
        Ok(Request::Model(call))
    }

    fn completed(&self, mut call: ModelRequest, begun: Option<&Begun>) -> Result<ModelRequest, Failure> {
        // A call that is made again goes to the same model, whatever its name means by now.
        let again = begun.and_then(|begun| serde_json::from_value(begun.args.clone()).ok());
        call.model = match again {
            Some(model) => model,
            None => self.meant(&call.model).map_err(|why| Failure::new("not_found", why))?,
        };
        // What the session has chosen counts where the call says nothing.
        if call.thinking == Thinking::Auto {
            call.thinking = self.manifest.thinking;
        }
        if call.max_output_tokens == 0 {
            call.max_output_tokens =
                self.options.route(&self.ctx.models, call.model.clone()).max_output_tokens;
        }
        Ok(call)
    }

    /// The model that a script's words mean. The error has the nearest names.
    fn meant(&self, named: &ModelRef) -> Result<ModelRef, String> {
        let models = &self.ctx.models;
        let own = &self.manifest.model;
        match (named.provider.as_str(), named.model.as_str()) {
            // A run that was started without a model has the one that is configured.
            ("", "" | "@inherit") if own.model.is_empty() => models.resolve(""),
            ("", "" | "@inherit") => Ok(own.clone()),
            (provider, "") if provider.eq_ignore_ascii_case(&own.provider) => Ok(own.clone()),
            (provider, "") => models.resolve(&self.usual_of(provider)),
            ("", model) => models.resolve(model),
            // A name may hold its provider already.
            (provider, model) => match model.strip_prefix(provider).filter(|rest| rest.starts_with(':')) {
                Some(_) => models.resolve(model),
                None => models.resolve(&format!("{provider}:{model}")),
            },
        }
    }

    /// The selector of the model that a provider is used with when nothing more is said.
    fn usual_of(&self, provider: &str) -> String {
        let known = self.ctx.models.catalog().and_then(|view| view.catalog.provider(provider));
        match known.and_then(|known| known.default_model.as_ref()) {
            Some(model) => format!("{provider}:{model}"),
            None => provider.to_owned(),
        }
    }

    /// What a model costs. A run that was started with it keeps the prices of then.
    pub(crate) fn prices_of(&self, model: &ModelRef) -> Option<Prices> {
        let recorded = self.manifest.prices_of(model).filter(|_| self.options.models.mock().is_none());
        match self.is_script() {
            true => recorded.or_else(|| self.ctx.models.get(model)?.card().prices),
            false => recorded,
        }
    }

    fn are_models_disabled(&self) -> bool {
        let value = self.ctx.place.variable(DISABLED, Trust::Own).unwrap_or_default();
        !matches!(value.trim(), "" | "0" | "false")
    }

    fn is_recorded(&self, model: &ModelRef) -> bool {
        self.ctx.models.get(model).is_some_and(|model| model.is_recorded())
    }
}
