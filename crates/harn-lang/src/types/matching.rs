//! `match`: what each arm knows, and whether the arms are all that is needed.

use hashbrown::HashSet;

use super::Checker;
use super::decls::Kind;
use super::expand::{bindings, substitute};
use super::facts::literal;
use super::scope::Branch;
use super::ty::{DeclId, NEVER, NIL, RESULT, Ty};
use crate::problem::Code;
use crate::syntax::ast::{Arm, Element, Entry, Expr, ExprKind, Ident, Match};

/// What a pattern stands for.
enum Pattern<'a> {
    /// `_`, or a name that takes the value.
    All,
    Literal(Ty),
    Variant(DeclId, &'a Ident, &'a [Element]),
    Dict(&'a [Entry]),
    List(&'a [Element]),
    Other,
}

impl<'a> Checker<'a> {
    pub(super) fn match_(&mut self, inner: &'a Match) -> Ty {
        let subject = self.infer(&inner.subject);
        self.exhaustive(inner, &subject);
        let start = self.scope.mark();
        let mut branches: Vec<Branch> = Vec::new();
        let mut values: Vec<Ty> = Vec::new();
        let mut handled: HashSet<(DeclId, &str)> = HashSet::new();
        for arm in &inner.arms {
            let mark = self.scope.mark();
            self.scope.open();
            self.narrow_to(&inner.subject, &arm.patterns);
            let left = self.left_of(&inner.subject, &subject);
            for pattern in &arm.patterns {
                self.bind_pattern(pattern, &left);
            }
            if let Some(guard) = &arm.guard {
                self.infer(guard);
                let facts = self.facts(guard, true);
                self.apply(facts);
            }
            let value = self.block(&arm.body);
            self.scope.close();
            branches.push(self.scope.rewind(mark, value == NEVER));
            values.push(value);
            if arm.guard.is_none() {
                self.narrow_past(&inner.subject, arm, &mut handled);
            }
        }
        if inner.arms.is_empty() {
            return Ty::Hole;
        }
        if branches.iter().all(|branch| branch.exits) {
            // Whoever comes here had a value that no arm was for.
            self.narrow_past_all(inner);
            return NEVER;
        }
        self.scope.rewind(start, true);
        self.scope.merge(&branches);
        Ty::union(values)
    }

    fn pattern(&self, pattern: &'a Expr) -> Pattern<'a> {
        let pattern = pattern.peeled();
        match &pattern.kind {
            ExprKind::Name(_) => Pattern::All,
            ExprKind::Field { object, name, optional: false } => match self.enum_named(object) {
                Some(id) => Pattern::Variant(id, name, &[]),
                None => Pattern::Other,
            },
            ExprKind::Method { object, method, args, optional: false } => match self.enum_named(object) {
                Some(id) => Pattern::Variant(id, method, args),
                None => Pattern::Other,
            },
            ExprKind::Dict(entries) => Pattern::Dict(entries),
            ExprKind::List(items) => Pattern::List(items),
            _ => literal(pattern).map_or(Pattern::Other, Pattern::Literal),
        }
    }

    /// What is left of the subject where an arm is tried.
    fn left_of(&self, subject: &Expr, ty: &Ty) -> Ty {
        match self.place(subject) {
            Some((symbol, path)) => self.place_type(symbol, &path),
            None => ty.settled(),
        }
    }

    /// What is known within an arm.
    fn narrow_to(&mut self, subject: &'a Expr, patterns: &'a [Expr]) {
        if let [pattern] = patterns {
            match self.pattern(pattern) {
                Pattern::Literal(literal) => {
                    let facts = self.of_literal(subject, &literal, true);
                    self.apply(facts);
                }
                Pattern::Variant(id, ..) => self.narrow_to_enum(subject, id),
                Pattern::Dict(entries) => self.narrow_to_tag(subject, entries),
                _ => {}
            }
            return;
        }
        let mut all: Option<Vec<super::facts::Fact>> = None;
        for pattern in patterns {
            let Pattern::Literal(literal) = self.pattern(pattern) else { return };
            let facts = self.of_literal(subject, &literal, true);
            all = Some(match all {
                None => facts,
                Some(before) => super::facts::either(&before, &facts),
            });
        }
        self.apply(all.unwrap_or_default());
    }

    fn narrow_to_enum(&mut self, subject: &Expr, id: DeclId) {
        let Some((symbol, path)) = self.place(subject) else { return };
        let ty = self.expand(&self.place_type(symbol, &path));
        if let Ty::Union(_) = &ty {
            let kept = ty.without(|member| !matches!(member, Ty::User(known, _) if *known == id));
            if kept != NEVER {
                self.scope.narrow(symbol, &path, kept);
            }
        }
    }

    /// `{kind: "a", ...}` as a pattern.
    fn narrow_to_tag(&mut self, subject: &Expr, entries: &'a [Entry]) {
        let Some((symbol, path)) = self.place(subject) else { return };
        let ty = self.expand(&self.place_type(symbol, &path));
        let kept = self.members_like(&ty, entries);
        if kept != ty && kept != NEVER {
            self.scope.narrow(symbol, &path, kept);
        }
    }

    /// The shapes of a union that a dict pattern may match.
    fn members_like(&self, ty: &Ty, entries: &'a [Entry]) -> Ty {
        ty.without(|member| {
            entries.iter().any(|entry| {
                let Entry::Named { key, value } = entry else { return false };
                let Some(wanted) = literal(value) else { return false };
                match self.expand(&self.field_of(member, &key.name, false)) {
                    tag @ (Ty::Str(_) | Ty::Int(_)) => tag != wanted,
                    _ => false,
                }
            })
        })
    }

    /// What is known after an arm did not match.
    fn narrow_past(&mut self, subject: &'a Expr, arm: &'a Arm, handled: &mut HashSet<(DeclId, &'a str)>) {
        for pattern in &arm.patterns {
            match self.pattern(pattern) {
                Pattern::Literal(literal) => {
                    let facts = self.of_literal(subject, &literal, false);
                    self.apply(facts);
                }
                Pattern::Variant(id, variant, args) if args.iter().all(is_name) => {
                    handled.insert((id, &*variant.name));
                    self.narrow_past_enum(subject, id, handled);
                }
                Pattern::Dict(entries) => self.narrow_past_tag(subject, entries),
                _ => {}
            }
        }
    }

    /// What is known after an arm that takes everything did not match: nothing is left.
    fn narrow_past_all(&mut self, inner: &'a Match) {
        let takes_all = |arm: &'a Arm| {
            let mut patterns = arm.patterns.iter();
            arm.guard.is_none() && patterns.any(|pattern| matches!(self.pattern(pattern), Pattern::All))
        };
        if inner.arms.iter().any(takes_all)
            && let Some((symbol, path)) = self.place(&inner.subject)
        {
            self.scope.narrow(symbol, &path, NEVER);
        }
    }

    fn narrow_past_enum(&mut self, subject: &Expr, id: DeclId, handled: &HashSet<(DeclId, &str)>) {
        let Kind::Enum(variants) = &self.decls[id].kind else { return };
        // Most of the time it is enough to count.
        let is_all = handled.len() >= variants.len()
            && variants.iter().all(|variant| handled.contains(&(id, &*variant.name)));
        if !is_all {
            return;
        }
        let Some((symbol, path)) = self.place(subject) else { return };
        let ty = self.expand(&self.place_type(symbol, &path));
        if !ty.is_open() {
            let left = ty.without(|member| matches!(member, Ty::User(known, _) if *known == id));
            self.scope.narrow(symbol, &path, left);
        }
    }

    fn narrow_past_tag(&mut self, subject: &Expr, entries: &'a [Entry]) {
        let Some((symbol, path)) = self.place(subject) else { return };
        let ty = self.expand(&self.place_type(symbol, &path));
        let Some(tag) = self.tag_of(&ty) else { return };
        let only_tag = entries.iter().all(|entry| match entry {
            Entry::Named { key, value } => {
                *key.name == *tag || matches!(value.peeled().kind, ExprKind::Name(_))
            }
            _ => false,
        });
        if only_tag
            && entries.iter().any(|entry| matches!(entry, Entry::Named { key, .. } if *key.name == *tag))
        {
            let matched = self.members_like(&ty, entries);
            let left = ty.without(|member| matched.members().contains(member));
            self.scope.narrow(symbol, &path, left);
        }
    }

    fn bind_pattern(&mut self, pattern: &'a Expr, ty: &Ty) {
        match self.pattern(pattern) {
            Pattern::All => self.bind_part(pattern, ty.clone()),
            Pattern::Literal(_) => {}
            Pattern::Variant(id, variant, args) => {
                let types = self.variant_fields(id, &variant.name, ty);
                for (at, arg) in args.iter().enumerate() {
                    let (Element::Plain(part) | Element::Spread(part)) = arg;
                    self.bind_part(part, types.get(at).cloned().unwrap_or(Ty::Hole));
                }
                if let Kind::Enum(variants) = &self.decls[id].kind
                    && variants.find(&variant.name).is_none()
                {
                    self.variant(id, variant, &[]);
                }
            }
            Pattern::Dict(entries) => {
                let ty = self.members_like(&self.expand(ty), entries);
                for entry in entries {
                    match entry {
                        Entry::Named { key, value } => {
                            let part = self.field_of(&ty, &key.name, false);
                            self.bind_part(value, part);
                        }
                        Entry::Computed { key, value } => {
                            self.infer(key);
                            self.bind_part(value, Ty::Hole);
                        }
                        Entry::Spread(value) => self.bind_part(value, Ty::Hole),
                    }
                }
            }
            Pattern::List(items) => {
                for item in items {
                    let (Element::Plain(part) | Element::Spread(part)) = item;
                    self.bind_part(part, Ty::Hole);
                }
            }
            Pattern::Other => {
                self.infer(pattern);
            }
        }
    }

    /// A part of the value: a name takes it, anything else is a pattern again.
    fn bind_part(&mut self, pattern: &'a Expr, ty: Ty) {
        let pattern = pattern.peeled();
        match &pattern.kind {
            ExprKind::Name(name) => self.scope.variable(name, None, ty, false),
            _ => self.bind_pattern(pattern, &ty),
        }
    }

    fn variant_fields(&self, id: DeclId, variant: &str, subject: &Ty) -> Vec<Ty> {
        let decl = &self.decls[id];
        let Kind::Enum(variants) = &decl.kind else { return Vec::new() };
        let Some(variant) = variants.find(variant) else { return Vec::new() };
        let whole = self.expand(&subject.settled());
        let member =
            whole.members().iter().find(|member| matches!(member, Ty::User(known, _) if *known == id));
        let bound =
            bindings(decl.params.iter().map(|(name, _)| name), member.map_or(&[], |member| member.args()));
        variant.fields.iter().map(|(_, ty)| substitute(ty, &bound)).collect()
    }

    /// The field that tells shapes of a union apart: the first of the first that all have, each with its own literal.
    pub(super) fn tag_of(&self, ty: &Ty) -> Option<String> {
        let Ty::Union(members) = ty else { return None };
        let shapes: Option<Vec<_>> = members
            .items
            .iter()
            .map(|member| match self.expand(member) {
                Ty::Shape(shape) => Some(shape),
                _ => None,
            })
            .collect();
        let shapes = shapes?;
        let is_tag = |name: &str| {
            let mut seen: Vec<&Ty> = Vec::new();
            shapes.iter().all(|shape| match shape.field(name) {
                Some(field) if !field.optional && matches!(field.ty, Ty::Str(_) | Ty::Int(_)) => {
                    let is_new = !seen.contains(&&field.ty);
                    seen.push(&field.ty);
                    is_new
                }
                _ => false,
            })
        };
        shapes.first()?.fields.iter().find(|field| is_tag(&field.name)).map(|field| field.name.to_string())
    }

    fn exhaustive(&mut self, inner: &'a Match, subject: &Ty) {
        let mut covered: Vec<Ty> = Vec::new();
        let mut variants: HashSet<(DeclId, &str)> = HashSet::new();
        let mut dicts: Vec<&'a [Entry]> = Vec::new();
        // What a guard turns away is left for the arms after it.
        for arm in inner.arms.iter().filter(|arm| arm.guard.is_none()) {
            for pattern in &arm.patterns {
                match self.pattern(pattern) {
                    Pattern::All => return,
                    Pattern::Literal(literal) => covered.push(literal),
                    Pattern::Variant(id, variant, _) => {
                        variants.insert((id, &*variant.name));
                    }
                    Pattern::Dict(entries) => dicts.push(entries),
                    Pattern::List(_) | Pattern::Other => return,
                }
            }
        }
        let ty = self.expand(&subject.settled());
        let missing = match &inner.subject.peeled().kind {
            ExprKind::Field { object, name, .. } if variants.is_empty() && dicts.is_empty() => {
                self.missing_tags(object, &name.name, &covered)
            }
            ExprKind::Call { callee, args, .. } if &*callee.name == "type_of" && variants.is_empty() => {
                self.missing_kinds(args, &covered)
            }
            _ => None,
        };
        let missing = missing.or_else(|| self.missing_members(&ty, &covered, &variants, &dicts));
        if let Some(message) = missing {
            let help = "add an arm for each, or `_ -> { ... }` for all others";
            self.say_with(
                Code::NonExhaustive,
                inner.subject.span,
                format!("Non-exhaustive match on {message}"),
                help,
            );
        }
    }

    /// `match m.kind` and `match e.variant`.
    fn missing_tags(&self, object: &Expr, field: &str, covered: &[Ty]) -> Option<String> {
        let (symbol, path) = self.place(object)?;
        let ty = self.expand(&self.place_type(symbol, &path));
        if let Ty::User(id, _) = &ty
            && field == "variant"
            && *id != RESULT
            && let Kind::Enum(variants) = &self.decls[*id].kind
        {
            let missing = variants.iter().filter(|variant| !covered.contains(&Ty::Str(variant.name.clone())));
            let missing: Vec<&str> = missing.map(|variant| &*variant.name).collect();
            return (!missing.is_empty())
                .then(|| format!("enum {}: missing variants {}", self.decls[*id].name, missing.join(", ")));
        }
        if self.tag_of(&ty)? != field {
            return None;
        }
        let tags = ty.members().iter().map(|member| self.field_of(member, field, false));
        let missing: Vec<String> =
            tags.filter(|tag| !covered.contains(tag)).map(|tag| self.show(&tag)).collect();
        (!missing.is_empty()).then(|| format!("tagged shape union: missing variants {}", missing.join(", ")))
    }

    /// `match type_of(x)`.
    fn missing_kinds(&self, args: &[Element], covered: &[Ty]) -> Option<String> {
        let [Element::Plain(of)] = args else { return None };
        let (symbol, path) = self.place(of)?;
        let ty = self.expand(&self.place_type(symbol, &path));
        let Ty::Union(members) = &ty else { return None };
        let mut missing = Vec::new();
        for member in &members.items {
            let kind = self.kind_of(member)?;
            if !covered.contains(&Ty::Str(kind.into())) {
                missing.push(self.show(member));
            }
        }
        (!missing.is_empty()).then(|| format!("union type: missing {}", missing.join(", ")))
    }

    fn missing_members(
        &self,
        ty: &Ty,
        covered: &[Ty],
        variants: &HashSet<(DeclId, &str)>,
        dicts: &[&'a [Entry]],
    ) -> Option<String> {
        match ty {
            Ty::User(id, _) if *id != RESULT => {
                if !covered.is_empty() || !dicts.is_empty() {
                    return None;
                }
                let missing = self.missing_variants(*id, variants)?;
                Some(format!("enum {}: missing variants {}", self.decls[*id].name, missing.join(", ")))
            }
            Ty::Union(members) if dicts.is_empty() => {
                self.missing_of_union(&members.items, covered, variants)
            }
            Ty::Union(members) if covered.is_empty() && variants.is_empty() => {
                let tag = self.tag_of(ty)?;
                let is_tagged = |entries: &&[Entry]| {
                    entries.iter().any(|entry| {
                        matches!(entry, Entry::Named { key, value } if *key.name == *tag && literal(value).is_some())
                    })
                };
                if !dicts.iter().all(is_tagged) {
                    return None;
                }
                let is_missing =
                    |member: &&Ty| !dicts.iter().any(|entries| self.members_like(member, entries) != NEVER);
                let missing = members.items.iter().filter(is_missing);
                let missing: Vec<String> =
                    missing.map(|member| self.show(&self.field_of(member, &tag, false))).collect();
                (!missing.is_empty())
                    .then(|| format!("tagged shape union: missing variants {}", missing.join(", ")))
            }
            _ => None,
        }
    }

    fn missing_variants(&self, id: DeclId, variants: &HashSet<(DeclId, &str)>) -> Option<Vec<String>> {
        let Kind::Enum(known) = &self.decls[id].kind else { return None };
        let is_missing = |name: &str| !variants.contains(&(id, name));
        let missing: Vec<String> = known
            .iter()
            .filter(|variant| is_missing(&variant.name))
            .map(|variant| variant.name.to_string())
            .collect();
        (!missing.is_empty()).then_some(missing)
    }

    fn missing_of_union(
        &self,
        members: &[Ty],
        covered: &[Ty],
        variants: &HashSet<(DeclId, &str)>,
    ) -> Option<String> {
        let is_literal = |member: &Ty| matches!(member, Ty::Str(_) | Ty::Int(_));
        let all_literal = members.iter().all(is_literal);
        let mut missing = Vec::new();
        for member in members {
            match member {
                Ty::Str(_) | Ty::Int(_) | &NIL => {
                    if !covered.contains(member) {
                        missing.push(self.show(member));
                    }
                }
                Ty::User(id, _) if matches!(self.decls[*id].kind, Kind::Enum(_)) => {
                    if self.missing_variants(*id, variants).is_some() {
                        missing.push(self.show(member));
                    }
                }
                _ => return None,
            }
        }
        let what = if all_literal { "literal union" } else { "union type" };
        (!missing.is_empty()).then(|| format!("{what}: missing {}", missing.join(", ")))
    }
}

fn is_name(arg: &Element) -> bool {
    let (Element::Plain(part) | Element::Spread(part)) = arg;
    matches!(part.peeled().kind, ExprKind::Name(_))
}
