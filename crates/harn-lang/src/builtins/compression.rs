//! Compressed bytes and archives. What comes out is paid for while it grows.

use std::collections::HashSet;
use std::io::{Cursor, Read, Write};

use super::args;
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static COMPRESSION: Group = Group {
    title: "Compression",
    builtins: &[
        pure("brotli_decode", "bytes", "bytes", "The bytes that Brotli data says.", brotli_decode),
        pure(
            "brotli_encode",
            "bytes_or_string, quality?",
            "bytes",
            "A text or bytes compressed with Brotli, of quality 0 to 11.",
            brotli_encode,
        ),
        pure("gzip_decode", "bytes", "bytes", "The bytes that gzip data says.", gzip_decode),
        pure(
            "gzip_encode",
            "bytes_or_string, level?",
            "bytes",
            "A text or bytes compressed with gzip, at a level of 0 to 9.",
            gzip_encode,
        ),
        pure(
            "tar_create",
            "entries",
            "bytes",
            "A tar archive of entries with a `path` and a `content`.",
            tar_create,
        ),
        pure(
            "tar_extract",
            "bytes",
            "list",
            "The entries of a tar archive: `path`, `content`, `size`, `mode`, `type`.",
            tar_extract,
        ),
        pure(
            "zip_create",
            "entries",
            "bytes",
            "A zip archive of entries with a `path` and a `content`.",
            zip_create,
        ),
        pure(
            "zip_extract",
            "bytes",
            "list",
            "The entries of a zip archive: `path`, `content`, `size`, `type`.",
            zip_extract,
        ),
        pure("zstd_decode", "bytes", "bytes", "The bytes that Zstandard data says.", zstd_decode),
        pure(
            "zstd_encode",
            "bytes_or_string, level?",
            "bytes",
            "A text or bytes compressed with Zstandard; there is one level besides 0, which does not compress.",
            zstd_encode,
        ),
    ],
};

fn broken(name: &str, error: impl std::fmt::Display) -> Fault {
    Fault::thrown(format!("{name}: {error}"))
}

/// All that a reader gives, as far as there is memory for it.
fn drain(cx: &mut Cx<'_>, name: &str, mut source: impl Read) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = source.read(&mut buffer).map_err(|error| broken(name, error))?;
        if count == 0 {
            return Ok(out);
        }
        cx.charge(count)?;
        cx.work(count);
        out.extend_from_slice(&buffer[..count]);
    }
}

fn input<'a>(cx: &mut Cx<'_>, args: &'a [Value]) -> Result<std::borrow::Cow<'a, [u8]>, Fault> {
    let bytes = args::octets(cx, args, 0)?;
    cx.work(bytes.len().saturating_mul(8));
    Ok(bytes)
}

fn gzip_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    drain(cx, "gzip_decode", flate2::read::MultiGzDecoder::new(&*bytes)).map(args::bytes)
}

fn gzip_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    let level = args::int_or(args, 1, 6).clamp(0, 9) as u32;
    drain(cx, "gzip_encode", flate2::read::GzEncoder::new(&*bytes, flate2::Compression::new(level)))
        .map(args::bytes)
}

fn zstd_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    // What the reader says of itself are names of its own code.
    let damaged = || broken("zstd_decode", "this is not Zstandard data, or it is damaged");
    let mut rest = &*bytes;
    let source = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut rest, MAX_WINDOW)
        .map_err(|_| damaged())?;
    drain(cx, "zstd_decode", source).map(args::bytes).map_err(|fault| match fault {
        Fault::Thrown(_) => damaged(),
        other => other,
    })
}

/// How much a Zstandard stream may look back, in bytes.
const MAX_WINDOW: u64 = 8 << 20;

fn zstd_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let bytes = input(cx, args)?;
    cx.charge(bytes.len())?;
    let level = match args::int_or(args, 1, 3) {
        ..=0 => CompressionLevel::Uncompressed,
        _ => CompressionLevel::Fastest,
    };
    Ok(args::bytes(compress_to_vec(&*bytes, level)))
}

fn brotli_decode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    drain(cx, "brotli_decode", brotli::Decompressor::new(&*bytes, 4096)).map(args::bytes)
}

fn brotli_encode(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    let quality = args::int_or(args, 1, 5).clamp(0, 11) as u32;
    drain(cx, "brotli_encode", brotli::CompressorReader::new(&*bytes, 4096, quality, 20)).map(args::bytes)
}

/// What an archive is made of.
fn entries<'a>(args: &'a [Value], name: &str) -> Result<&'a [Value], Fault> {
    let given = args::at(args, 0);
    given.as_list().ok_or_else(|| {
        Fault::type_error(format!("{name}: entries must be a list, got {}", given.type_name()))
    })
}

/// The path and the content of an entry to be packed.
fn entry<'a>(cx: &mut Cx<'_>, item: &'a Value, name: &str) -> Result<(String, Vec<u8>, &'a Dict), Fault> {
    let dict = args::fields(item)
        .ok_or_else(|| broken(name, format!("an entry must be a dict, got {}", item.type_name())))?;
    let path = dict.get("path").or_else(|| dict.get("name")).and_then(Value::as_str);
    let path = path.ok_or_else(|| broken(name, "an entry needs a path"))?;
    let content = dict.get("content").or_else(|| dict.get("data")).or_else(|| dict.get("bytes"));
    let content = args::octets(cx, content.map_or(&[], std::slice::from_ref), 0)?.into_owned();
    cx.charge(content.len().saturating_mul(2).saturating_add(2048))?;
    cx.work(content.len());
    Ok((inside(name, path)?, content, dict))
}

/// A path that stays within the archive.
fn inside(name: &str, path: &str) -> Result<String, Fault> {
    let plain = path.replace('\\', "/");
    let leaves = plain.starts_with('/')
        || plain.contains('\0')
        || plain.as_bytes().get(1) == Some(&b':')
        || plain.split('/').any(|part| part == "..");
    if leaves || plain.is_empty() {
        return Err(broken(name, format!("the path '{path}' leads out of the archive")));
    }
    Ok(plain)
}

fn tar_create(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut archive = tar::Builder::new(Vec::new());
    for item in entries(args, "tar_create")? {
        let (path, content, dict) = entry(cx, item, "tar_create")?;
        let mode = dict.get("mode").and_then(Value::as_int).unwrap_or(0o644);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(u32::try_from(mode).unwrap_or(0o644) & 0o7777);
        header.set_mtime(0);
        archive
            .append_data(&mut header, &path, content.as_slice())
            .map_err(|error| broken("tar_create", error))?;
    }
    archive.into_inner().map(args::bytes).map_err(|error| broken("tar_create", error))
}

fn tar_extract(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    let name = "tar_extract";
    let mut archive = tar::Archive::new(&*bytes);
    let mut found = Vec::new();
    for file in archive.entries().map_err(|error| broken(name, error))? {
        let mut file = file.map_err(|error| broken(name, error))?;
        cx.charge(512)?;
        let path = inside(name, &String::from_utf8_lossy(&file.path_bytes()))?;
        let kind = match file.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => "file",
            tar::EntryType::Directory => "dir",
            tar::EntryType::Symlink | tar::EntryType::Link => "link",
            _ => "other",
        };
        let mode = file.header().mode().unwrap_or(0);
        let content = drain(cx, name, &mut file)?;
        found.push(Value::record([
            ("path", path.into()),
            ("size", args::number(content.len())),
            ("content", args::bytes(content)),
            ("mode", Value::Int(mode.into())),
            ("type", kind.into()),
        ]));
    }
    Ok(Value::list(found))
}

fn zip_create(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let failed = |error: zip::result::ZipError| broken("zip_create", error);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let mut paths = HashSet::new();
    for item in entries(args, "zip_create")? {
        let (path, content, _) = entry(cx, item, "zip_create")?;
        if !paths.insert(path.clone()) {
            return Err(broken("zip_create", format!("there are two entries with the path '{path}'")));
        }
        archive.start_file(path, options).map_err(failed)?;
        archive.write_all(&content).map_err(|error| broken("zip_create", error))?;
    }
    Ok(args::bytes(archive.finish().map_err(failed)?.into_inner()))
}

fn zip_extract(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let bytes = input(cx, args)?;
    let name = "zip_extract";
    let failed = |error: zip::result::ZipError| broken("zip_extract", error);
    let mut archive = zip::ZipArchive::new(Cursor::new(&*bytes)).map_err(failed)?;
    let mut found = Vec::new();
    for index in 0..archive.len() {
        cx.charge(512)?;
        let mut file = archive.by_index(index).map_err(failed)?;
        let path = inside(name, &file.name().map_err(failed)?)?;
        let kind = if file.is_dir() { "dir" } else { "file" };
        let content = drain(cx, name, &mut file)?;
        found.push(Value::record([
            ("path", path.into()),
            ("size", args::number(content.len())),
            ("content", args::bytes(content)),
            ("type", kind.into()),
        ]));
    }
    Ok(Value::list(found))
}
