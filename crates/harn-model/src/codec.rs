//! What a provider's wire format has to tell: how to ask, how to read the answer, what a refusal means. No I/O.

use harn_core::chat::{ModelRequest, Thinking};
use serde_json::{Map, Value};

use crate::wire::Frame;
use crate::{Chunk, ModelError};

pub use reqwest::header::HeaderMap as Headers;

/// A wire format: pure functions between our types and a provider's bytes.
pub trait Codec: Send + Sync {
    /// The request to make. It holds no credential: the model adds that, as `Target::auth` says.
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError>;

    /// Reads the answer to this request.
    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder>;

    /// What an answer other than 2xx means. The body may be cut, and need not be JSON.
    fn refusal(&self, status: u16, headers: &Headers, body: &[u8]) -> ModelError;

    /// How long the provider asks to wait, in headers of its own. `Retry-After` and `Retry-After-Ms` are read for
    /// everyone and need no mention here.
    fn wait(&self, _headers: &Headers) -> Option<std::time::Duration> {
        None
    }

    /// The provider's word for a stop that is a pause: sent back as it came, the answer goes on.
    fn pause(&self) -> Option<&'static str> {
        None
    }
}

/// Reads the frames of one answer.
pub trait Decoder: Send {
    /// Appends what the frame means. What was appended before an error counts.
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError>;

    /// The bytes are over, for whatever reason. Appends a `PartialCall` for each call that was left open, and fails
    /// with `CutStream` if the answer was not whole. Called at most once, and not after a `Chunk::Stop`. A format
    /// without a mark at its end appends the `Chunk::Stop` here.
    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError>;
}

/// One HTTP POST, without its credential.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// Begins with `/`; may hold a query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// What a successful answer consists of. An answer that says `application/json` is read as `Whole` regardless.
    pub framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
    /// One JSON document.
    Whole,
}

/// Which model is called where, and what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub provider: String,
    /// The model's name on the wire.
    pub model: String,
    pub base_url: String,
    pub auth: Auth,
    pub delivery: Delivery,
    pub capabilities: Capabilities,
    /// Settings that one wire format alone understands; its codec says which.
    pub options: Map<String, Value>,
    /// Put into the request's body as they are, over whatever the codec wrote there.
    pub extra_body: Map<String, Value>,
    pub headers: Vec<(String, String)>,
}

impl Target {
    pub fn new(
        provider: impl Into<String>,
        model: impl Into<String>,
        base_url: impl Into<String>,
        auth: Auth,
    ) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            base_url: base_url.into(),
            auth,
            delivery: Delivery::Streamed,
            capabilities: Capabilities::default(),
            options: Map::new(),
            extra_body: Map::new(),
            headers: Vec::new(),
        }
    }

    /// The base URL for messages: a name and password in it are nobody's business.
    pub fn shown_url(&self) -> String {
        let (scheme, rest) = self.base_url.split_once("://").unwrap_or(("", &self.base_url));
        let host = rest.split('/').next().unwrap_or_default();
        match host.rfind('@') {
            Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
            None => self.base_url.clone(),
        }
    }

    /// The address of a path. A version that base URL and path both name, as in `…/v1` and `/v1/messages`, counts
    /// once: people write base URLs either way.
    pub fn url(&self, path: &str) -> String {
        let base = self.base_url.trim_end_matches('/');
        let first = path.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
        let is_version = first.starts_with('v') && first.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        match base.strip_suffix(first).filter(|rest| is_version && rest.ends_with('/')) {
            Some(rest) => format!("{}{path}", rest.trim_end_matches('/')),
            None => format!("{base}{path}"),
        }
    }
}

/// Where the credential goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer …`
    Bearer,
    /// A header of its own, such as `x-api-key`.
    Header(String),
    /// None is sent, as to most local servers.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Streamed,
    /// The answer comes at once.
    Whole,
}

/// What a model can do, as far as a request depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub thinking: ThinkingKind,
    pub tools: bool,
    pub images: bool,
    pub documents: bool,
    pub structured_output: StructuredOutput,
    /// Instructions go in the role `developer` instead of `system`.
    pub developer_role: bool,
    /// Marks that say what to cache are understood.
    pub prompt_caching: bool,
    /// Tokens of prompt and answer together, for servers that load a model with the window they are told.
    pub context_window: Option<u64>,
}

impl Default for Capabilities {
    /// What to assume of a model of which nothing is known.
    fn default() -> Self {
        Self {
            thinking: ThinkingKind::Unknown,
            tools: true,
            images: true,
            documents: false,
            structured_output: StructuredOutput::ByTool,
            developer_role: false,
            prompt_caching: false,
            context_window: None,
        }
    }
}

/// In which way a model can be told how much to think.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkingKind {
    /// Nothing is known: nothing is said.
    Unknown,
    /// It does not think.
    Never,
    /// It thinks and cannot be told otherwise.
    Always,
    /// By a number of tokens, at least `least`.
    Budget { least: u32 },
    /// By itself, within an effort out of these levels; `Off` among them if it can be switched off.
    Adaptive { levels: Vec<Thinking> },
    /// By an effort out of these levels; `Off` among them if it can be switched off.
    Effort { levels: Vec<Thinking> },
    /// By the words `/think` and `/no_think` in the prompt.
    PromptTag,
    /// By `chat_template_kwargs.enable_thinking`.
    TemplateSwitch,
    /// By a boolean of the request.
    Switch,
}

/// How an answer is brought into a given shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructuredOutput {
    /// The provider takes a schema.
    Native,
    /// The provider promises JSON, but of no certain shape; the schema goes into the instructions.
    JsonMode,
    /// By a tool that the model has to call.
    ByTool,
    /// Only by asking for it in the instructions.
    ByPrompt,
}

/// A key, and where it came from. It has neither `Debug` nor `Display`, so it cannot slip into a log.
#[derive(Clone)]
pub struct Credential {
    secret: Option<String>,
    variable: String,
}

impl Credential {
    /// `variable` is the environment variable that the key belongs in; messages name it.
    pub fn new(secret: &str, variable: impl Into<String>) -> Self {
        let secret = secret.trim();
        Self { secret: (!secret.is_empty()).then(|| secret.to_owned()), variable: variable.into() }
    }

    /// No key is there; a call that needs one says which variable to set.
    pub fn missing(variable: impl Into<String>) -> Self {
        Self { secret: None, variable: variable.into() }
    }

    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub fn is_missing(&self) -> bool {
        self.secret.is_none()
    }

    pub(crate) fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }

    /// The text without the key, should it be in there, whole or with its middle hidden.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let Some(secret) = &self.secret else { return text.to_owned() };
        let text = text.replace(secret.as_str(), "[key]");
        let between = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;:=".contains(c);
        let words = text.split_inclusive(between).map(|word| {
            let bare = word.trim_end_matches(between).trim_end_matches(['.', '!', '?']);
            if is_masked(bare, secret) { word.replacen(bare, "[key]", 1) } else { word.to_owned() }
        });
        words.collect()
    }
}

/// Whether a word is the key with a part of it hidden, as in `sk-ab***yz`: providers quote a wrong key like that.
fn is_masked(word: &str, secret: &str) -> bool {
    let masks = ["*", "…", "...", "•"];
    let Some(start) = masks.iter().filter_map(|mask| word.find(mask)).min() else { return false };
    let head = &word[..start];
    let tail = word[start..].trim_start_matches(['*', '…', '.', '•']);
    let is_head = secret.starts_with(head);
    let is_tail = secret.ends_with(tail);
    let shown = head.len() + tail.len();
    let shared = word.bytes().zip(secret.bytes()).take_while(|(a, b)| a == b).count();
    shared >= 6 || (is_head && is_tail && shown >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_joins_the_base_url_with_one_slash_and_one_version() {
        let cases = [
            ("https://a.example", "/v1/messages", "https://a.example/v1/messages"),
            ("https://a.example/", "/v1/messages", "https://a.example/v1/messages"),
            ("https://a.example/v1", "/v1/messages", "https://a.example/v1/messages"),
            ("https://a.example/v1/", "/v1/messages?beta=true", "https://a.example/v1/messages?beta=true"),
            ("https://a.example/v1beta", "/v1/models", "https://a.example/v1beta/v1/models"),
            (
                "https://a.example/openai/v1",
                "/chat/completions",
                "https://a.example/openai/v1/chat/completions",
            ),
            ("https://chat.example/chat", "/chat/completions", "https://chat.example/chat/chat/completions"),
            ("http://127.0.0.1:11434", "/api/chat", "http://127.0.0.1:11434/api/chat"),
        ];
        for (base, path, expected) in cases {
            assert_eq!(Target::new("p", "m", base, Auth::None).url(path), expected);
        }
    }

    #[test]
    fn a_password_in_the_base_url_is_not_shown() {
        let cases = [
            ("https://a.example/v1", "https://a.example/v1"),
            ("https://user:secret@a.example/v1", "https://a.example/v1"),
            ("https://a.example/@me", "https://a.example/@me"),
            ("nonsense", "nonsense"),
        ];
        for (base, expected) in cases {
            assert_eq!(Target::new("p", "m", base, Auth::None).shown_url(), expected);
        }
    }

    #[test]
    fn a_key_of_which_a_part_is_hidden_is_scrubbed_too() {
        let key = Credential::new("sk-abcdefgh123456wxyz", "A_KEY");
        let cases = [
            ("Incorrect API key provided: sk-abcde****wxyz.", "Incorrect API key provided: [key]."),
            ("key 'sk-ab***xyz' is wrong", "key '[key]' is wrong"),
            ("{\"key\":\"sk-abc...wxyz\"}", "{\"key\":\"[key]\"}"),
            ("sk-abc…wxyz, sk-abcd•••", "[key], [key]"),
            ("Your api key: ****wxyz is invalid", "Your api key: [key] is invalid"),
            ("sk-abcdefZZZ*** may be it", "[key] may be it"),
            ("sk-other***9999 is another", "sk-other***9999 is another"),
            ("*** wait... what? 2*3=6, *emphasis*, sk-", "*** wait... what? 2*3=6, *emphasis*, sk-"),
            ("sk-abcdefgh123456wxyz\n  and …", "[key]\n  and …"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(key.scrub(text), expected);
        }
    }

    #[test]
    fn a_key_is_trimmed_and_scrubbed_and_an_empty_one_is_missing() {
        let key = Credential::new(" sk-secret\n", "A_KEY");
        assert_eq!(key.scrub("not sk-secret but sk-secret"), "not [key] but [key]");
        assert!(!key.is_missing());
        let cases = [Credential::new("  ", "A_KEY"), Credential::missing("A_KEY")];
        for credential in cases {
            assert_eq!((credential.is_missing(), credential.variable()), (true, "A_KEY"));
            assert_eq!(credential.scrub("as it is"), "as it is");
        }
    }
}
