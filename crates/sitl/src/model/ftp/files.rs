//! Files of a server: a fixed set, found by path and listed.

use std::sync::LazyLock;

use super::packet::{DATA, Refusal};

#[derive(Debug)]
pub(in crate::model) struct File {
    path: &'static str,
    content: LazyLock<Vec<u8>>,
}

impl File {
    pub(in crate::model) const fn new(path: &'static str, content: fn() -> Vec<u8>) -> Self {
        Self {
            path,
            content: LazyLock::new(content),
        }
    }

    pub(in crate::model) fn bytes(&self) -> &[u8] {
        &self.content
    }
}

pub(super) fn clean(path: &str) -> String {
    path.trim_matches('/').to_owned()
}

pub(super) fn find(files: &'static [File], path: &str) -> Result<&'static File, Refusal> {
    let file = files.iter().find(|file| file.path == path);
    file.ok_or(Refusal::FileNotFound)
}

/// Entries from the `skip`th on, as many as fit: `D` and name, or `F`, name, tab and size; each ends with a NUL.
pub(super) fn list(files: &[File], folder: &str, skip: usize) -> Result<Vec<u8>, Refusal> {
    let mut entries: Vec<String> = Vec::new();
    let mut exists = folder.is_empty();
    for file in files {
        let inside = match folder {
            "" => Some(file.path),
            folder => file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        let Some(inside) = inside else { continue };
        exists = true;
        let entry = match inside.split_once('/') {
            Some((below, _)) => format!("D{below}"),
            None => format!("F{inside}\t{}", file.bytes().len()),
        };
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    if !exists {
        return Err(Refusal::FileNotFound);
    }
    if skip > 0 && skip >= entries.len() {
        return Err(Refusal::EndOfFile);
    }
    let mut listing = Vec::new();
    for entry in &entries[skip..] {
        if listing.len() + entry.len() + 1 > DATA {
            break;
        }
        listing.extend(entry.as_bytes());
        listing.push(0);
    }
    Ok(listing)
}

/// CRC-32 of the protocol and of component metadata: reflected 0x04C11DB7 from 0, without a final inversion.
pub(in crate::model) fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            let carry = crc & 1;
            (crc >> 1) ^ (0xEDB8_8320 * carry)
        })
    })
}
