//! What new runs are started with, prepared once: the engine's image with its blobs already hashed.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::budget::Budget;
use harn_core::chat::Thinking;
use harn_core::ports::{Runner, Runs, Setting};
use harn_core::run::{Image, Manifest};
use harn_core::tool::ToolSpec;
use harn_core::{AutonomyTier, Error, Result};
use harn_log::{StagedBlob, View};
use parking_lot::Mutex;

use crate::{Options, fault};

/// An image whose contents are ready to be kept by a commit.
#[derive(Clone)]
pub struct PreparedImage {
    pub image: Image,
    pub system_prompt: StagedBlob,
    pub tools: StagedBlob,
}

/// The two texts of an image, decoded.
#[derive(Clone)]
pub struct Decoded {
    pub system_prompt: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
}

/// Everything that an image varies with.
#[derive(PartialEq, Eq, Hash)]
struct Wanted {
    tools: Vec<String>,
    tier: AutonomyTier,
    root: Option<String>,
    budget: Budget,
    model: Option<String>,
    thinking: Option<Thinking>,
    fallbacks: Option<Vec<String>>,
    runs: Runs,
}

pub struct RunPlan {
    runner: Arc<dyn Runner>,
    /// By the hashes of the prompt and the tools. Content never changes under its hash.
    decoded: Mutex<HashMap<(String, String), Decoded>>,
    prepared: Mutex<HashMap<Wanted, Arc<PreparedImage>>>,
    /// What every run may spend.
    pub budget: Budget,
    /// The simple permissions of the configuration, for mutation session records.
    pub approval_policy: serde_json::Value,
}

impl RunPlan {
    pub fn new(runner: Arc<dyn Runner>, options: &Options) -> Self {
        let approval_policy = &options.permissions.approval_policy;
        let approval_policy = serde_json::to_value(approval_policy).unwrap_or_default();
        let budget = options.budget;
        Self { runner, decoded: Mutex::default(), prepared: Mutex::default(), budget, approval_policy }
    }

    /// The image that a run was started with, from memory or from its blobs.
    pub fn decode(&self, view: &dyn View, manifest: &Manifest) -> Result<Decoded> {
        let key = (manifest.system_prompt.clone(), manifest.tools.clone());
        if let Some(known) = self.decoded.lock().get(&key) {
            return Ok(known.clone());
        }
        let tools: Vec<ToolSpec> =
            serde_json::from_str(&text(view, &manifest.tools)?).map_err(|error| fault(error.into()))?;
        let system_prompt = text(view, &manifest.system_prompt)?.into();
        let decoded = Decoded { system_prompt, tools: tools.into() };
        let mut all = self.decoded.lock();
        if all.len() > 1024 {
            all.clear();
        }
        all.insert(key, decoded.clone());
        Ok(decoded)
    }

    /// The image for a run in this setting. The error says which of the wanted models there is not.
    pub fn image(&self, setting: &Setting<'_>) -> Result<Arc<PreparedImage>, String> {
        let wanted = Wanted {
            tools: setting.persona.map(|persona| persona.tools.clone()).unwrap_or_default(),
            tier: setting.tier,
            root: setting.root.map(str::to_owned),
            budget: setting.budget,
            model: setting.model.map(str::to_owned),
            thinking: setting.thinking,
            fallbacks: setting.fallbacks.map(<[String]>::to_vec),
            runs: setting.runs,
        };
        let mut prepared = self.prepared.lock();
        if let Some(image) = prepared.get(&wanted) {
            return Ok(Arc::clone(image));
        }
        let image = Arc::new(self.prepare(setting)?);
        if prepared.len() > 1024 {
            prepared.clear();
        }
        prepared.insert(wanted, Arc::clone(&image));
        Ok(image)
    }

    fn prepare(&self, setting: &Setting<'_>) -> Result<PreparedImage, String> {
        let image = self.runner.image(setting)?;
        let tools = serde_json::to_vec(&image.tools[..]).unwrap_or_default();
        Ok(PreparedImage {
            system_prompt: StagedBlob::inline(image.system_prompt.as_bytes().to_vec().into()),
            tools: StagedBlob::inline(tools.into()),
            image,
        })
    }
}

pub(crate) fn text(view: &dyn View, hash: &str) -> Result<String> {
    let blob = view.blob(hash).map_err(fault)?;
    let blob = blob.ok_or_else(|| Error::internal(format!("Blob {hash} of a run is missing.")))?;
    let bytes = blob.bytes().map_err(fault)?.to_vec();
    String::from_utf8(bytes).map_err(|_| Error::internal(format!("Blob {hash} of a run is not text.")))
}
