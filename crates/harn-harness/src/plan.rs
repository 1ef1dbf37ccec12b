//! What new runs are started with, prepared once: the engine's image with its blobs already hashed.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::budget::Budget;
use harn_core::chat::ModelRef;
use harn_core::ports::{Runner, Setting};
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

/// The persona's tools, the tier, the root and the budget.
type Wanted = (Vec<String>, AutonomyTier, Option<String>, Budget);

pub struct RunPlan {
    runner: Arc<dyn Runner>,
    /// By the hashes of the prompt and the tools. Content never changes under its hash.
    decoded: Mutex<HashMap<(String, String), Decoded>>,
    /// By everything that an image varies with.
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

    pub fn image(&self, setting: &Setting<'_>) -> Arc<PreparedImage> {
        let tools = setting.persona.map(|persona| persona.tools.clone()).unwrap_or_default();
        let key = (tools, setting.tier, setting.root.map(str::to_owned), setting.budget);
        let mut prepared = self.prepared.lock();
        if prepared.len() > 1024 {
            prepared.clear();
        }
        Arc::clone(prepared.entry(key).or_insert_with(|| Arc::new(self.prepare(setting))))
    }

    /// The model of new runs.
    pub fn model(&self) -> ModelRef {
        let tier = AutonomyTier::ActWithApproval;
        let anywhere = Setting { persona: None, tier, root: None, budget: Budget::default() };
        self.image(&anywhere).image.model.clone()
    }

    fn prepare(&self, setting: &Setting<'_>) -> PreparedImage {
        let image = self.runner.image(setting);
        let tools = serde_json::to_vec(&image.tools[..]).unwrap_or_default();
        PreparedImage {
            system_prompt: StagedBlob::inline(image.system_prompt.as_bytes().to_vec().into()),
            tools: StagedBlob::inline(tools.into()),
            image,
        }
    }
}

pub(crate) fn text(view: &dyn View, hash: &str) -> Result<String> {
    let blob = view.blob(hash).map_err(fault)?;
    let blob = blob.ok_or_else(|| Error::internal(format!("Blob {hash} of a run is missing.")))?;
    let bytes = blob.bytes().map_err(fault)?.to_vec();
    String::from_utf8(bytes).map_err(|_| Error::internal(format!("Blob {hash} of a run is not text.")))
}
