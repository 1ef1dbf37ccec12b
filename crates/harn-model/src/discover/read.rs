//! Reads what local servers say about their models. Whatever is not as expected is unknown, never an error of ours.

use serde_json::Value;

use super::Discovered;

/// `GET /api/tags` of Ollama: every model that has been pulled.
pub(super) fn ollama_tags(provider: &str, answer: &Value) -> Option<Vec<Discovered>> {
    let rows = answer.get("models")?.as_array()?;
    let model = |row: &Value| {
        let id = text(row, "model").or_else(|| text(row, "name"))?;
        let size_bytes = count(row.get("size"));
        Some(Discovered { provider: provider.to_owned(), id, context_window: None, size_bytes })
    };
    Some(rows.iter().filter_map(model).collect())
}

/// `GET /api/ps` of Ollama: the models that are loaded, with the window that they run with.
pub(super) fn add_ollama_windows(models: &mut [Discovered], running: &Value) {
    let rows = running.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for model in models {
        let named =
            |row: &&Value| row.get("model").or_else(|| row.get("name")).is_some_and(|id| id == &model.id);
        let row = rows.iter().find(named);
        model.context_window = row.and_then(|row| count(row.get("context_length")));
    }
}

/// `GET /models` of everything that speaks like OpenAI, with what vLLM, llama.cpp and LM Studio add to a row.
pub(super) fn openai_models(provider: &str, answer: &Value) -> Option<Vec<Discovered>> {
    let rows = answer.get("data")?.as_array()?;
    let model = |row: &Value| {
        // LM Studio also lists models that only turn text into numbers.
        if row.get("type").is_some_and(|kind| kind == "embeddings") {
            return None;
        }
        let meta = row.get("meta");
        let in_meta = |name: &str| count(meta.and_then(|meta| meta.get(name)));
        let windows = ["loaded_context_length", "max_model_len", "max_context_length"];
        let window = windows.iter().find_map(|name| count(row.get(*name)));
        Some(Discovered {
            provider: provider.to_owned(),
            id: text(row, "id")?,
            context_window: window.or_else(|| in_meta("n_ctx")).or_else(|| in_meta("n_ctx_train")),
            size_bytes: in_meta("size"),
        })
    };
    Some(rows.iter().filter_map(model).collect())
}

/// `GET /props` of llama.cpp: the window of a slot, which is smaller than that of the model if it was started so.
pub(super) fn llama_cpp_window(props: &Value) -> Option<u64> {
    count(props.get("default_generation_settings")?.get("n_ctx"))
}

fn text(row: &Value, name: &str) -> Option<String> {
    row.get(name)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// Zero is what a server says that does not know.
fn count(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|count| *count > 0)
}
