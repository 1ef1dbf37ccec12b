//! The tool that replaces passages of a text file.

use async_trait::async_trait;
use harn_core::run::WritePlan;
use harn_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::args::Args;
use super::atomic::{PreImage, hash};
use super::confined::{Confined, MAX_CONTENT, Refusal};
use super::files::{in_workspace, perform_write, reconcile_write, write_spec};
use super::options::{flag, objects};
use super::replace::{Edit, Fault, Places, apply};
use super::{Prepared, PreparedWrite, Reconciled, Tool, ToolContext, ToolFailure, ToolOutput, object_schema};

const MAX_EDITS: usize = 200;

/// Replaces passages of a text file. Links are treated as by [`WriteFile`](super::WriteFile).
pub struct EditFile;

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        let old = json!({ "type": "string", "description": "The passage as it stands in the file." });
        let new = json!({ "type": "string", "description": "What to put in its place." });
        let edit = object_schema(
            json!({
                "old_text": old,
                "new_text": new,
                "replace_all": { "type": "boolean", "description": "Whether every occurrence is replaced; false unless given." },
            }),
            &["old_text", "new_text"],
        );
        write_spec(
            "edit_file",
            "Replaces passages of a UTF-8 text file; use it for changes that are smaller than the file. Give \
             old_text and new_text, or edits for up to 200 changes that are made in order, all or none. Each old_text \
             must occur exactly once at its turn, unless replace_all is set; in a file with CR LF line ends they stay.",
            json!({
                "path": { "type": "string", "description": "Relative to the workspace root." },
                "old_text": old,
                "new_text": new,
                "edits": { "type": "array", "items": edit, "minItems": 1, "maxItems": MAX_EDITS,
                    "description": "In place of old_text and new_text." },
            }),
            &["path"],
        )
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        let (path, edits) = edit_args(args)?;
        let path = path.to_owned();
        in_workspace(ctx, move |workspace| plan_edits(workspace, &path, &edits)).await.map(Prepared::Write)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        _args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        perform_write(ctx, prepared).await.map(ToolOutput::from)
    }

    async fn reconcile(&self, ctx: &ToolContext, plan: &WritePlan) -> Reconciled {
        reconcile_write(ctx, plan).await
    }
}

fn edit_args(given: &Map<String, Value>) -> Result<(&str, Vec<Edit>), ToolFailure> {
    let args = Args::check("edit_file", given, &["path", "old_text", "new_text", "edits"])?;
    let path = args.text("path")?;
    let Some(list) = objects("edit_file", given, "edits", MAX_EDITS)? else {
        let (old, new) = (args.text("old_text")?.to_owned(), args.text("new_text")?.to_owned());
        return Ok((path, vec![Edit { old, new, places: Places::TheOnlyOne }]));
    };
    if given.contains_key("old_text") || given.contains_key("new_text") {
        return Err(ToolFailure::new(
            "edit_file takes either `edits` or `old_text` and `new_text`, not both. Put all changes into `edits`.",
        ));
    }
    let edits = list.into_iter().enumerate().map(|(n, edit)| {
        one_edit(edit).map_err(|failure| ToolFailure::new(format!("Edit {}: {}", n + 1, failure.message)))
    });
    Ok((path, edits.collect::<Result<_, _>>()?))
}

fn one_edit(given: &Map<String, Value>) -> Result<Edit, ToolFailure> {
    let args = Args::check("edit_file", given, &["old_text", "new_text", "replace_all"])?;
    let (old, new) = (args.text("old_text")?.to_owned(), args.text("new_text")?.to_owned());
    let all = flag("edit_file", given, "replace_all")?;
    Ok(Edit { old, new, places: if all { Places::All } else { Places::TheOnlyOne } })
}

fn plan_edits(workspace: &Confined, path: &str, edits: &[Edit]) -> Result<PreparedWrite, ToolFailure> {
    let PreImage { path, bytes: pre_image, mode, new_folders } = workspace.pre_image(path)?;
    let Some(pre_image) = pre_image else { return Err(Refusal::NotFound { path }.into()) };
    let Ok(text) = str::from_utf8(&pre_image) else { return Err(Refusal::NotText { path }.into()) };
    let content = apply(text, edits, MAX_CONTENT as usize).map_err(|Fault { edit, why }| {
        let which = match edits.len() {
            1 => String::new(),
            many => format!("edit {} of {many}: ", edit + 1),
        };
        ToolFailure::new(format!("`{path}` was not changed: {which}{why}"))
    })?;
    let (before, after) = (Some(hash(&pre_image)), hash(content.as_bytes()));
    let plan = WritePlan { path, before, after, mode, new_folders };
    Ok(PreparedWrite { plan, pre_image: Some(pre_image), content: content.into() })
}
