//! Compares two schemas, level by level.

use std::collections::BTreeSet;

use serde_json::Value;

use super::view::{Schemas, View};
use super::{Comparison, Kind, Side};

/// Deeper than any real schema; ends anonymous recursion, which the pairs of names do not see.
const DEEPEST: usize = 48;

/// Where a schema is used: the text of the location, and how deep we are.
#[derive(Clone)]
pub(super) struct Place {
    pub text: String,
    depth: usize,
}

impl Place {
    /// The trailing space sets the operation apart from the path inside its body.
    pub fn operation(text: &str) -> Self {
        Self { text: format!("{text} "), depth: 0 }
    }

    fn below(&self, step: &str) -> Self {
        Self { text: format!("{}{step}", self.text), depth: self.depth + 1 }
    }

    fn component(&self, name: &str) -> Self {
        Self { text: name.to_owned(), depth: self.depth + 1 }
    }
}

impl Comparison<'_> {
    pub(super) fn schemas(&mut self, place: &Place, public: &Value, ours: &Value, side: Side) {
        let (public, ours) = (self.public.view(public), self.ours.view(ours));
        self.views(place, &public, &ours, side);
    }

    fn views(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        if place.depth > DEEPEST {
            return;
        }
        match (public.is_any(), ours.is_any()) {
            (true, true) => return,
            (true, false) => {
                let detail = format!("any value in public, {} in ours", label(&self.ours, ours));
                return self.narrower(side, &place.text, detail);
            }
            (false, true) => {
                let detail = format!("{} in public, any value in ours", label(&self.public, public));
                return self.wider(side, &place.text, detail);
            }
            (false, false) => {}
        }
        // Null belongs to this use of a component, so it is judged before the place becomes the component.
        self.null(place, public, ours, side);
        let Some(place) = self.anchor(place, public, ours, side) else { return };
        if public.variants.is_empty() && ours.variants.is_empty() {
            self.plain(&place, public, ours, side);
        } else {
            self.unions(&place, public, ours, side);
        }
    }

    fn null(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        match (public.accepts_null, ours.accepts_null) {
            (true, false) => self.narrower(side, &place.text, "null is allowed in public and not in ours"),
            (false, true) => self.wider(side, &place.text, "null is allowed in ours and not in public"),
            _ => {}
        }
    }

    /// The place under which the content is reported, or `None` when this pair was compared before.
    ///
    /// A component's own content is reported once under its public name. Where ours is something else
    /// altogether, the place of use says more, so it stays.
    fn anchor(&mut self, place: &Place, public: &View, ours: &View, side: Side) -> Option<Place> {
        let Some(name) = &public.name else { return Some(place.clone()) };
        let same_name = ours.name.as_ref() == Some(name);
        let same_nature = public.kind == ours.kind && public.is_composite();
        if !same_name && !same_nature {
            return Some(place.clone());
        }
        match &ours.name {
            Some(ours) if !self.seen.insert((name.clone(), ours.clone(), side.name())) => None,
            _ => Some(place.component(name)),
        }
    }

    fn plain(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        if !self.kinds(place, public, ours, side) {
            return;
        }
        self.values(place, public, ours, side);
        self.limits(place, public, ours, side);
        match public.kind.as_deref() {
            Some("object") => self.objects(place, public, ours, side),
            Some("array") => self.arrays(place, public, ours, side),
            _ => {}
        }
    }

    /// Whether the types agree well enough to look inside.
    fn kinds(&mut self, place: &Place, public: &View, ours: &View, side: Side) -> bool {
        let name = |view: &View| view.kind.clone().unwrap_or_else(|| "any type".to_owned());
        let detail = format!("{} in public, {} in ours", name(public), name(ours));
        match (public.kind.as_deref(), ours.kind.as_deref()) {
            (one, other) if one == other => return true,
            (Some("number"), Some("integer")) | (None, Some(_)) => self.narrower(side, &place.text, detail),
            (Some("integer"), Some("number")) | (Some(_), None) => self.wider(side, &place.text, detail),
            _ => self.report(Kind::Conflict, &place.text, detail),
        }
        false
    }

    fn values(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        match (&public.values, &ours.values) {
            (Some(public), Some(ours)) => {
                for value in public.difference(ours) {
                    self.report(Kind::Missing, &place.text, format!("value {value} is missing"));
                }
                for value in ours.difference(public) {
                    self.wider(side, &place.text, format_args!("value {value} is only in ours"));
                }
            }
            (Some(_), None) => self.wider(side, &place.text, "fixed values in public, any value in ours"),
            (None, Some(_)) => self.narrower(side, &place.text, "any value in public, fixed values in ours"),
            (None, None) => {}
        }
    }

    fn limits(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        let keys: BTreeSet<_> = public.limits.keys().chain(ours.limits.keys()).copied().collect();
        for key in keys {
            let detail = |value: &Value, whose: &str| format!("{key} {value} is only in {whose}");
            match (public.limits.get(key), ours.limits.get(key)) {
                (Some(value), None) => self.wider(side, &place.text, detail(value, "public")),
                (None, Some(value)) => self.narrower(side, &place.text, detail(value, "ours")),
                (Some(public), Some(ours)) => self.limit(place, key, (public, ours), side),
                (None, None) => {}
            }
        }
    }

    fn limit(&mut self, place: &Place, key: &str, (public, ours): (&Value, &Value), side: Side) {
        let detail = format!("{key} is {public} in public and {ours} in ours");
        let lower = key.to_ascii_lowercase().contains("min");
        match (public.as_f64(), ours.as_f64()) {
            (Some(public), Some(ours)) if public == ours => {}
            (Some(public), Some(ours)) if (ours > public) == lower => {
                self.narrower(side, &place.text, detail)
            }
            (Some(_), Some(_)) => self.wider(side, &place.text, detail),
            _ if public == ours => {}
            _ => self.report(Kind::Conflict, &place.text, detail),
        }
    }

    fn arrays(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        let anything = Value::Bool(true);
        let items = |view: &View| view.items.clone().unwrap_or_else(|| anything.clone());
        self.schemas(&place.below("[]"), &items(public), &items(ours), side);
    }

    fn objects(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        for (name, schema) in &public.properties {
            let below = place.below(&format!(".{name}"));
            match ours.properties.get(name) {
                Some(other) => {
                    self.requiredness(
                        &below,
                        public.required.contains(name),
                        ours.required.contains(name),
                        side,
                    );
                    self.schemas(&below, schema, other, side);
                }
                None => self.report(Kind::Missing, &below.text, "the property is missing"),
            }
        }
        for (name, schema) in &ours.properties {
            if !public.properties.contains_key(name) {
                let below = place.below(&format!(".{name}"));
                self.extra_property(&below, public, schema, ours.required.contains(name), side);
            }
        }
        self.additional(place, public, ours, side);
    }

    fn requiredness(&mut self, place: &Place, public: bool, ours: bool, side: Side) {
        match (public, ours) {
            (true, false) => self.wider(side, &place.text, "required in public, optional in ours"),
            (false, true) => self.narrower(side, &place.text, "optional in public, required in ours"),
            _ => {}
        }
    }

    fn extra_property(&mut self, place: &Place, public: &View, schema: &Value, required: bool, side: Side) {
        match (&public.additional, side) {
            (Some(Value::Bool(false)), _) => {
                self.report(Kind::Conflict, &place.text, "public allows no further properties");
            }
            (Some(additional), _) => self.schemas(place, &additional.clone(), schema, side),
            (None, Side::Request) if required => {
                self.report(
                    Kind::Conflict,
                    &place.text,
                    "ours requires a property that public does not have (request)",
                );
            }
            // Any object in public: saying what ours contains is a promise.
            (None, Side::Response) if public.is_free_form() => {}
            (None, _) => self.report(Kind::Addition, &place.text, "only ours has the property"),
        }
    }

    fn additional(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        let closed = Value::Bool(false);
        let place = place.below(".*");
        match (&public.additional, &ours.additional) {
            (None, None) => {}
            (Some(public), Some(ours)) if *public == closed && *ours == closed => {}
            (Some(public), Some(ours)) if *public != closed && *ours != closed => {
                self.schemas(&place, public, ours, side);
            }
            (None, Some(_)) => {
                self.narrower(side, &place.text, "further properties are restricted in ours only")
            }
            (_, Some(ours)) if *ours == closed => {
                self.narrower(side, &place.text, "further properties are forbidden in ours only");
            }
            _ => self.wider(side, &place.text, "further properties are restricted in public only"),
        }
    }

    fn unions(&mut self, place: &Place, public: &View, ours: &View, side: Side) {
        let wanted = alternatives(public);
        let mut offered = alternatives(ours);
        let mut pairs = Vec::new();
        let mut unmatched: Vec<&View> = wanted.iter().collect();
        for likeness in [Likeness::Name, Likeness::Tag, Likeness::Kind] {
            unmatched.retain(|view| {
                let found = offered.iter().position(|other| self.alike(view, other, likeness));
                found.map(|at| pairs.push(((*view).clone(), offered.remove(at)))).is_none()
            });
        }
        for view in unmatched {
            let text = format!("{}|{}", place.text, label(&self.public, view));
            self.report(Kind::Missing, &text, "the alternative is missing");
        }
        for view in &offered {
            let text = format!("{}|{}", place.text, label(&self.ours, view));
            self.wider(side, &text, "only ours has the alternative");
        }
        for (one, other) in pairs {
            let place = place.below(&format!("|{}", label(&self.public, &one)));
            self.views(&place, &one, &other, side);
        }
    }

    fn alike(&self, public: &View, ours: &View, likeness: Likeness) -> bool {
        match likeness {
            Likeness::Name => public.name.is_some() && public.name == ours.name,
            Likeness::Tag => {
                let ours = self.ours.tags(ours);
                self.public.tags(public).iter().any(|(name, value)| ours.get(name) == Some(value))
            }
            Likeness::Kind => public.kind == ours.kind,
        }
    }
}

/// By what an alternative of ours is recognised as one of the public ones, most telling first.
#[derive(Clone, Copy)]
enum Likeness {
    Name,
    Tag,
    Kind,
}

/// Null has been judged for the whole union, so its alternatives are compared without it.
fn alternatives(view: &View) -> Vec<View> {
    let members = if view.variants.is_empty() { vec![view.clone()] } else { view.variants.clone() };
    members.into_iter().map(|member| View { accepts_null: false, ..member }).collect()
}

/// A short name of a schema for reports.
fn label(schemas: &Schemas<'_>, view: &View) -> String {
    let tag = || schemas.tags(view).into_iter().next().map(|(name, value)| format!("{name}={value}"));
    let kind = || view.kind.clone().unwrap_or_else(|| "any".to_owned());
    view.name.clone().or_else(tag).unwrap_or_else(kind)
}
