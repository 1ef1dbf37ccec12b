//! Images of scripts: what a run consists of is taken down when it is submitted, and compiled from there ever after.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use harn_core::ports::{Export, ExportKind, ScriptChoice};
use harn_core::run::ScriptImage;
use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{self, Loader, PRELUDE, Settings};
use harn_lang::exports::{self, pipeline_params};
use harn_lang::problem::Problems;
use harn_lang::stdlib;
use harn_lang::syntax::span::LineIndex;
use harn_model::{MockFile, MockFileError};

use super::files::Files;
use super::input::{Bound, Given};
use super::wire;
use crate::calls::Place;

/// What all sources of a script may have together.
const LARGEST: usize = 16 << 20;
/// Problems that are told; of the others their number.
const TOLD: usize = 20;
/// The source that calls an exported function, and its name for the script.
const CALLER: &str = "<call>";
const CALLED: &str = "called";

/// Takes a script down as it is now. The error has every diagnostic with its place.
pub fn capture(root: Option<&str>, choice: &ScriptChoice) -> Result<ScriptImage, String> {
    let (files, root) = files(root, choice)?;
    let (entry, folder) = files.entry(&choice.path)?;
    let recorder = Recorder { loader: &files, imports: RefCell::default() };
    let function = choice.function.as_deref();
    let program = match Kind::of(&entry, function, &recorder)? {
        Kind::Whole(params) => whole(&entry, function, &recorder, &Bound::nothing(), &params)?,
        Kind::Function(_) => whole(&entry, None, &recorder, &Bound::nothing(), &[])?,
    };
    let llm_mock = choice.llm_mock.as_ref().map(|file| mock(&root.join(file))).transpose()?;
    let taken = program.sources.iter().map(|source| (source.name.to_string(), source.text.to_string()));
    let (language, sources) = taken.partition(|(name, _)| is_of_language(name));
    let image = ScriptImage {
        entry: entry.name.to_string(),
        sources,
        language,
        imports: recorder.imports.into_inner(),
        function: choice.function.clone(),
        project: Place::of(root, Some(&folder.join("x"))).project.display().to_string(),
        folder: folder.display().to_string(),
        args: choice.args.clone(),
        limits: choice.limits,
        llm_mock,
        skills: choice.skills.clone(),
    };
    let texts = image.sources.iter().chain(&image.llm_mock);
    let size: usize = texts.map(|(_, text)| text.len()).sum();
    if size > LARGEST {
        return Err(format!(
            "The script `{}`, its imports and its file of answers have more than {LARGEST} bytes.",
            choice.path
        ));
    }
    Ok(image)
}

/// A file of answers as it is now: what is edited later affects new runs only.
fn mock(file: &Path) -> Result<(String, String), String> {
    let read = || {
        let text = MockFile::read(file)?;
        MockFile::parse(file, &text).map(|_| text)
    };
    let text = read().map_err(|error: MockFileError| error.to_string())?;
    Ok((file.display().to_string(), text))
}

/// What a script offers to others.
pub fn list(root: Option<&str>, choice: &ScriptChoice) -> Result<Vec<Export>, String> {
    let (files, _) = files(root, choice)?;
    let (entry, _) = files.entry(&choice.path)?;
    let found = exports::exports(entry, &files).map_err(|problems| told(&problems))?;
    let export = |export: exports::Export| Export {
        name: export.name,
        kind: match export.kind {
            exports::ExportKind::Function => ExportKind::Function,
            exports::ExportKind::Pipeline => ExportKind::Pipeline,
        },
        description: export.description,
        deprecated: export.is_deprecated,
        params: export.params.into_iter().map(|param| param.name).collect(),
        input_schema: export.input_schema,
        output_schema: export.output_schema,
    };
    Ok(found.into_iter().map(export).collect())
}

fn files(root: Option<&str>, choice: &ScriptChoice) -> Result<(Files, PathBuf), String> {
    let root = root.ok_or("This workspace has no files, so it has no scripts.")?;
    Ok((Files::new(Path::new(root), choice.reach)?, PathBuf::from(root)))
}

/// The program of an image, to be given these values.
pub fn compile(image: &ScriptImage, given: &Given) -> Result<(Program, Bound), String> {
    let entry = source(image, &image.entry).ok_or("The image of the script has no entry.")?;
    let function = image.function.as_deref();
    let loader = Recorded(image);
    match Kind::of(&entry, function, &loader)? {
        Kind::Whole(params) => {
            let bound = Bound::to_pipeline(image, given, &params);
            Ok((whole(&entry, function, &loader, &bound, &params)?, bound))
        }
        Kind::Function(export) => {
            let bound = Bound::to_function(image, given, &export)?;
            let mut program = caller(&entry, &export.name, &loader, &bound)?;
            program.returns = export.returns;
            Ok((program, bound))
        }
    }
}

/// Whether an image can be given this, where it names an export. The error says what does not fit.
pub fn fits(image: &ScriptImage, given: &Given) -> Result<(), String> {
    let Some(name) = image.function.as_deref() else { return Ok(()) };
    let entry = source(image, &image.entry).ok_or("The image of the script has no entry.")?;
    let offered = exports::exports(entry, &Recorded(image)).map_err(|problems| told(&problems))?;
    // A pipeline that is not public says nothing about what it takes.
    let Some(export) = offered.into_iter().find(|export| export.name == name) else { return Ok(()) };
    if export.kind == exports::ExportKind::Function {
        Bound::to_function(image, given, &export)?;
    }
    let args = wire::decode(&given.named(image, &export));
    let problems = exports::misfits(&args, &wire::decode(&export.input_schema));
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!("`{name}` cannot be given this: {}.", problems.join("; "))),
    }
}

/// What runs.
enum Kind {
    /// A file or a pipeline, with the parameters of the latter.
    Whole(Vec<String>),
    /// An exported function.
    Function(Box<exports::Export>),
}

impl Kind {
    fn of(entry: &Source, function: Option<&str>, loader: &dyn Loader) -> Result<Self, String> {
        if let Some(params) = pipeline_params(&entry.text, function) {
            return Ok(Self::Whole(params));
        }
        let Some(name) = function else { return Ok(Self::Whole(Vec::new())) };
        let offered = exports::exports(entry.clone(), loader).map_err(|problems| told(&problems))?;
        let names: Vec<String> = offered.iter().map(|export| format!("`{}`", export.name)).collect();
        let found = offered.into_iter().find(|export| export.name == name);
        found.map(|export| Self::Function(Box::new(export))).ok_or_else(|| {
            let others = match names.is_empty() {
                true => "it exports nothing".to_owned(),
                false => format!("it exports {}", names.join(", ")),
            };
            format!("`{}` has no pipeline and no exported function `{name}`; {others}.", entry.name)
        })
    }
}

/// A file or one of its pipelines, whose parameters are names that the host gives values to.
fn whole(
    entry: &Source,
    pipeline: Option<&str>,
    loader: &dyn Loader,
    bound: &Bound,
    params: &[String],
) -> Result<Program, String> {
    let mut host_names = bound.names();
    for param in params {
        if !host_names.iter().any(|known| **known == **param) {
            host_names.push(param.as_str().into());
        }
    }
    let settings = Settings { host_names, pipeline: pipeline.map(Into::into), ..Settings::default() };
    compile::compile(entry.clone(), loader, &settings).map_err(|problems| told(&problems))
}

/// A source that does nothing but call an exported function.
fn caller(entry: &Source, name: &str, loader: &dyn Loader, bound: &Bound) -> Result<Program, String> {
    let args: Vec<String> = (0..bound.given()).map(|at| format!("{}[{at}]", Bound::GIVEN)).collect();
    let text = format!("import {{ {name} }} from \"{CALLED}\"\n{name}({})\n", args.join(", "));
    let caller = Source { name: CALLER.into(), text: text.into() };
    let settings = Settings { host_names: bound.names(), ..Settings::default() };
    compile::compile(caller, &Called { entry, loader }, &settings).map_err(|problems| told(&problems))
}

/// A loader that notes what it was asked for.
struct Recorder<'a> {
    loader: &'a dyn Loader,
    imports: RefCell<Vec<(String, String, String)>>,
}

impl Loader for Recorder<'_> {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let found = self.loader.load(path, from)?;
        let import = (from.to_owned(), path.to_owned(), found.name.to_string());
        let mut imports = self.imports.borrow_mut();
        if !imports.contains(&import) {
            imports.push(import);
        }
        Ok(found)
    }
}

/// The sources of an image, whatever has become of its files.
struct Recorded<'a>(&'a ScriptImage);

impl Loader for Recorded<'_> {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let meant = self.0.imports.iter().find(|(importer, said, _)| importer == from && said == path);
        meant
            .and_then(|(_, _, name)| source(self.0, name))
            .ok_or_else(|| format!("Import error: '{path}' is not part of the script's image"))
    }

    fn language(&self, name: &str) -> Option<Source> {
        named(&self.0.language, name.strip_suffix(".harn").unwrap_or(name))
    }
}

/// For the source that calls a function: the script is the one thing that it can import.
struct Called<'a> {
    entry: &'a Source,
    loader: &'a dyn Loader,
}

impl Loader for Called<'_> {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        match from {
            CALLER => Ok(self.entry.clone()),
            _ => self.loader.load(path, from),
        }
    }

    fn language(&self, name: &str) -> Option<Source> {
        self.loader.language(name)
    }
}

fn source(image: &ScriptImage, name: &str) -> Option<Source> {
    named(&image.sources, name)
}

fn named(sources: &[(String, String)], name: &str) -> Option<Source> {
    let (name, text) = sources.iter().find(|(known, _)| known == name)?;
    Some(Source { name: name.as_str().into(), text: text.as_str().into() })
}

/// Not written by whoever wrote the script.
fn is_of_language(name: &str) -> bool {
    name == PRELUDE || stdlib::is_module(name)
}

/// Every problem on a line of its own, with its place.
fn told(problems: &Problems) -> String {
    let mut text = String::new();
    for problem in problems.all.iter().take(TOLD) {
        let Some(source) = problems.sources.get(usize::from(problem.module)) else { continue };
        let at = LineIndex::new(&source.text).position(&source.text, problem.span.start);
        let _ = writeln!(text, "{}:{at}: {}", source.name, problem.message);
    }
    if let Some(more) = problems.all.len().checked_sub(TOLD).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more");
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use harn_lang::vm::{Limits, State, Vm};

    use super::*;

    fn shown(image: &ScriptImage) -> String {
        let (program, bound) = compile(image, &Given::default()).unwrap();
        let mut vm = Vm::new(Arc::new(program), bound.values(), Limits::default(), 1);
        match vm.run(1_000_000).state {
            State::Done(value) => value.to_string(),
            State::Failed(failure) => panic!("{failure:?}"),
            _ => panic!("The script does not end."),
        }
    }

    #[test]
    fn a_script_goes_on_with_the_language_that_it_was_started_with() {
        let folder = tempfile::tempdir().unwrap();
        let text = "import { sum } from \"std/math\"\nfn twice(x) { return x * 2 }\nsum([1, 2].map(twice))\n";
        std::fs::write(folder.path().join("s.harn"), text).unwrap();
        let choice = ScriptChoice { path: "s.harn".into(), ..ScriptChoice::default() };
        let mut image = capture(folder.path().to_str(), &choice).unwrap();
        let names = |sources: &[(String, String)]| -> Vec<String> {
            sources.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&image.sources), ["s.harn"]);
        assert_eq!(names(&image.language), [PRELUDE, "std/math"]);
        assert_eq!(shown(&image), "6");
        for (_, text) in &mut image.language {
            *text = text.replace("out.push(f(item))", "out.push(f(item) + 1)");
        }
        assert_eq!(shown(&image), "8");
        for (_, text) in &mut image.language {
            *text = text.replace("pub fn sum(items) {", "pub fn sum(items) {\n  return -1");
        }
        assert_eq!(shown(&image), "-1");
    }
}
