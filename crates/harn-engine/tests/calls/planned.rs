//! Writes of runs whose journal is kept: planned, so that it shows after a crash whether they were done.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use harn_core::decision::{EffectKind, Verdict};
use harn_core::ports::Located;
use harn_core::run::Trust;
use harn_core::tool::{Class, SideEffect};
use harn_engine::calls;
use harn_engine::tools::{Keep, Prepared, PreparedWrite, Reconciled, Sight, Tool, ToolContext, ToolFailure};
use serde_json::{Value, json};

use crate::kit::{Scene, options};

struct Nothing;

#[async_trait]
impl Keep for Nothing {
    async fn keep(&self, _: Vec<Bytes>) -> Result<(), ToolFailure> {
        Ok(())
    }
}

impl Sight for Nothing {
    fn verdict(&self, _: EffectKind, _: &str, _: &Located) -> Verdict {
        Verdict::Allow
    }
}

fn context(scene: &Scene) -> ToolContext {
    let options = options();
    ToolContext {
        root: Some(scene.root()),
        guard: options.guard,
        keep: Arc::new(Nothing),
        sight: Arc::new(Nothing),
        stashes: Arc::default(),
        background: Arc::default(),
        cancel: Default::default(),
        trust: scene.trust,
        is_kept: true,
        place: Arc::new(scene.place()),
        models: options.models,
        model: options.model,
        tools: Arc::from([]),
        secrets: options.secrets,
        host: None,
        open: Arc::default(),
    }
}

fn call(name: &str) -> Arc<dyn Tool> {
    calls::all().get(name).unwrap()
}

async fn planned(scene: &Scene, name: &str, args: Value) -> PreparedWrite {
    match call(name).prepare(&context(scene), args.as_object().unwrap()).await {
        Ok(Prepared::Write(write)) => write,
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test]
async fn a_write_that_was_begun_is_found_not_done_done_or_unknown() {
    let cases = [
        ("write_file", json!({ "path": "a", "content": "new" }), "new"),
        ("write_file_bytes", json!({ "path": "a", "bytes": { "$bytes": "bmV3" } }), "new"),
        ("append_file", json!({ "path": "a", "content": " more" }), "old more"),
        ("copy_file", json!({ "src": "b", "dst": "a" }), "other"),
    ];
    for trust in [Trust::Own, Trust::Judged] {
        for (name, args, after) in cases.clone() {
            let mut scene = Scene::new();
            scene.trust = trust;
            scene.put("a", "old");
            scene.put("b", "other");
            let ctx = context(&scene);
            let write = planned(&scene, name, args.clone()).await;
            assert_eq!(write.pre_image.as_deref(), Some(&b"old"[..]), "{name}");
            assert_eq!(call(name).reconcile(&ctx, &write.plan).await, Reconciled::NotDone, "{name}");
            let prepared = Prepared::Write(write.clone());
            let done = call(name).perform(&ctx, args.as_object().unwrap(), prepared.clone()).await.unwrap();
            assert_eq!((done.value, scene.text("a").as_str()), (Value::Null, after), "{name}");
            let found = call(name).reconcile(&ctx, &write.plan).await;
            assert_eq!(found, Reconciled::Done(Value::Null), "{name}");
            scene.put("a", "somebody else");
            assert_eq!(call(name).reconcile(&ctx, &write.plan).await, Reconciled::Unknown, "{name}");
            let stale = call(name).perform(&ctx, args.as_object().unwrap(), prepared).await.unwrap_err();
            assert!(stale.message.contains("has changed since"), "{name}: {stale}");
            assert_eq!(scene.text("a"), "somebody else");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_planned_an_own_script_does_all_the_same() {
    let scene = Scene::new();
    let outside = scene.outside("far").display().to_string();
    let large = "x".repeat(9 << 20);
    for (path, content) in [(outside.as_str(), "far"), ("large", large.as_str())] {
        let args = json!({ "path": path, "content": content });
        let (ctx, args) = (context(&scene), args.as_object().unwrap());
        let prepared = call("write_file").prepare(&ctx, args).await.unwrap();
        assert_eq!(prepared, Prepared::Ready, "{path}");
        call("write_file").perform(&ctx, args, prepared).await.unwrap();
        assert_eq!(scene.text(path), content);
    }
    let scene = Scene::judged();
    let args = json!({ "path": "large", "content": large });
    let refused = call("write_file").prepare(&context(&scene), args.as_object().unwrap()).await.unwrap_err();
    assert!(refused.message.contains("which is the limit"), "{refused}");
}

#[tokio::test]
async fn what_others_delete_and_run_can_be_undone() {
    let scene = Scene::judged();
    scene.put("a", "old");
    let ctx = context(&scene);
    let cases = [
        ("delete_file", json!({ "path": "a" })),
        ("exec", json!({ "dir": null, "cmd": "touch", "args": ["b"], "command": "touch b" })),
    ];
    for (name, args) in cases {
        let args = args.as_object().unwrap();
        let prepared = call(name).prepare(&ctx, args).await.unwrap();
        assert!(matches!(prepared, Prepared::Stashed(_)), "{name}");
        let output = call(name).perform(&ctx, args, prepared).await.unwrap();
        assert_eq!(output.changes.len(), 1, "{name}: {:?}", output.changes);
    }
}

#[test]
fn every_call_has_a_class_that_says_whether_it_may_be_repeated() {
    use Class::{Checkable, Once, Read};
    use SideEffect::{None, ProcessExec, ReadOnly, WorkspaceWrite};
    let calls = calls::all();
    let cases = [
        ("read_file", Read, ReadOnly),
        ("env", Read, None),
        ("mkdir", Read, WorkspaceWrite),
        ("store_set", Read, WorkspaceWrite),
        ("checkpoint", Read, WorkspaceWrite),
        ("metadata_set", Read, WorkspaceWrite),
        ("write_file", Checkable, WorkspaceWrite),
        ("append_file", Checkable, WorkspaceWrite),
        ("delete_file", Once, WorkspaceWrite),
        ("move_file", Once, WorkspaceWrite),
        ("read_line", Once, None),
        ("exec", Once, ProcessExec),
        ("shell", Once, ProcessExec),
    ];
    for (name, class, side_effect) in cases {
        let spec = calls.spec(name).unwrap();
        assert_eq!((spec.class, spec.side_effect), (class, side_effect), "{name}");
    }
}
