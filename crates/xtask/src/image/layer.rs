//! Files as a tar archive that depends only on the files: sorted, owned by root, all with the same time.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

#[derive(Debug, Clone)]
pub struct File {
    /// Without a leading slash.
    pub path: String,
    pub mode: u32,
    pub content: Vec<u8>,
}

/// `time` is in seconds since 1970; the order of `files` does not matter.
pub fn tar(files: &[File], time: u64) -> std::io::Result<Vec<u8>> {
    // A folder's name ends with a slash, so it sorts before its content.
    let mut entries: BTreeMap<String, Option<&File>> = BTreeMap::new();
    for file in files {
        for (end, _) in file.path.match_indices('/') {
            entries.insert(file.path[..=end].to_owned(), None);
        }
        entries.insert(file.path.clone(), Some(file));
    }
    let mut archive = Builder::new(Vec::new());
    for (path, file) in entries {
        let (kind, mode, content): (_, _, &[u8]) = match file {
            Some(file) => (EntryType::Regular, file.mode, &file.content),
            None => (EntryType::Directory, 0o755, &[]),
        };
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_path(Path::new(&path))?;
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content)?;
    }
    archive.into_inner()
}

/// Compresses with a header that contains neither time nor system.
pub fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut writer = GzBuilder::new()
        .mtime(0)
        .operating_system(UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::best());
    writer.write_all(bytes)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn file(path: &str, mode: u32, content: &str) -> File {
        File {
            path: path.to_owned(),
            mode,
            content: content.into(),
        }
    }

    fn two() -> Vec<File> {
        vec![
            file("usr/share/skein/LICENSE", 0o644, "words"),
            file("usr/bin/skein", 0o755, "program"),
        ]
    }

    #[test]
    fn the_same_files_make_the_same_archive_in_whatever_order_they_come() {
        let mut turned = two();
        turned.reverse();
        let (once, again) = (
            tar(&two(), 1_700_000_000).unwrap(),
            tar(&turned, 1_700_000_000).unwrap(),
        );
        assert_eq!(once, again);
        assert_eq!(gzip(&once).unwrap(), gzip(&again).unwrap());
        assert_ne!(once, tar(&two(), 1_700_000_001).unwrap(), "the time is in it");
    }

    #[test]
    fn folders_come_before_their_files_and_everything_belongs_to_root() {
        let bytes = tar(&two(), 1_700_000_000).unwrap();
        let mut archive = tar::Archive::new(&bytes[..]);
        let seen: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let header = entry.header().clone();
                assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
                assert_eq!(header.mtime().unwrap(), 1_700_000_000);
                let mut content = String::new();
                entry.read_to_string(&mut content).unwrap();
                let path = entry.path_bytes().into_owned();
                (String::from_utf8(path).unwrap(), header.mode().unwrap(), content)
            })
            .collect();
        let folder = |path: &str| (path.to_owned(), 0o755, String::new());
        assert_eq!(
            seen,
            [
                folder("usr/"),
                folder("usr/bin/"),
                ("usr/bin/skein".to_owned(), 0o755, "program".to_owned()),
                folder("usr/share/"),
                folder("usr/share/skein/"),
                ("usr/share/skein/LICENSE".to_owned(), 0o644, "words".to_owned()),
            ]
        );
    }

    #[test]
    fn what_was_compressed_comes_out_again() {
        let bytes = tar(&two(), 0).unwrap();
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&gzip(&bytes).unwrap()[..])
            .read_to_end(&mut out)
            .unwrap();
        assert_eq!(out, bytes);
    }
}
