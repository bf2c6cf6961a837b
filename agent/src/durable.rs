//! Files that are on the disk, whole, when the write returns.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `fresh` in the same folder, renames it to `file`, and syncs file and folder. Blocks.
///
/// After `Ok`, `file` has these bytes, also after a loss of power. A reader finds at any moment all of the old file or all of the new one.
///
/// # Errors
/// The old file is still there, unless only the folder could not be synced: then a loss of power may bring the old one back.
pub fn replace_file(file: &Path, fresh: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut written = File::create(fresh)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    fs::rename(fresh, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_file_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let (file, fresh) = (folder.path().join("a"), folder.path().join("a.new"));
        for bytes in [b"first".as_slice(), b"2nd"] {
            replace_file(&file, &fresh, bytes).unwrap();
            assert_eq!(fs::read(&file).unwrap(), bytes);
        }
        assert!(!fresh.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn on_a_full_disk_the_old_file_stays_and_the_next_write_with_room_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, fresh) = (folder.path().join("a"), folder.path().join("a.new"));
        replace_file(&file, &fresh, b"old").unwrap();
        // Linux' own full disk.
        std::os::unix::fs::symlink("/dev/full", &fresh).unwrap();
        let error = replace_file(&file, &fresh, b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&file).unwrap(), b"old");
        fs::remove_file(&fresh).unwrap();
        replace_file(&file, &fresh, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn the_old_file_stays_when_the_new_one_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, fresh) = (folder.path().join("a"), folder.path().join("a.new"));
        replace_file(&file, &fresh, b"old").unwrap();
        // A folder in its place; permissions would not stop root.
        fs::create_dir(&fresh).unwrap();
        let error = replace_file(&file, &fresh, b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert_eq!(fs::read(&file).unwrap(), b"old");
    }
}
