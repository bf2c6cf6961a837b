//! The file that leads a browser to the map, readable by its owner alone.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

#[derive(Debug)]
pub(super) struct Redirect {
    path: PathBuf,
    _folder: TempDir,
}

impl Redirect {
    /// In a folder that nobody else may enter. `address`: ours, without quotes and angle brackets.
    pub(super) fn to(address: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("skein-map-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let path = folder.path().join("map.html");
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(page(address).as_bytes())?;
        Ok(Self { path, _folder: folder })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn page(address: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>skein map</title>\n\
         <p><a href=\"{address}\">The map</a></p>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_owners_alone_leads_to_the_address_and_goes_with_its_holder() {
        let address = "http://127.0.0.1:4242/?door=0a#token=0b";
        let redirect = Redirect::to(address).unwrap();
        let (file, folder) = (redirect.path().to_owned(), redirect.path().parent().unwrap().to_owned());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&format!("content=\"0; url={address}\"")), "{text}");
        assert!(
            !file.display().to_string().contains("0b"),
            "the token is in no argument"
        );
        drop(redirect);
        assert!(!file.exists() && !folder.exists());
    }
}
