//! The models that this process can call: those that it was given, and those of a source, connected when asked for.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use harn_core::chat::ModelRef;
use parking_lot::Mutex;

use crate::catalog::{Catalog, Provider};
use crate::discover::Checked;
use crate::source::Extended;
use crate::{CatalogSource, MockFile, MockRecording, Model, Variables};

/// Connections that are kept. More than any process uses at a time; people may name models as they like.
const KEPT: usize = 64;

/// Where models come from that nobody has connected yet.
pub trait ModelSource: Send + Sync {
    /// The model that a selector means. The error says what is wrong, with the nearest names.
    fn resolve(&self, selector: &str) -> Result<ModelRef, String>;

    /// None for a model that it cannot call.
    fn connect(&self, reference: &ModelRef) -> Option<Arc<dyn Model>>;

    /// What it knows of providers and models, for those who only look.
    fn catalog(&self) -> Option<CatalogView<'_>> {
        None
    }

    /// Asks a provider whether it is there; none for one that is not known.
    fn check(&self, _provider: &str) -> Option<BoxFuture<'static, Checked>> {
        None
    }

    /// All that it knows with one provider more, to call that one. The error says what is wrong with it.
    fn extended(&self, _row: Provider) -> Result<CatalogSource, String> {
        Err("providers cannot be added here".to_owned())
    }
}

/// A catalog, with the environment that says which of it can be used.
#[derive(Clone, Copy)]
pub struct CatalogView<'a> {
    pub catalog: &'a Catalog,
    pub variables: Variables,
}

/// The models that this process can call. Cheap to clone; clones share their connections.
#[derive(Clone, Default)]
pub struct Models(Arc<Shared>);

#[derive(Default)]
struct Shared {
    given: Vec<Arc<dyn Model>>,
    source: Option<Arc<dyn ModelSource>>,
    /// Answers every call in the place of all others.
    mock: Option<Arc<MockFile>>,
    recording: Option<Arc<MockRecording>>,
    connected: Mutex<HashMap<(String, String), Arc<dyn Model>>>,
}

impl Models {
    /// Of two models with the same reference, the first one answers.
    pub fn new(given: Vec<Arc<dyn Model>>) -> Self {
        Self(Arc::new(Shared { given, ..Shared::default() }))
    }

    /// The same with a source for all others. A recorded run finds its model there, whatever is the default now.
    #[must_use]
    pub fn with_source(self, source: Arc<dyn ModelSource>) -> Self {
        Self(Arc::new(Shared { source: Some(source), ..self.parts() }))
    }

    /// The same with one provider more, for one run. The error says what is wrong with it.
    pub fn with_provider(&self, row: Provider) -> Result<Self, String> {
        let source = self.0.source.clone().ok_or("there are no providers here")?;
        Ok(self.clone().with_source(Arc::new(Extended::new(source, row)?)))
    }

    /// The same, with every call of any model answered from a file: `--llm-mock`.
    #[must_use]
    pub fn with_mock(self, mock: Arc<MockFile>) -> Self {
        Self(Arc::new(Shared { mock: Some(mock), ..self.parts() }))
    }

    /// The same, with every answer of any model written to a file: `--llm-mock-record`.
    #[must_use]
    pub fn with_mock_recording(self, recording: Arc<MockRecording>) -> Self {
        Self(Arc::new(Shared { recording: Some(recording), ..self.parts() }))
    }

    /// The file that answers every call.
    pub fn mock(&self) -> Option<&MockFile> {
        self.0.mock.as_deref()
    }

    fn parts(&self) -> Shared {
        Shared {
            given: self.0.given.clone(),
            source: self.0.source.clone(),
            mock: self.0.mock.clone(),
            recording: self.0.recording.clone(),
            connected: Mutex::default(),
        }
    }

    pub fn get(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        let given = || self.0.given.iter().find(|model| model.reference() == *reference);
        let model = match &self.0.mock {
            Some(mock) => Arc::clone(mock) as Arc<dyn Model>,
            None => given().cloned().or_else(|| self.connected(reference))?,
        };
        Some(match &self.0.recording {
            Some(recording) => MockRecording::of(recording, model),
            None => model,
        })
    }

    /// The models that were given by themselves, in their order.
    pub fn given(&self) -> Vec<ModelRef> {
        self.0.given.iter().map(|model| model.reference()).collect()
    }

    /// What the source knows, if it knows more than names.
    pub fn catalog(&self) -> Option<CatalogView<'_>> {
        self.0.source.as_ref()?.catalog()
    }

    /// Asks a provider whether it is there; none for one that is not known.
    pub fn check(&self, provider: &str) -> Option<BoxFuture<'static, Checked>> {
        self.0.source.as_ref()?.check(provider)
    }

    fn connected(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        let key = (reference.provider.clone(), reference.model.clone());
        if let Some(model) = self.0.connected.lock().get(&key) {
            return Some(Arc::clone(model));
        }
        let model = self.0.source.as_ref()?.connect(reference)?;
        let mut connected = self.0.connected.lock();
        if connected.len() >= KEPT {
            // Calls that are under way have their own hold on what they use.
            connected.clear();
        }
        Some(Arc::clone(connected.entry(key).or_insert(model)))
    }

    /// The model that a selector means: one that was given by its full name, one of the source, or one that was given
    /// by half of its name.
    pub fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        let selector = selector.trim();
        let given = |answers: &dyn Fn(&ModelRef) -> bool| {
            self.0.given.iter().map(|model| model.reference()).find(|reference| answers(reference))
        };
        let full = |reference: &ModelRef| {
            let rest = selector.strip_prefix(&reference.provider);
            rest.is_some_and(|rest| rest.strip_prefix([':', '/']) == Some(&reference.model))
        };
        let half = |reference: &ModelRef| reference.provider == selector || reference.model == selector;
        if let Some(found) = given(&full) {
            return Ok(found);
        }
        let sought = match &self.0.source {
            Some(source) => source.resolve(selector),
            None => Err(format!("there is no model `{}`", shortened(selector))),
        };
        // Recorded answers are given to whatever name is asked.
        let named = || self.0.mock.as_ref().map(|_| named(selector));
        sought.or_else(|told| given(&half).or_else(named).ok_or(told))
    }
}

fn named(selector: &str) -> ModelRef {
    let (provider, model) = selector.split_once(':').unwrap_or((MockFile::PROVIDER, selector));
    ModelRef { provider: provider.to_owned(), model: model.to_owned() }
}

/// Enough to recognise it by.
fn shortened(selector: &str) -> String {
    selector.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use harn_core::chat::ModelRequest;

    use super::*;
    use crate::{ModelStream, OfflineModel, ScriptedModel};

    fn reference(provider: &str, model: &str) -> ModelRef {
        ModelRef { provider: provider.into(), model: model.into() }
    }

    struct Named(ModelRef);

    impl Model for Named {
        fn reference(&self) -> ModelRef {
            self.0.clone()
        }

        fn stream(&self, request: ModelRequest) -> ModelStream {
            OfflineModel.stream(request)
        }
    }

    /// Has every model of the provider `far`, and counts how often one is connected.
    #[derive(Default)]
    struct Far(AtomicUsize);

    impl ModelSource for Far {
        fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
            let model = selector.strip_prefix("far:").ok_or("no such model, did you mean `far:x`")?;
            Ok(reference("far", model))
        }

        fn connect(&self, wanted: &ModelRef) -> Option<Arc<dyn Model>> {
            let known = wanted.provider == "far";
            self.0.fetch_add(usize::from(known), Ordering::SeqCst);
            known.then(|| Arc::new(Named(wanted.clone())) as Arc<dyn Model>)
        }
    }

    fn given() -> Models {
        let scripted = ScriptedModel::from_json(r#"{"responses":[]}"#).unwrap();
        Models::new(vec![Arc::new(OfflineModel), Arc::new(scripted)])
    }

    #[test]
    fn a_model_is_found_by_provider_and_name_wherever_it_comes_from() {
        let models = given().with_source(Arc::new(Far::default()));
        let cases = [
            ("offline", "offline-1", true),
            ("scripted", "scripted-1", true),
            ("far", "anything", true),
            ("offline", "scripted-1", false),
            ("", "", false),
        ];
        for (provider, model, found) in cases {
            let wanted = reference(provider, model);
            let got = models.get(&wanted).map(|model| model.reference());
            assert_eq!(got, found.then_some(wanted));
        }
        assert!(given().get(&reference("far", "anything")).is_none());
    }

    #[test]
    fn a_model_is_connected_once_and_no_more_are_kept_than_fit() {
        let far = Arc::new(Far::default());
        let models = given().with_source(far.clone());
        for _ in 0..3 {
            models.clone().get(&reference("far", "a")).unwrap();
        }
        assert_eq!(far.0.load(Ordering::SeqCst), 1);
        for n in 0..3 * KEPT {
            models.get(&reference("far", &n.to_string())).unwrap();
            assert!(models.0.connected.lock().len() <= KEPT);
        }
    }

    #[test]
    fn a_selector_means_a_given_model_or_one_of_the_source() {
        let models = given().with_source(Arc::new(Far::default()));
        let offline = || Ok(reference("offline", "offline-1"));
        let cases = [
            ("offline", offline()),
            (" offline:offline-1 ", offline()),
            ("offline/offline-1", offline()),
            ("offline-1", offline()),
            ("far:x", Ok(reference("far", "x"))),
            ("offline:other", Err("no such model, did you mean `far:x`".to_owned())),
            ("", Err("no such model, did you mean `far:x`".to_owned())),
        ];
        for (selector, expected) in cases {
            assert_eq!(models.resolve(selector), expected, "{selector}");
        }
        assert_eq!(given().resolve("far:x"), Err("there is no model `far:x`".to_owned()));
    }
}
