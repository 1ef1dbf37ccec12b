//! Models of the catalog, connected when somebody asks for them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use harn_core::chat::ModelRef;
use parking_lot::Mutex;

use crate::catalog::{Catalog, Provider, Resolved};
use crate::connect::limiter;
use crate::discover::{self, Checked};
use crate::registry::CatalogView;
use crate::{
    ConnectError, HttpModel, Limiter, Model, ModelSource, Transport, TransportError, TransportOptions,
    connect,
};

/// The value of a variable of the environment, for as long as the process lives.
pub type Variables = fn(&str) -> Option<String>;

/// A catalog with what it takes to call its models. All models of a provider share one limiter.
pub struct CatalogSource {
    catalog: Catalog,
    variables: Variables,
    options: TransportOptions,
    /// Made with the first connection: many processes never call a provider.
    transport: OnceLock<Transport>,
    /// By provider, of which the catalog has no more than it has.
    limiters: Mutex<HashMap<String, Limiter>>,
}

impl CatalogSource {
    pub fn new(catalog: Catalog, variables: Variables, options: TransportOptions) -> Self {
        Self { catalog, variables, options, transport: OnceLock::new(), limiters: Mutex::default() }
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A model that a selector has been resolved to.
    pub fn connect_to(&self, chosen: &Resolved<'_>) -> Result<HttpModel, ConnectError> {
        let model = connect(chosen, &self.variables, self.transport()?)?;
        let provider = chosen.provider;
        let mut limiters = self.limiters.lock();
        let shared = limiters.entry(provider.id.clone()).or_insert_with(|| limiter(provider));
        Ok(model.with_limiter(shared.clone()))
    }

    fn transport(&self) -> Result<&Transport, TransportError> {
        if let Some(transport) = self.transport.get() {
            return Ok(transport);
        }
        let transport = Transport::new(&self.options)?;
        Ok(self.transport.get_or_init(|| transport))
    }
}

impl ModelSource for CatalogSource {
    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        match self.catalog.resolve(selector) {
            Ok(Some(chosen)) => Ok(chosen.reference()),
            Ok(None) => {
                Err("no model is named; write one such as `sonnet` or `openai:gpt-6.1-sol`".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// A recorded model is looked up by provider and id, never by its aliases: those may mean another one by now.
    fn connect(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        let provider = self.catalog.providers().find(|provider| provider.id == reference.provider)?;
        let entry = self.catalog.model(&reference.provider, &reference.model);
        let chosen = Resolved { provider, model: reference.model.clone(), entry };
        match self.connect_to(&chosen) {
            Ok(model) => Some(Arc::new(model)),
            Err(error) => {
                tracing::warn!(model = %reference.model, %error, "a model cannot be called");
                None
            }
        }
    }

    fn catalog(&self) -> Option<CatalogView<'_>> {
        Some(CatalogView { catalog: &self.catalog, variables: self.variables })
    }

    fn extended(&self, row: Provider) -> Result<CatalogSource, String> {
        let catalog = self.catalog.clone().with_provider(row)?;
        Ok(Self::new(catalog, self.variables, self.options.clone()))
    }

    fn check(&self, provider: &str) -> Option<BoxFuture<'static, Checked>> {
        let provider = self.catalog.provider(provider)?;
        let transport = self.transport().ok()?;
        Some(discover::check(provider, &self.variables, transport).boxed())
    }
}

/// A source with one provider more. All others are called by the source itself, which knows how.
pub(crate) struct Extended {
    base: Arc<dyn ModelSource>,
    own: CatalogSource,
    added: String,
}

impl Extended {
    pub fn new(base: Arc<dyn ModelSource>, row: Provider) -> Result<Self, String> {
        let added = row.id.clone();
        Ok(Self { own: base.extended(row)?, base, added })
    }

    fn source_of(&self, provider: &str) -> &dyn ModelSource {
        if provider == self.added { &self.own } else { &*self.base }
    }
}

impl ModelSource for Extended {
    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        match self.own.resolve(selector) {
            Ok(found) if found.provider == self.added => Ok(found),
            _ => self.base.resolve(selector),
        }
    }

    fn connect(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        self.source_of(&reference.provider).connect(reference)
    }

    fn catalog(&self) -> Option<CatalogView<'_>> {
        ModelSource::catalog(&self.own)
    }

    fn check(&self, provider: &str) -> Option<BoxFuture<'static, Checked>> {
        self.source_of(provider).check(provider)
    }

    fn extended(&self, row: Provider) -> Result<CatalogSource, String> {
        self.own.extended(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<String> {
        None
    }

    fn source() -> CatalogSource {
        CatalogSource::new(Catalog::builtin(), nothing, TransportOptions::default())
    }

    #[test]
    fn a_recorded_model_is_found_with_what_the_catalog_knows_of_it() {
        let source = source();
        let cases = [
            ("opus", Some(true)),
            ("openai:never-heard-of", Some(false)),
            // Local models are free, known or not.
            ("ollama:never-heard-of", Some(true)),
            ("sonet", None),
            ("@inherit", None),
        ];
        for (selector, priced) in cases {
            let Ok(reference) = source.resolve(selector) else {
                assert_eq!(priced, None, "{selector}");
                continue;
            };
            let model = source.connect(&reference).unwrap();
            assert_eq!(model.reference(), reference);
            assert_eq!(Some(model.card().prices.is_some()), priced, "{selector}");
        }
        let gone = ModelRef { provider: "gone".into(), model: "m".into() };
        assert!(source.connect(&gone).is_none());
    }

    #[test]
    fn a_provider_that_was_added_is_called_and_the_others_are_called_as_before() {
        let row = |id: &str, url: &str| {
            let base = Catalog::builtin().provider("ollama").unwrap().clone();
            Provider { id: id.into(), aliases: Vec::new(), base_url: Some(url.into()), ..base }
        };
        let base = Arc::new(source());
        let more = Arc::new(Extended::new(base.clone(), row("own", "http://localhost:1")).unwrap());
        let more = Arc::new(Extended::new(more, row("other", "http://localhost:2")).unwrap());
        for selector in ["own:m", "other:m", "opus"] {
            let reference = more.resolve(selector).unwrap();
            assert_eq!(more.connect(&reference).unwrap().reference(), reference);
        }
        assert_eq!(base.limiters.lock().keys().collect::<Vec<_>>(), ["anthropic"]);
        assert!(base.resolve("own:m").is_err());
        let cases = [
            (row("own", "http://localhost:2"), "there is a provider `own` already; choose another name"),
            (
                row("anthropic", "http://localhost:1"),
                "there is a provider `anthropic` already; choose another name",
            ),
            (row("third", "ftp://x"), "the `base_url` of `third` must begin with https:// or http://"),
        ];
        for (row, expected) in cases {
            assert_eq!(more.extended(row).err().as_deref(), Some(expected));
        }
        assert!(more.extended(row("own", "http://localhost:1")).is_ok());
    }

    #[test]
    fn models_of_one_provider_share_a_limiter() {
        let source = source();
        for selector in ["opus", "sonnet", "openai:a", "openai:b"] {
            source.connect(&source.resolve(selector).unwrap()).unwrap();
        }
        assert_eq!(source.limiters.lock().len(), 2);
    }
}
