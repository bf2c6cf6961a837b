//! `skein import`: Missions, Geofences and ParameterProfiles from files of other programs.
//!
//! Owns: which objects a file becomes, and the report. Must not: know a file format (`plan_files`), judge an object
//! (`fleet` and the schemas), or invent what a file does not say.

mod fits;
mod objects;
mod plan;

use super::manifest::failed;
use crate::args::import::{AreaPurpose, ImportArgs, Kind};
use crate::failure::Failure;
use fits::{Nature, Taken};
use objects::Objects;
use plan_files::area::{self, Area, Purpose};
use plan_files::recognize::{self, Contents, LONGEST_AREAS, Recognized};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// kubectl apply stores a copy in an annotation, and the API server takes no annotations above 256 KiB.
const MAX_APPLIED_BYTES: usize = 240 * 1024;

const AS: &str = "--as survey|inclusion|exclusion";

struct File<'a> {
    path: &'a Path,
    /// Empty until [`make`] if the file's own cannot be one.
    name: String,
    bytes: Vec<u8>,
    projection: Option<String>,
}

/// Prints nothing on an error.
pub fn run(args: &ImportArgs) -> Result<(), Failure> {
    all(args, false)
}

/// As [`run`], for plans and waypoint files only.
pub fn run_plans(args: &ImportArgs) -> Result<(), Failure> {
    all(args, true)
}

fn all(args: &ImportArgs, only_plans: bool) -> Result<(), Failure> {
    let (mut objects, mut problems, mut reports) = (Objects::default(), Vec::new(), Vec::new());
    label_keys_once(args)?;
    output_is_folder(args)?;
    let (mut is_usage, mut taken) = (true, Vec::new());
    for path in &args.files {
        let begun = objects.documents.len();
        let undecided = objects.undecided;
        let said = objects.notes.len();
        let label = path.display().to_string();
        if let Some(shapes) = recognize::shapefile_of(path, &args.files).filter(|_| path.exists()) {
            reports.push(format!("{label}: a part of {}\n", shapes.display()));
            continue;
        }
        let made = one(path, args, only_plans, &mut objects);
        if args.files.len() > 1 && !args.check {
            for note in objects.notes.iter_mut().skip(said) {
                *note = format!("{label}: {note}");
            }
        }
        match made {
            Ok((kind, nature)) => {
                let made = objects.documents.iter().skip(begun);
                taken.push(Taken::of(nature, made.clone()));
                let made: Vec<String> = made.map(objects::title).collect();
                let made = match (made.is_empty(), objects.undecided - undecided) {
                    (false, _) => made.join(", "),
                    (true, 0) => "no object".to_owned(),
                    (true, 1) => format!("1 area; say what it is with {AS}"),
                    (true, areas) => format!("{areas} areas; say what they are with {AS}"),
                };
                let mut report = format!("{label}: {kind}: {made}\n");
                for note in objects.notes.iter().skip(said) {
                    report += &format!("  {note}\n");
                }
                reports.push(report);
            }
            Err(failure) => {
                is_usage &= matches!(failure, Failure::Usage(_));
                let text = failure.to_string();
                let lines = text.lines().map(|line| {
                    if args.files.len() > 1 {
                        format!("{label}: {line}")
                    } else {
                        line.to_owned()
                    }
                });
                problems.extend(lines);
            }
        }
    }
    if args.check {
        std::io::stdout().write_all(reports.concat().as_bytes())?;
    }
    let twice = twice(&objects.documents);
    is_usage &= twice.is_empty();
    problems.extend(twice);
    if problems.is_empty() {
        let misfits = fits::misfits(args, &taken);
        problems.extend(misfits);
    }
    if problems.is_empty() && objects.documents.is_empty() && !args.check {
        is_usage = false;
        problems.push("nothing was made: --kind leaves out all that is in the files".to_owned());
    }
    if !problems.is_empty() {
        for note in objects.notes.iter().filter(|_| !args.check) {
            writeln!(std::io::stderr(), "skein: {note}")?;
        }
        let text = problems.join("\nskein: ");
        return Err(if is_usage {
            Failure::Usage(text)
        } else {
            Failure::Failed(text)
        });
    }
    if !args.check {
        print(args, &objects)?;
        for note in &objects.notes {
            writeln!(std::io::stderr(), "skein: {note}")?;
        }
    }
    Ok(())
}

fn print(args: &ImportArgs, objects: &Objects) -> Result<(), Failure> {
    let text = |document: &Value| serde_saphyr::to_string(document).map_err(|error| failed(&error));
    let Some(folder) = &args.output else {
        let texts: Vec<String> = objects.documents.iter().map(text).collect::<Result<_, _>>()?;
        return Ok(std::io::stdout().write_all(texts.join("---\n").as_bytes())?);
    };
    let cannot =
        |path: &Path, error: &std::io::Error| Failure::Failed(format!("cannot write {}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let mut files = Vec::new();
    for document in &objects.documents {
        let part = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        let name = format!(
            "{}-{}.yaml",
            part(&document["kind"]),
            part(&document["metadata"]["name"])
        );
        files.push((folder.join(name), text(document)?));
    }
    if let Err((path, error)) = write_all(&files) {
        let is_there = error.kind() == std::io::ErrorKind::AlreadyExists;
        let away = if is_there { "move it away, or " } else { "" };
        return Err(Failure::Failed(format!(
            "cannot write {}: {error}; no file was written: {away}name another folder with --output",
            path.display()
        )));
    }
    for (path, _) in &files {
        writeln!(std::io::stdout(), "{}", path.display())?;
    }
    Ok(())
}

fn write_all(files: &[(PathBuf, String)]) -> Result<(), (PathBuf, std::io::Error)> {
    let mut made: Vec<&Path> = Vec::new();
    for (path, text) in files {
        let written = std::fs::File::create_new(path).and_then(|mut file| {
            made.push(path);
            file.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            for path in made {
                let _ = std::fs::remove_file(path);
            }
            return Err((path.clone(), error));
        }
    }
    Ok(())
}

fn one(
    path: &Path,
    args: &ImportArgs,
    only_plans: bool,
    objects: &mut Objects,
) -> Result<(&'static str, Nature), Failure> {
    let mut file = read(path, args.name.as_deref())?;
    let found = match recognized(&file) {
        Err(refused) if !wants(args, Kind::Mission) => {
            let found = recognize::read_without_mission(&file.bytes).ok_or(refused)?;
            objects
                .notes
                .push("left out: the mission, which cannot be read".to_owned());
            found
        }
        found => found?,
    };
    if only_plans && !matches!(found.contents, Contents::Plan(_)) {
        return Err(Failure::Failed(format!(
            "the file is {}, and no mission of a ground station; use skein import",
            found.kind
        )));
    }
    let nature = make(&mut file, &found, args, objects)?;
    Ok((found.kind, nature))
}

fn recognized(file: &File<'_>) -> Result<Recognized, Failure> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    recognize::read(&file.bytes, &name, file.projection.as_deref()).map_err(|error| failed(&error))
}

fn make(file: &mut File<'_>, found: &Recognized, args: &ImportArgs, objects: &mut Objects) -> Result<Nature, Failure> {
    objects.notes.extend(found.notes.iter().cloned());
    if file.name.is_empty() {
        file.name = objects.free_name(kind_of(found, args));
        if file.path != Path::new("-") {
            objects.notes.push(format!(
                "no letter or digit of the file's name can be part of a name: it is named {}; choose another with --name",
                file.name
            ));
        }
    }
    Ok(match &found.contents {
        Contents::Plan(of) => {
            plan::import(file, of, &found.text, args, objects)?;
            Nature::Plan
        }
        Contents::Parameters(of) => {
            objects.parameters(&file.name, of, args)?;
            Nature::Parameters
        }
        Contents::Areas(of) => {
            if found.kind == recognize::SHAPEFILE && file.projection.is_none() {
                let taken = "the Shapefile has no .prj file beside it: its coordinates are taken for degrees of WGS 84";
                objects.notes.push(taken.to_owned());
            }
            objects.areas(&file.name, of, args)?;
            Nature::Areas
        }
    })
}

/// Kind of the first object that a file becomes, in lower case.
fn kind_of(found: &Recognized, args: &ImportArgs) -> &'static str {
    match &found.contents {
        Contents::Parameters(_) => "parameterprofile",
        Contents::Plan(of) if of.file.items.is_empty() || !wants(args, Kind::Mission) => "geofence",
        Contents::Areas(_) if matches!(args.purpose, Some(AreaPurpose::Inclusion | AreaPurpose::Exclusion)) => {
            "geofence"
        }
        Contents::Plan(_) | Contents::Areas(_) => "mission",
    }
}

pub(crate) struct Made {
    pub kind: &'static str,
    pub documents: Vec<Value>,
    pub notes: Vec<String>,
    pub areas: Vec<Area>,
}

/// `projection`: text of the `.prj` beside a Shapefile.
pub(crate) fn made(name: &str, bytes: Vec<u8>, projection: Option<String>, args: &ImportArgs) -> Result<Made, Failure> {
    let path = Path::new(name);
    let mut file = File {
        path,
        name: name_for(path, args.name.as_deref()),
        bytes,
        projection,
    };
    let found = recognized(&file)?;
    let mut objects = Objects::default();
    make(&mut file, &found, args, &mut objects)?;
    let areas = match &found.contents {
        Contents::Areas(of) if args.purpose.is_none() => {
            area::prepare(of, Purpose::Survey).map_err(|errors| objects::lines(&errors))?
        }
        Contents::Areas(_) | Contents::Plan(_) | Contents::Parameters(_) => Vec::new(),
    };
    Ok(Made {
        kind: found.kind,
        documents: objects.documents,
        notes: objects.notes,
        areas,
    })
}

/// A folder named like a file surprises.
fn output_is_folder(args: &ImportArgs) -> Result<(), Failure> {
    let Some(output) = &args.output else { return Ok(()) };
    let ending = output.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_named_like_a_file = ["yaml", "yml", "json"].contains(&ending.as_str());
    if output.is_dir() || !(is_named_like_a_file || output.exists()) {
        return Ok(());
    }
    let path = output.display().to_string();
    let (why, other) = if output.exists() {
        ("is a file, and has to be", "FILE")
    } else {
        ("is taken for", path.as_str())
    };
    Err(Failure::Usage(format!(
        "--output {path} {why} a folder, in which each object gets a file of its own; name a folder, or write all objects to one file with > {other}"
    )))
}

/// Two values for one key select nothing.
fn label_keys_once(args: &ImportArgs) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match args.vehicles.iter().find(|(key, _)| !seen.insert(key)) {
        None => Ok(()),
        Some((key, _)) => Err(Failure::Usage(format!(
            "--vehicles names {key} twice, and no Vehicle has two values of one label; import the files once for each"
        ))),
    }
}

fn twice(documents: &[Value]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = documents
        .iter()
        .map(objects::title)
        .filter(|title| !seen.insert(title.clone()));
    again
        .map(|title| format!("{title} is made twice; import the files one by one with --name"))
        .collect()
}

fn name_for(path: &Path, given: Option<&str>) -> String {
    given.map_or_else(|| super::name_of(path).unwrap_or_default(), str::to_owned)
}

fn read<'a>(path: &'a Path, given: Option<&str>) -> Result<File<'a>, Failure> {
    let name = name_for(path, given);
    let cannot = |error: std::io::Error| Failure::Failed(format!("cannot read {}: {error}", path.display()));
    let most = u64::try_from(LONGEST_AREAS).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
    } else {
        let file = std::fs::File::open(path).map_err(cannot)?;
        file.take(most + 1).read_to_end(&mut bytes).map_err(cannot)?;
    }
    let projection = ["prj", "PRJ"]
        .iter()
        .find_map(|ending| std::fs::read(path.with_extension(ending)).ok());
    let projection = projection.map(|bytes| plan_files::text::decode(&bytes));
    Ok(File {
        path,
        name,
        bytes,
        projection,
    })
}

fn wants(args: &ImportArgs, kind: Kind) -> bool {
    args.kinds.is_empty() || args.kinds.contains(&kind)
}
