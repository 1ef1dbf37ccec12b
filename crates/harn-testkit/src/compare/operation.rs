//! Compares operations: parameters, request bodies and responses.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::Place;
use super::view::Schemas;
use super::{Comparison, Kind, Side};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// One operation of a document, and the path item that it belongs to.
#[derive(Clone, Copy)]
struct Operation<'a> {
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

impl<'a> Comparison<'a> {
    pub(super) fn operations(&mut self) {
        let (public, ours) = (operations(self.public.document()), operations(self.ours.document()));
        for (key, one) in &public {
            let name = format!("{} {}", key.0, one.path);
            match ours.get(key) {
                Some(other) => self.operation(&name, *one, *other),
                None => self.report(Kind::Missing, &name, "the operation is missing"),
            }
        }
        for ((method, _), other) in ours.iter().filter(|(key, _)| !public.contains_key(*key)) {
            self.report(Kind::Addition, &format!("{method} {}", other.path), "only ours has the operation");
        }
    }

    fn operation(&mut self, name: &str, public: Operation<'a>, ours: Operation<'a>) {
        let (one, other) = (&public.operation["operationId"], &ours.operation["operationId"]);
        if one != other {
            let detail = format!("{one} in public, {other} in ours");
            self.report(Kind::Conflict, &format!("{name} operationId"), detail);
        }
        self.parameters(name, public, ours);
        self.request(name, public.operation.get("requestBody"), ours.operation.get("requestBody"));
        self.responses(name, &public.operation["responses"], &ours.operation["responses"]);
    }

    fn parameters(&mut self, name: &str, public: Operation<'a>, ours: Operation<'a>) {
        let (public, ours) = (parameters(&self.public, public), parameters(&self.ours, ours));
        for (key, (spelling, one)) in &public {
            let text = format!("{name} {spelling}");
            match ours.get(key) {
                Some((_, other)) => self.parameter(&text, one, other),
                None => self.report(Kind::Missing, &text, "the parameter is missing"),
            }
        }
        for (_, (spelling, other)) in ours.iter().filter(|(key, _)| !public.contains_key(*key)) {
            let kind = if is_required(other) { Kind::Conflict } else { Kind::Addition };
            self.report(kind, &format!("{name} {spelling}"), "only ours has the parameter");
        }
    }

    fn parameter(&mut self, text: &str, public: &Value, ours: &Value) {
        self.required(text, is_required(public), is_required(ours));
        let anything = Value::Bool(true);
        let schema = |parameter: &Value| parameter.get("schema").unwrap_or(&anything).clone();
        self.schemas(&Place::operation(text), &schema(public), &schema(ours), Side::Request);
    }

    fn required(&mut self, text: &str, public: bool, ours: bool) {
        match (public, ours) {
            (true, false) => self.wider(Side::Request, text, "required in public, optional in ours"),
            (false, true) => self.narrower(Side::Request, text, "optional in public, required in ours"),
            _ => {}
        }
    }

    fn request(&mut self, name: &str, public: Option<&'a Value>, ours: Option<&'a Value>) {
        let text = format!("{name} request");
        match (public, ours) {
            (None, None) => {}
            (Some(_), None) => self.report(Kind::Missing, &text, "the request body is missing"),
            (None, Some(ours)) => {
                let kind = if is_required(self.ours.resolve(ours)) { Kind::Conflict } else { Kind::Addition };
                self.report(kind, &text, "only ours takes a request body");
            }
            (Some(public), Some(ours)) => {
                let (public, ours) = (self.public.resolve(public), self.ours.resolve(ours));
                self.required(&text, is_required(public), is_required(ours));
                self.content(&text, public, ours, Side::Request);
            }
        }
    }

    fn responses(&mut self, name: &str, public: &'a Value, ours: &'a Value) {
        let (wanted, offered) = (entries(public), entries(ours));
        for (status, one) in wanted {
            let text = format!("{name} {status}");
            match offered.get(status) {
                Some(other) => {
                    let (one, other) = (self.public.resolve(one), self.ours.resolve(other));
                    self.content(&text, one, other, Side::Response);
                }
                None => self.report(Kind::Missing, &text, "the response is missing"),
            }
        }
        for (status, other) in offered.iter().filter(|(status, _)| !wanted.contains_key(*status)) {
            let text = format!("{name} {status}");
            self.report(Kind::Addition, &text, "only ours has the response");
            // In public every failure is the default response, so an explicit one of ours must be it too.
            if let Some(default) = wanted.get("default").filter(|_| status.starts_with(['4', '5'])) {
                let (default, other) = (self.public.resolve(default), self.ours.resolve(other));
                self.content(&text, default, other, Side::Response);
            }
        }
    }

    fn content(&mut self, text: &str, public: &Value, ours: &Value, side: Side) {
        let (wanted, offered) = (entries(&public["content"]), entries(&ours["content"]));
        let anything = Value::Bool(true);
        for (media, one) in wanted {
            match offered.get(media) {
                Some(other) => {
                    let schema = |media: &Value| media.get("schema").unwrap_or(&anything).clone();
                    self.schemas(&Place::operation(text), &schema(one), &schema(other), side);
                }
                None => self.report(Kind::Missing, &format!("{text} {media}"), "the media type is missing"),
            }
        }
        for media in offered.keys().filter(|media| !wanted.contains_key(*media)) {
            self.report(Kind::Addition, &format!("{text} {media}"), "only ours has the media type");
        }
    }
}

/// Operations by method and by path with the names of its parameters left out: a path whose
/// parameter is called something else is the same path, and the name is judged as a parameter.
fn operations(document: &Value) -> BTreeMap<(String, String), Operation<'_>> {
    let mut found = BTreeMap::new();
    for (path, item) in entries(&document["paths"]) {
        for (method, operation) in entries(item).iter().filter(|(key, _)| METHODS.contains(&key.as_str())) {
            found.insert((method.to_uppercase(), anonymous(path)), Operation { path, item, operation });
        }
    }
    found
}

fn anonymous(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// Parameters by `in` and name, with the spelling for reports. HTTP compares header names without case.
fn parameters<'a>(
    schemas: &Schemas<'a>,
    operation: Operation<'a>,
) -> BTreeMap<(&'a str, String), (String, &'a Value)> {
    let shared = operation.item["parameters"].as_array().into_iter().flatten();
    let own = operation.operation["parameters"].as_array().into_iter().flatten();
    let named = shared.chain(own).map(|parameter| {
        let parameter = schemas.resolve(parameter);
        let place = parameter["in"].as_str().unwrap_or_default();
        let name = parameter["name"].as_str().unwrap_or_default();
        let key = if place == "header" { name.to_lowercase() } else { name.to_owned() };
        ((place, key), (format!("{place} {name}"), parameter))
    });
    named.collect()
}

fn is_required(node: &Value) -> bool {
    node["required"] == Value::Bool(true)
}

fn entries(node: &Value) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    node.as_object().unwrap_or(&NONE)
}
