//! The state folder of a Pod: the kubelet makes it for root, and the agent is not root.

use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

/// `owner`: `UID:GID`. A folder that is theirs already is left alone. Needs no right to read the folder, which its owner may have taken from
/// all others. The error is one line for a person.
pub fn give(path: &Path, owner: &str) -> Result<(), String> {
    let (user, group) = parse(owner)
        .ok_or_else(|| format!("--give-state-dir-to: {owner:?} is no owner; use UID:GID, such as 65532:65532"))?;
    let cannot = |why: &dyn std::fmt::Display| {
        format!(
            "cannot give the state folder {} to {owner}: {why}; see that it is a folder, and run this as root with CHOWN",
            path.display()
        )
    };
    let there = path.symlink_metadata().map_err(|error| cannot(&error))?;
    if !there.is_dir() {
        return Err(cannot(&"it is no folder"));
    }
    if (there.uid(), there.gid()) == (user, group) {
        return Ok(());
    }
    lchown(path, Some(user), Some(group)).map_err(|error| cannot(&error))
}

fn parse(owner: &str) -> Option<(u32, u32)> {
    let (user, group) = owner.split_once(':')?;
    Some((user.parse().ok()?, group.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_given_to_its_owner_and_what_lies_in_it_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("skein");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("state.json"), "{}").unwrap();
        let ours = std::fs::metadata(&folder).unwrap();
        let inside = std::fs::metadata(folder.join("state.json")).unwrap().uid();
        // Only root can give a folder to another user; every user may give to itself what it has.
        let wanted = if ours.uid() == 0 {
            (65532, 65532)
        } else {
            (ours.uid(), ours.gid())
        };
        for _ in 0..2 {
            give(&folder, &format!("{}:{}", wanted.0, wanted.1)).unwrap();
            let there = std::fs::metadata(&folder).unwrap();
            assert_eq!((there.uid(), there.gid()), wanted);
        }
        assert_eq!(std::fs::metadata(folder.join("state.json")).unwrap().uid(), inside);
    }

    #[test]
    fn what_is_no_folder_or_no_owner_is_refused_in_one_line() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        std::fs::write(&file, "").unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(scratch.path(), &link).unwrap();
        for (path, owner, words) in [
            (file.as_path(), "1:1", "it is no folder"),
            (link.as_path(), "1:1", "it is no folder"),
            (&scratch.path().join("none"), "1:1", "No such file"),
            (scratch.path(), "skein", "use UID:GID"),
            (scratch.path(), "1:-1", "use UID:GID"),
        ] {
            let line = give(path, owner).unwrap_err();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
    }
}
