//! Content-addressed blobs: small ones in the database, large ones as synced files named by their SHA-256.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use harn_core::hash::Sha256Hash;
use sha2::{Digest, Sha256};

use crate::Result;

/// Content above this size becomes a file.
pub const INLINE_LIMIT: usize = 32 << 10;

/// Content that a commit can keep. Staging alone leaves at most an unreferenced file behind.
#[derive(Clone, Debug)]
pub struct StagedBlob {
    pub hash: Sha256Hash,
    pub size: u64,
    pub(crate) inline: Option<Bytes>,
}

impl StagedBlob {
    /// Content that goes into the database whatever its size. For what is small by nature.
    pub fn inline(content: Bytes) -> Self {
        Self { hash: Sha256Hash::of(&content), size: content.len() as u64, inline: Some(content) }
    }

    /// Small content needs no disk before its commit.
    pub fn small(content: Bytes) -> Option<Self> {
        (content.len() <= INLINE_LIMIT).then(|| Self::inline(content))
    }
}

/// Kept content.
#[derive(Clone, Debug)]
pub enum Blob {
    Inline(Bytes),
    File { path: PathBuf, size: u64 },
}

impl Blob {
    pub fn size(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }

    pub fn bytes(&self) -> Result<Bytes> {
        match self {
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::File { path, .. } => Ok(fs::read(path)?.into()),
        }
    }
}

/// The folder of large blobs.
#[derive(Clone, Debug)]
pub(crate) struct BlobFolder {
    root: PathBuf,
}

impl BlobFolder {
    pub fn open(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(&root)?;
        if let Some(parent) = root.parent() {
            File::open(parent)?.sync_all()?;
        }
        let folder = Self { root };
        let scratch = folder.scratch();
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        Ok(folder)
    }

    /// The same folder for a process that only reads: nothing is created or cleaned.
    pub fn existing(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn scratch(&self) -> PathBuf {
        self.root.join("incoming")
    }

    pub fn path(&self, hash: &str) -> PathBuf {
        let (head, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.root.join(head).join(rest)
    }

    pub fn stage(&self, content: Bytes) -> Result<StagedBlob> {
        if let Some(blob) = StagedBlob::small(content.clone()) {
            return Ok(blob);
        }
        let hash = Sha256Hash::of(&content);
        let temporary = self.scratch().join(ulid::Ulid::generate().to_string());
        let mut file = File::create(&temporary)?;
        file.write_all(&content)?;
        file.sync_all()?;
        self.settle(&temporary, &hash)?;
        Ok(StagedBlob { hash, size: content.len() as u64, inline: None })
    }

    pub fn stage_file(&self, file: &Path) -> Result<StagedBlob> {
        let mut source = File::open(file)?;
        let size = source.metadata()?.len();
        if size <= INLINE_LIMIT as u64 {
            let content = fs::read(file)?;
            fs::remove_file(file)?;
            return self.stage(content.into());
        }
        source.sync_all()?;
        let hash = hash_reader(&mut source)?;
        self.settle(file, &hash)?;
        Ok(StagedBlob { hash, size, inline: None })
    }

    /// Moves synced content to its address and makes the new name durable.
    fn settle(&self, file: &Path, hash: &Sha256Hash) -> Result<()> {
        let target = self.path(&hash.to_string());
        if let Some(parent) = target.parent() {
            if !parent.exists() {
                fs::create_dir_all(parent)?;
                File::open(&self.root)?.sync_all()?;
            }
            fs::rename(file, &target)?;
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }
}

pub(crate) fn hash_reader(source: &mut impl Read) -> Result<Sha256Hash> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = source.read(&mut buffer)?;
        if read == 0 {
            return Ok(Sha256Hash(hasher.finalize().into()));
        }
        hasher.update(&buffer[..read]);
    }
}
