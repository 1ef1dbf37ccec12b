//! Packages: modules in `.harn/packages`, beside the importing file or above it.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A manifest larger than this is a mistake.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// The file at a path, or at the path with `.harn` if it has no extension.
pub fn module(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    Some(with_ending(path.to_owned())).filter(|path| path.is_file())
}

pub fn with_ending(mut path: PathBuf) -> PathBuf {
    if path.extension().is_none() {
        path.set_extension("harn");
    }
    path
}

/// The file of a module in a package, as seen from a folder. The search goes up until it finds the package, and ends
/// at the root of the repository.
pub fn find(path: &str, folder: &Path) -> Result<Option<PathBuf>, String> {
    if !stays_inside(Path::new(path)) {
        return Ok(None);
    }
    let folder = std::path::absolute(folder.join(".")).map_err(|error| error.to_string())?;
    for above in folder.ancestors() {
        let packages = above.join(".harn/packages");
        if let Some(found) = in_packages(&packages, path)? {
            return Ok(Some(found));
        }
        if above.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// The file itself, what a package exports under that name, or the main module of the package.
fn in_packages(packages: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let wanted = packages.join(path);
    if let Some(found) = module(&wanted) {
        return Ok(Some(found));
    }
    // `a/b/c` is the module `c` of the package `a/b`, or `b/c` of `a`.
    for (at, _) in path.match_indices('/').chain([(path.len(), "")]).rev() {
        let (package, name) = (packages.join(&path[..at]), path[at..].trim_start_matches('/'));
        if let Some(found) = exported(&package, name)? {
            return Ok(Some(found));
        }
    }
    Ok(Some(wanted.join("lib.harn")).filter(|main| main.is_file()))
}

/// What the manifest of a package has under a name in `[exports]`; `default` is the package itself.
fn exported(package: &Path, name: &str) -> Result<Option<PathBuf>, String> {
    let file = package.join("harn.toml");
    let Ok(about) = fs::metadata(&file) else { return Ok(None) };
    if about.len() > LARGEST_MANIFEST {
        return Err(format!("{} has more than {LARGEST_MANIFEST} bytes", file.display()));
    }
    let text = fs::read_to_string(&file).map_err(|_| format!("{} cannot be read", file.display()))?;
    let manifest: toml::Table = text.parse().map_err(|_| format!("{} is not TOML", file.display()))?;
    let name = if name.is_empty() { "default" } else { name };
    let export = manifest.get("exports").and_then(|exports| exports.get(name));
    let Some(export) = export else { return Ok(None) };
    match export.as_str() {
        Some(path) if stays_inside(Path::new(path)) => Ok(Some(with_ending(package.join(path)))),
        Some(path) => Err(format!("the package exports '{name}' from '{path}', which is outside of it")),
        None => Err(format!("the package exports '{name}' as something that is not a path")),
    }
}

/// Whether a path leads nowhere but down.
fn stays_inside(path: &Path) -> bool {
    let mut parts = path.components();
    parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}
