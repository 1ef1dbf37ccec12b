//! Skills in files: seven layers, of which the first that has a skill wins. Which one wins is the program's to say; here
//! they are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::ports::SkillFile;
use harn_core::run::Trust;
use harn_core::tool::{Class, SideEffect, ToolKind};
use harn_lang::bytecode::Source as Script;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::{Limits, State, Vm};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Place;
use super::args::Args;
use super::simple::{Answer, Simple};
use crate::script::{decode, encode};
use crate::tools::{Tool, ToolContext, ToolFailure};

const FILE: &str = "SKILL.md";
/// More than anybody writes by hand.
const LARGEST: u64 = 1 << 20;
const MOST: usize = 1000;
/// How deep packages are searched.
const DEEPEST: usize = 6;
/// Which of the files are skills, and which of those win.
const CHOOSE: &str = "skills.skills.map({ s -> {name: s.name, description: s.description, layer: s.layer} })";
const CHOICE: Limits = Limits { fuel: 1 << 30, memory: 256 << 20, output: 1 << 20, tasks: 100 };

/// The layers in their order, the highest first.
const LAYERS: [&str; 7] = ["cli", "env", "project", "manifest", "user", "package", "system"];

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let about = "The skills that are in files, by layer.";
    let find = Simple::new("skill_files", about, Class::Read, SideEffect::ReadOnly, skill_files);
    vec![find.kind(ToolKind::Search).call()]
}

/// `[skills]` and `[[skill.source]]` of `harn.toml`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    skills: Skills,
    skill: Sources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Skills {
    paths: Vec<String>,
    lookup_order: Vec<String>,
    disable: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sources {
    source: Vec<Source>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Source {
    #[serde(rename = "type")]
    kind: String,
    path: Option<String>,
    namespace: Option<String>,
}

/// A folder that is a skill, or whose folders are.
struct Root {
    folder: PathBuf,
    namespace: Option<String>,
}

/// The skills that a script in this place would find, chosen by the same words of Harn.
pub fn listed(place: &Place) -> Result<Vec<SkillFile>, String> {
    let script = Script { name: "skills.harn".into(), text: CHOOSE.into() };
    let program = compile(script, &NoModules, &Settings::default());
    let program = program.map_err(|_| "The list of skills cannot be made.")?;
    let mut vm = Vm::new(Arc::new(program), Vec::new(), CHOICE, 0);
    loop {
        let turn = vm.run(CHOICE.fuel);
        match turn.state {
            State::Done(value) => {
                return serde_json::from_value(encode(&value)).map_err(|error| error.to_string());
            }
            State::Waiting => {}
            State::Failed(failure) => return Err(failure.fault.to_string()),
            State::OutOfFuel => return Err("The skills are too many to be looked at.".into()),
        }
        for call in turn.calls {
            let found = found(place).map_err(|failure| failure.message)?;
            vm.complete(call.id, Ok(decode(&found.into())));
        }
    }
}

fn skill_files(ctx: &ToolContext, _: &Args) -> Answer {
    Ok(found(&ctx.place)?.into())
}

fn found(place: &Place) -> Result<Vec<Value>, ToolFailure> {
    let manifest = manifest(&place.project)?;
    let mut found = Vec::new();
    for layer in order(&manifest.skills) {
        for root in roots(layer, place, &manifest) {
            for folder in skills_of(&root.folder) {
                if found.len() < MOST {
                    found.push(read(&folder, layer, root.namespace.as_deref()));
                }
            }
        }
    }
    Ok(found)
}

fn manifest(project: &Path) -> Result<Manifest, ToolFailure> {
    let file = project.join("harn.toml");
    let Ok(text) = fs::read_to_string(&file) else { return Ok(Manifest::default()) };
    toml::from_str(&text).map_err(|error| ToolFailure::new(format!("{}: {error}", file.display())))
}

/// Layers that the manifest names come first, the others follow in their own order.
fn order(skills: &Skills) -> Vec<&'static str> {
    let named = skills.lookup_order.iter().filter_map(|name| LAYERS.into_iter().find(|layer| layer == name));
    let mut order: Vec<&'static str> = Vec::new();
    for layer in named.chain(LAYERS) {
        if !order.contains(&layer) && !skills.disable.iter().any(|disabled| disabled == layer) {
            order.push(layer);
        }
    }
    order
}

fn roots(layer: &str, place: &Place, manifest: &Manifest) -> Vec<Root> {
    let plain = |folders: Vec<PathBuf>| {
        folders.into_iter().map(|folder| Root { folder, namespace: None }).collect::<Vec<_>>()
    };
    let home = std::env::home_dir();
    match layer {
        "cli" => plain(place.skills.clone()),
        "env" => {
            let paths = place.variable("HARN_SKILLS_PATH", Trust::Own).unwrap_or_default();
            plain(paths.split([':', ';']).filter(|path| !path.is_empty()).map(PathBuf::from).collect())
        }
        "project" => plain(vec![place.project.join(".harn/skills")]),
        "manifest" => {
            let mut roots =
                plain(manifest.skills.paths.iter().map(|path| place.project.join(path)).collect());
            for source in manifest.skill.source.iter().filter(|source| source.kind == "fs") {
                let folder = place.project.join(source.path.as_deref().unwrap_or("."));
                roots.push(Root { folder, namespace: source.namespace.clone() });
            }
            roots
        }
        "user" => plain(home.map(|home| home.join(".harn/skills")).into_iter().collect()),
        "package" => {
            let mut folders = vec![place.project.join(".harn/skills-cache")];
            skills_folders(&place.project.join(".harn/packages"), 0, &mut folders);
            plain(folders)
        }
        _ => {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            let config = config.or_else(|| home.map(|home| home.join(".config")));
            let own = config.map(|config| config.join("harn/skills"));
            plain(own.into_iter().chain([PathBuf::from("/etc/harn/skills")]).collect())
        }
    }
}

/// Every folder `skills` of a package.
fn skills_folders(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if depth > DEEPEST {
        return;
    }
    for inner in folders_of(folder) {
        match inner.file_name().is_some_and(|name| name == "skills") {
            true => found.push(inner),
            false => skills_folders(&inner, depth + 1, found),
        }
    }
}

fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()).collect();
    folders.sort();
    folders
}

/// A root is a skill by itself, or its folders are.
fn skills_of(root: &Path) -> Vec<PathBuf> {
    if root.join(FILE).is_file() {
        return vec![root.to_path_buf()];
    }
    folders_of(root).into_iter().filter(|folder| folder.join(FILE).is_file()).collect()
}

/// What is no text, or too long, is no skill, and says so.
fn read(folder: &Path, layer: &str, namespace: Option<&str>) -> Value {
    let file = folder.join(FILE);
    let text = match fs::metadata(&file) {
        Ok(about) if about.len() > LARGEST => Err(format!("it is larger than {LARGEST} bytes")),
        _ => fs::read_to_string(&file).map_err(|error| format!("it cannot be read: {error}")),
    };
    json!({
        "name": folder.file_name().map(|name| name.to_string_lossy()),
        "namespace": namespace,
        "layer": layer,
        "path": file.display().to_string(),
        "folder": folder.display().to_string(),
        "text": text.as_ref().ok(),
        "problem": text.as_ref().err(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_follow_the_manifest_where_it_names_them() {
        let skills = |order: &[&str], disable: &[&str]| Skills {
            lookup_order: order.iter().map(|name| (*name).to_owned()).collect(),
            disable: disable.iter().map(|name| (*name).to_owned()).collect(),
            ..Skills::default()
        };
        assert_eq!(order(&skills(&[], &[])), LAYERS);
        let changed = order(&skills(&["user", "nowhere", "cli"], &["system", "env"]));
        assert_eq!(changed, ["user", "cli", "project", "manifest", "package"]);
    }

    #[test]
    fn a_root_is_a_skill_or_holds_skills() {
        let folder = tempfile::tempdir().unwrap();
        let skill = |name: &str| {
            let at = folder.path().join(name);
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join(FILE), format!("---\nname: {name}\n---\nDo it.\n")).unwrap();
            at
        };
        let (one, two) = (skill("all/one"), skill("all/two"));
        fs::create_dir_all(folder.path().join("all/none")).unwrap();
        assert_eq!(skills_of(&folder.path().join("all")), [one.clone(), two]);
        assert_eq!(skills_of(&one), vec![one.clone()]);
        let read = read(&one, "project", Some("acme"));
        assert_eq!((read["name"].as_str(), read["namespace"].as_str()), (Some("one"), Some("acme")));
    }
}
