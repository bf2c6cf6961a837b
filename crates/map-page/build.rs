//! Builds the page with npm, from its lockfile, into cargo's own folder, and lists its files for the binary. Must not:
//! fail for want of Node.js or a network, or write anything beside the sources. With `SKEIN_MAP_PAGE` `require` a page
//! that cannot be built is an error, with `skip` none is built; by default one is built if possible.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything else in this folder makes the page.
const NOT_PAGE: [&str; 7] = [
    "Cargo.toml",
    "build.rs",
    "src",
    "FEED.md",
    "node_modules",
    "dist",
    ".gitignore",
];

/// npm writes this file last.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// Major version of Node.js.
const OLDEST: u32 = 20;

const VARIABLE: &str = "SKEIN_MAP_PAGE";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=build.rs");
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?);
    let built = if asked == "skip" {
        Err(format!("{VARIABLE} was skip"))
    } else {
        build(&out.join("page"))
    };
    match built {
        Ok(dist) => fs::write(out.join("files.rs"), listed(&dist)?).map_err(|why| why.to_string()),
        Err(why) if asked == "require" => Err(format!("the page of `skein map` cannot be built: {why}")),
        Err(why) => {
            if asked != "skip" {
                println!("cargo::warning=`skein map` is built without its page, and all else as usual: {why}");
            }
            let text = format!(
                "/// All of them.\npub static FILES: &[File] = &[];\nconst MISSING: Option<&str> = Some({why:?});\n"
            );
            fs::write(out.join("files.rs"), text).map_err(|why| why.to_string())
        }
    }
}

fn build(work: &Path) -> Result<PathBuf, String> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets no CARGO_MANIFEST_DIR")?);
    let mut names = Vec::new();
    for entry in fs::read_dir(&here).map_err(|why| why.to_string())? {
        let name = entry.map_err(|why| why.to_string())?.file_name();
        if NOT_PAGE.iter().all(|other| name != *other) {
            names.push(name);
        }
    }
    // Missing now, a list may be there later.
    for name in ["package.json", "package-lock.json"]
        .map(Into::into)
        .iter()
        .chain(&names)
    {
        println!("cargo::rerun-if-changed={}", here.join(name).display());
    }
    let node = version().ok_or("Node.js is not there")?;
    if node < OLDEST {
        return Err(format!("Node.js is of version {node}, older than {OLDEST}"));
    }
    // Installed packages stay while the lockfile is the same.
    let lock = fs::read(here.join("package-lock.json")).map_err(|why| format!("package-lock.json: {why}"))?;
    let installed =
        work.join(INSTALLED).is_file() && fs::read(work.join("package-lock.json")).is_ok_and(|had| had == lock);
    fs::create_dir_all(work).map_err(|why| why.to_string())?;
    for entry in fs::read_dir(work).map_err(|why| why.to_string())? {
        let path = entry.map_err(|why| why.to_string())?.path();
        if !path.ends_with("node_modules") {
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.map_err(|why| why.to_string())?;
        }
    }
    for name in &names {
        copy(&here.join(name), &work.join(name))?;
    }
    if !installed {
        npm(
            work,
            &[
                "ci",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--prefer-offline",
                "--fetch-retries=1",
                "--fetch-timeout=30000",
            ],
        )?;
    }
    npm(work, &["run", "build"])?;
    let dist = work.join("dist");
    if dist.join("index.html").is_file() {
        Ok(dist)
    } else {
        Err("`npm run build` makes no dist/index.html".to_owned())
    }
}

fn version() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn npm(folder: &Path, args: &[&str]) -> Result<(), String> {
    // Packages call only programs installed beside them.
    let output = Command::new("npm")
        .args(args)
        .current_dir(folder)
        .env("CI", "1")
        .output();
    let output = output.map_err(|why| format!("npm is not there ({why})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
    Err(format!("`npm {}` fails: {}", args.join(" "), lines.join(" | ")))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(|why| why.to_string())?;
        for entry in fs::read_dir(from).map_err(|why| why.to_string())? {
            let entry = entry.map_err(|why| why.to_string())?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to)
        .map(drop)
        .map_err(|why| format!("{}: {why}", from.display()))
}

fn listed(dist: &Path) -> Result<String, String> {
    let mut files = Vec::new();
    collect(dist, &mut files)?;
    files.sort();
    let mut text = "/// All of them.\npub static FILES: &[File] = &[\n".to_owned();
    for file in files {
        let path = file.strip_prefix(dist).map_err(|why| why.to_string())?;
        let path = path.to_str().ok_or("a file of the page has a name that is no text")?;
        let media_type = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "text/html; charset=utf-8",
            Some("js" | "mjs") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("json" | "webmanifest") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("woff2") => "font/woff2",
            Some("txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        };
        let _ = writeln!(
            text,
            "    File {{ path: {path:?}, media_type: {media_type:?}, bytes: include_bytes!({:?}) }},",
            file.display().to_string()
        );
    }
    text.push_str("];\nconst MISSING: Option<&str> = None;\n");
    Ok(text)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|why| why.to_string())? {
        let path = entry.map_err(|why| why.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_none_or(|extension| extension != "map") {
            files.push(path);
        }
    }
    Ok(())
}
