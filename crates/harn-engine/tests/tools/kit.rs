//! A workspace to call tools in, and ways to wait for what happens outside of the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use harn_core::decision::{EffectKind, Verdict};
use harn_core::hash::Sha256Hash;
use harn_core::ports::Located;
use harn_core::run::Trust;
use harn_engine::guard::GuardCommand;
use harn_engine::tools::{Keep, Prepared, PreparedWrite, Registry, Sight, Tool, ToolContext, ToolFailure};
use harn_model::Model as _;
use serde_json::{Map, Value};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A folder that holds a workspace, so that there is an outside.
pub struct Workspace {
    dir: TempDir,
    pub ctx: ToolContext,
    pub blobs: Arc<Blobs>,
}

/// Everything may be read but what is below `vault`.
struct NotVault;

impl Sight for NotVault {
    fn verdict(&self, _: EffectKind, _: &str, at: &Located) -> Verdict {
        let is_vault = at.workspace_path.as_ref().is_some_and(|path| path.starts_with("vault/"));
        if is_vault { Verdict::Deny } else { Verdict::Allow }
    }
}

/// What tools have kept, by hash.
#[derive(Default)]
pub struct Blobs(parking_lot::Mutex<BTreeMap<String, Bytes>>);

#[async_trait::async_trait]
impl Keep for Blobs {
    async fn keep(&self, blobs: Vec<Bytes>) -> Result<(), ToolFailure> {
        let named = blobs.into_iter().map(|bytes| (Sha256Hash::of(&bytes).prefixed(), bytes));
        self.0.lock().extend(named);
        Ok(())
    }
}

impl Blobs {
    pub fn get(&self, hash: &str) -> Option<Bytes> {
        self.0.lock().get(hash).cloned()
    }
}

impl Workspace {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("workspace");
        fs::create_dir(&root).unwrap();
        let guard = GuardCommand { program: guard_program(), args: Vec::new() };
        let blobs = Arc::new(Blobs::default());
        let ctx = ToolContext {
            root: Some(root),
            guard,
            keep: blobs.clone(),
            sight: Arc::new(NotVault),
            stashes: Arc::default(),
            background: Arc::default(),
            cancel: CancellationToken::new(),
            trust: Trust::Judged,
            is_kept: true,
            place: Arc::default(),
            models: harn_model::Models::new(Vec::new()),
            model: harn_model::OfflineModel.reference(),
            tools: Arc::from([]),
            host: None,
            secrets: Arc::new(harn_engine::secrets::Secrets::of_user()),
            open: Arc::default(),
        };
        Self { dir, ctx, blobs }
    }

    pub fn root(&self) -> &Path {
        self.ctx.root.as_deref().unwrap()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// A path beside the workspace.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The names in a folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        names_in(&self.path(path))
    }

    pub async fn prepare(&self, tool: &str, args: Value) -> Result<Prepared, String> {
        get(tool).prepare(&self.ctx, &object(args)).await.map_err(|failure| failure.message)
    }

    pub async fn planned(&self, tool: &str, args: Value) -> PreparedWrite {
        match self.prepare(tool, args).await {
            Ok(Prepared::Write(write)) => write,
            other => panic!("not a write: {other:?}"),
        }
    }

    pub async fn perform(&self, tool: &str, write: PreparedWrite) -> Result<Value, String> {
        let performed = get(tool).perform(&self.ctx, &Map::new(), Prepared::Write(write)).await;
        performed.map(|output| output.value).map_err(|failure| failure.message)
    }

    /// Prepares and performs.
    pub async fn call(&self, tool: &str, args: Value) -> Result<Value, String> {
        let args = object(args);
        let tool = get(tool);
        let prepared = tool.prepare(&self.ctx, &args).await.map_err(|failure| failure.message)?;
        let performed = tool.perform(&self.ctx, &args, prepared).await;
        performed.map(|output| output.value).map_err(|failure| failure.message)
    }
}

pub fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names = entries.collect::<Vec<_>>();
    names.sort();
    names
}

pub fn get(tool: &str) -> Arc<dyn Tool> {
    Registry::builtin().get(tool).unwrap()
}

pub fn object(args: Value) -> Map<String, Value> {
    args.as_object().unwrap().clone()
}

/// The example `guard`, which cargo builds along with the tests.
pub fn guard_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/guard");
    assert!(program.exists(), "{program:?} is missing: run `cargo build -p harn-engine --examples`");
    program
}

/// Waits until something has happened elsewhere.
pub fn eventually(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(Instant::now() < deadline, "did not happen in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
