//! What new runs are started with, prepared once: the engine's image with its blobs already hashed.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::Persona;
use harn_core::ports::Runner;
use harn_core::run::Image;
use harn_log::StagedBlob;
use parking_lot::Mutex;

/// An image whose contents are ready to be kept by a commit.
#[derive(Clone)]
pub struct PreparedImage {
    pub image: Image,
    pub system_prompt: StagedBlob,
    pub tools: StagedBlob,
}

pub struct RunPlan {
    runner: Arc<dyn Runner>,
    /// By the persona's tool list, the only thing that an image varies with.
    prepared: Mutex<HashMap<Vec<String>, Arc<PreparedImage>>>,
}

impl RunPlan {
    pub fn new(runner: Arc<dyn Runner>) -> Self {
        Self { runner, prepared: Mutex::new(HashMap::new()) }
    }

    pub fn image(&self, persona: Option<&Persona>) -> Arc<PreparedImage> {
        let key = persona.map(|persona| persona.tools.clone()).unwrap_or_default();
        let mut prepared = self.prepared.lock();
        if prepared.len() > 1024 {
            prepared.clear();
        }
        Arc::clone(prepared.entry(key).or_insert_with(|| Arc::new(self.prepare(persona))))
    }

    fn prepare(&self, persona: Option<&Persona>) -> PreparedImage {
        let image = self.runner.image(persona);
        let tools = serde_json::to_vec(&image.tools[..]).unwrap_or_default();
        PreparedImage {
            system_prompt: StagedBlob::inline(image.system_prompt.as_bytes().to_vec().into()),
            tools: StagedBlob::inline(tools.into()),
            image,
        }
    }
}
