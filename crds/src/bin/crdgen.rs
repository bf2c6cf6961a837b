//! Writes the CRD YAML files, or with `--check` fails when the committed ones differ.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(std::env::args().any(|a| a == "--check")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "crdgen: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, wanted) in crds::yaml::files().map_err(|e| e.to_string())? {
        let path = folder.join(&name);
        if check {
            let there = std::fs::read_to_string(&path).unwrap_or_default();
            if there != wanted {
                return Err(format!(
                    "crds/{name} is out of date; run `cargo xtask generate` and commit the result"
                ));
            }
        } else {
            std::fs::write(&path, wanted).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
    }
    Ok(())
}
