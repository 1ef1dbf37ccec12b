//! Our adapters, connected the way users get them: through the catalog, with the address and the key in variables.

use std::time::Duration;

use anyhow::Context;
use harn_core::chat::{ModelAnswer, ModelRequest};
use harn_model::catalog::{Catalog, OverlayFile, OverlayKind};
use harn_model::{
    HttpModel, HttpOptions, Model, ModelError, Proxy, RetryPolicy, Transport, TransportOptions, collect,
    connect,
};

/// What a user writes into `providers.toml` for a server that speaks Chat Completions and is nobody's in particular.
const OVERLAY: &str = r#"
[[providers]]
id = "compatible"
name = "A compatible server"
wire = "openai_chat"
location = "local"
base_url_env = ["COMPATIBLE_BASE_URL"]
auth = { kind = "api_key", env = ["COMPATIBLE_API_KEY"], header = "bearer" }

[[models]]
provider = "compatible"
id = "gpt-6.1-terra"
name = "A model with everything"
input = ["text", "image", "document"]
output = ["text"]
tools = true
structured_output = true
thinking = { kind = "effort", levels = ["none", "low", "medium", "high"], can_disable = true }
"#;

pub struct Adapters {
    catalog: Catalog,
    transport: Transport,
}

impl Adapters {
    pub fn new() -> anyhow::Result<Self> {
        let overlay = OverlayFile { kind: OverlayKind::Providers, path: "interop", text: OVERLAY };
        let transport =
            Transport::new(&TransportOptions { proxy: Proxy::None, ..TransportOptions::default() })?;
        Ok(Self { catalog: Catalog::builtin().overlaid(&[overlay])?, transport })
    }

    /// The model that a selector means, at this address. It is called once, unless the options say otherwise.
    pub fn connect(&self, selector: &str, url: &str, key: &str) -> anyhow::Result<HttpModel> {
        let chosen = self.catalog.resolve(selector)?.with_context(|| format!("{selector} means no model"))?;
        let env = |name: &str| {
            let is = |names: &[String]| names.iter().any(|known| known == name);
            if is(&chosen.provider.base_url_env) {
                Some(url.to_owned())
            } else {
                is(&chosen.provider.auth.env).then(|| key.to_owned())
            }
        };
        Ok(connect(&chosen, &env, &self.transport)?.with_options(options(1)))
    }

    /// The id of the provider that a selector means.
    pub fn provider(&self, selector: &str) -> anyhow::Result<String> {
        let chosen = self.catalog.resolve(selector)?.with_context(|| format!("{selector} means no model"))?;
        Ok(chosen.provider.id.clone())
    }

    pub fn transport(&self) -> Transport {
        self.transport.clone()
    }
}

/// Limits under which a server that hangs is found out soon.
pub fn options(attempts: u32) -> HttpOptions {
    let soon = Duration::from_secs(20);
    let base = Duration::from_millis(10);
    let retry = RetryPolicy { attempts, base, ..RetryPolicy::default() };
    HttpOptions { first_byte: soon, stall: soon, answer: soon, retry, ..HttpOptions::default() }
}

pub async fn ask(model: &HttpModel, request: ModelRequest) -> Result<ModelAnswer, ModelError> {
    collect(model.stream(request)).await
}
