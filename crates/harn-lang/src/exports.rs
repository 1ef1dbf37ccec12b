//! What a script offers to others: its public functions and pipelines, with JSON Schemas derived from their types.

use std::cell::Cell;

use serde_json::{Map, Value as Json, json};

use crate::builtins::schema::{self, Defaults};
use crate::builtins::{Cx, Meter, Rng};
use crate::bytecode::Source;
use crate::compile::resolve::{self, ALL_PARTS, Generics, Place, Resolved};
use crate::compile::{Loader, Wanted, constant};
use crate::modules::{Module, Modules};
use crate::problem::Problems;
use crate::syntax::ast::*;
use crate::value::Value;

/// What looking at arguments may take.
const MEMORY: u64 = 64 << 20;
/// Parameters of pipelines that the host fills in by itself.
const OF_HOST: [&str; 3] = ["argv", "project", "context"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportKind {
    Function,
    Pipeline,
}

/// Something that a script offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    pub name: String,
    /// Its doc comment.
    pub description: String,
    pub kind: ExportKind,
    pub params: Vec<ExportParam>,
    /// An object with one property per parameter.
    pub input_schema: Json,
    /// Null where nothing is said about what it gives back.
    pub output_schema: Json,
    /// The same, for the machine.
    pub returns: Option<Wanted>,
    pub is_deprecated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportParam {
    pub name: String,
    pub has_default: bool,
    /// It takes all that is left.
    pub is_rest: bool,
}

/// All that is wrong with arguments by the schema of what they are for.
pub fn misfits(args: &Value, schema: &Value) -> Vec<String> {
    let mut cx = Cx { meter: &mut Meter::new(MEMORY), rng: &mut Rng::new(0) };
    match schema::check(&mut cx, args, schema, Defaults::Keep) {
        Ok((_, problems)) => problems,
        Err(fault) => vec![fault.to_string()],
    }
}

/// Everything public in a script. Fails with what is wrong in its text or that of its imports.
pub fn exports(entry: Source, loader: &dyn Loader) -> Result<Vec<Export>, Problems> {
    let Modules { modules, problems } = Modules::of_program(entry, loader);
    if !problems.is_empty() {
        let sources = modules.into_iter().map(|module| module.source).collect();
        return Err(Problems { all: problems, sources });
    }
    let types = Types::of(&modules);
    let body = modules.get(1).map(|module| module.parsed.module.body.as_slice()).unwrap_or_default();
    let public = body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Decl(decl) if decl.public => Some(decl),
        _ => None,
    });
    Ok(public.filter_map(|decl| types.export(decl)).collect())
}

/// What the pipeline of this name is to give back, as far as it is public and says so.
pub(crate) fn returned(modules: &[Module], pipeline: Option<&str>) -> Option<Wanted> {
    let all = modules.get(1)?.parsed.module.body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Decl(Decl { kind: DeclKind::Pipeline(pipeline), public, .. }) => Some((pipeline, *public)),
        _ => None,
    });
    let all: Vec<_> = all.collect();
    let named = |name: &str| all.iter().find(|(pipeline, _)| &*pipeline.name.name == name);
    let chosen = match pipeline {
        Some(name) => named(name),
        None => named("default").or_else(|| all.first()),
    };
    let (pipeline, is_public) = chosen?;
    let ty = pipeline.returns.as_ref().filter(|_| *is_public)?;
    Some(Types::of(modules).wanted(ty))
}

/// The types that a script can name: its own, and those of what it imports.
struct Types {
    all: resolve::Types,
    /// How much of them may still be looked at.
    left: Cell<u32>,
}

impl Types {
    fn of(modules: &[Module]) -> Self {
        let mut all = resolve::Types::default();
        // The entry comes before what it imports, and what it says itself holds.
        for module in modules.iter().skip(1) {
            for stmt in &module.parsed.module.body {
                if let StmtKind::Decl(decl) = &stmt.kind {
                    all.declare_new(decl);
                }
            }
        }
        Self { all, left: Cell::new(ALL_PARTS) }
    }

    fn export(&self, decl: &Decl) -> Option<Export> {
        let (name, kind, returns, params) = match &decl.kind {
            DeclKind::Function(function) => {
                let params = function.params.iter().map(|param| self.param(param)).collect();
                (&function.name, ExportKind::Function, &function.returns, params)
            }
            DeclKind::Pipeline(pipeline) => {
                let own = pipeline.params.iter().filter(|param| !OF_HOST.contains(&&*param.name));
                let params: Vec<_> = own.map(|param| pipeline_param(&param.name)).collect();
                (&pipeline.name, ExportKind::Pipeline, &pipeline.returns, params)
            }
            _ => return None,
        };
        let (params, schemas): (Vec<ExportParam>, Vec<Json>) = params.into_iter().unzip();
        let required: Vec<&str> =
            params.iter().filter(|param| !param.has_default).map(|param| param.name.as_str()).collect();
        let properties: Map<String, Json> =
            params.iter().map(|param| param.name.clone()).zip(schemas).collect();
        Some(Export {
            name: name.name.to_string(),
            description: decl.doc.clone().unwrap_or_default(),
            kind,
            input_schema: json!({ "type": "object", "properties": properties, "required": required,
                                  "additionalProperties": false }),
            output_schema: returns
                .as_ref()
                .map_or(Json::Null, |ty| schema(&self.resolved(ty, Generics::PutIn))),
            returns: returns.as_ref().map(|ty| self.wanted(ty)),
            is_deprecated: decl.attributes.iter().any(|attribute| &*attribute.name.name == "deprecated"),
            params,
        })
    }

    fn param(&self, param: &Param) -> (ExportParam, Json) {
        // The type of a rest parameter is that of the whole list.
        let mut schema = match &param.ty {
            Some(ty) => schema(&self.resolved(ty, Generics::PutIn)),
            None if param.is_rest => json!({ "type": "array" }),
            None => json!({}),
        };
        if let Some(value) = param.default.as_ref().and_then(default) {
            schema["default"] = value;
        }
        let has_default = param.default.is_some() || param.is_rest;
        (ExportParam { name: param.name.name.to_string(), has_default, is_rest: param.is_rest }, schema)
    }

    fn resolved(&self, ty: &Type, generics: Generics) -> Resolved {
        Place { types: &self.all, is_param: &|_| false, generics, left: &self.left }.resolve(ty)
    }

    fn wanted(&self, ty: &Type) -> Wanted {
        Wanted::of(self.resolved(ty, Generics::Any))
    }
}

fn schema(ty: &Resolved) -> Json {
    match ty {
        Resolved::Kind(name) => match &**name {
            "int" => json!({ "type": "integer" }),
            "float" => json!({ "type": "number" }),
            "duration" => json!({ "type": "integer", "format": "milliseconds" }),
            "bool" => json!({ "type": "boolean" }),
            "string" => json!({ "type": "string" }),
            "list" => json!({ "type": "array" }),
            "set" => json!({ "type": "array", "uniqueItems": true }),
            "dict" => json!({ "type": "object" }),
            "nil" => json!({ "type": "null" }),
            "bytes" => json!({ "type": "string", "contentEncoding": "base64" }),
            _ => json!({}),
        },
        Resolved::List(item) => json!({ "type": "array", "items": schema(item) }),
        Resolved::Set(item) => json!({ "type": "array", "items": schema(item), "uniqueItems": true }),
        Resolved::Dict(value) => json!({ "type": "object", "additionalProperties": schema(value) }),
        Resolved::Shape(fields) | Resolved::Struct(fields) => {
            let properties: Map<String, Json> =
                fields.iter().map(|field| (field.name.to_string(), schema(&field.ty))).collect();
            let required: Vec<&str> =
                fields.iter().filter(|field| !field.optional).map(|field| &*field.name).collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
        Resolved::Union(members) => union(members),
        Resolved::Any | Resolved::Interface(_) | Resolved::Function => json!({}),
        Resolved::Str(text) => json!({ "const": &**text }),
        Resolved::Int(number) => json!({ "const": number }),
    }
}

/// What stands for an argument that is left out, where that is known without running anything.
fn default(expr: &Expr) -> Option<Json> {
    match expr.kind {
        ExprKind::Duration(ms) => Some(ms.into()),
        _ => constant(expr).and_then(|value| json_of(&value)),
    }
}

fn json_of(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Str(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(json_of).collect::<Option<_>>()?,
        Value::Dict(fields) => {
            let fields = fields.iter().map(|(name, value)| Some((name.as_str().to_owned(), json_of(value)?)));
            Json::Object(fields.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Pipelines do not say of what types their parameters are; of the task it is known.
fn pipeline_param(name: &str) -> (ExportParam, Json) {
    let schema = if name == "task" { json!({ "type": "string" }) } else { json!({}) };
    (ExportParam { name: name.to_owned(), has_default: true, is_rest: false }, schema)
}

fn union(members: &[Resolved]) -> Json {
    let literals: Option<Vec<Json>> = (members.iter())
        .map(|member| match member {
            Resolved::Str(text) => Some(json!(&**text)),
            Resolved::Int(number) => Some(json!(number)),
            _ => None,
        })
        .collect();
    match literals {
        Some(literals) => json!({ "enum": literals }),
        None => json!({ "anyOf": members.iter().map(schema).collect::<Vec<_>>() }),
    }
}

/// The parameters of the pipeline that runs: of this one, or of the one that a file runs by itself. None where there is
/// no such pipeline.
pub fn pipeline_params(text: &str, pipeline: Option<&str>) -> Option<Vec<String>> {
    let parsed = crate::syntax::parse(text);
    let all: Vec<&Pipeline> = (parsed.module.body.iter())
        .filter_map(|stmt| match &stmt.kind {
            StmtKind::Decl(Decl { kind: DeclKind::Pipeline(pipeline), .. }) => Some(pipeline),
            _ => None,
        })
        .collect();
    let named = |name: &str| all.iter().copied().find(|pipeline| &*pipeline.name.name == name);
    let chosen = match pipeline {
        Some(name) => named(name)?,
        None => named("default").or_else(|| all.first().copied())?,
    };
    Some(chosen.params.iter().map(|param| param.name.to_string()).collect())
}
