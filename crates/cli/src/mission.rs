//! `skein mission` works offline. Must not: plan ([`fleet::planning::mission`]) or know a format (`plan_files`).

mod geojson;
pub mod import;
pub(crate) mod manifest;
pub(crate) mod preview;
mod yaml;

use crate::args::import::Kind;
use crate::args::mission::{ExportArgs, FileFormat, ImportArgs, MissionArgs, MissionCommand};
use crate::failure::Failure;
use crds::MissionSpec;
use crds::mission::MissionStatus;
use fleet::planning::mission::Work;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;
use manifest::{Content, Manifest, failed};
use model::plan::{Waypoint, item};
use plan_files::{Format, PlanFile};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::path::Path;

pub fn run(args: &MissionArgs) -> Result<(), Failure> {
    match &args.command {
        MissionCommand::Preview(args) => preview::run(args),
        MissionCommand::Import(args) => import(args),
        MissionCommand::Export(args) => export(args),
    }
}

pub fn state(status: &MissionStatus) -> (&'static str, Option<&Condition>) {
    let of = |kind| status.conditions.iter().find(|condition| condition.type_ == kind);
    // Failed first, as a failed Mission is stalled, too.
    let ended = ["Failed", "Complete", "Suspended", "Stalled"]
        .into_iter()
        .find_map(|kind| {
            let found = of(kind).filter(|condition| condition.status == "True")?;
            Some((kind, Some(found)))
        });
    ended.unwrap_or_else(|| ("Progressing", of("Progressing")))
}

fn import(args: &ImportArgs) -> Result<(), Failure> {
    import::run_plans(&crate::args::import::ImportArgs {
        files: vec![args.file.clone()],
        name: args.name.clone(),
        kinds: vec![Kind::Mission],
        check: false,
        output: None,
        mission: args.choices.clone(),
        purpose: None,
        altitude: None,
        spacing: None,
        autopilot: None,
        only: Vec::new(),
        vehicles: Vec::new(),
    })
}

fn export(args: &ExportArgs) -> Result<(), Failure> {
    let manifest = Manifest::of(&args.mission)?;
    let file = match manifest.content()? {
        Content::Route(route) => of_waypoints(route.waypoints()),
        Content::Survey(survey) => {
            let work = Work::of_survey(&survey).map_err(|error| failed(&error))?;
            of_waypoints(&work.waypoints(work.track().points()))
        }
        Content::Plan(plan) => plan.file,
    };
    let format = match args.format {
        FileFormat::Plan => Format::Plan,
        FileFormat::Wpl => Format::Wpl,
    };
    std::io::stdout().write_all(plan_files::write(&file, format).as_bytes())?;
    Ok(())
}

fn of_waypoints(waypoints: &[Waypoint]) -> PlanFile {
    PlanFile {
        items: item::of_waypoints(waypoints),
        ..PlanFile::default()
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let most = u64::try_from(plan_files::LONGEST).unwrap_or(u64::MAX);
    let cannot = |error: std::io::Error| Failure::Failed(format!("cannot read {}: {error}", path.display()));
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
    if bytes.len() > plan_files::LONGEST {
        return Err(Failure::Failed(format!(
            "{} is longer than 4 MiB; give a mission file",
            path.display()
        )));
    }
    plan_files::text::unicode(&bytes).ok_or_else(|| {
        let path = path.display();
        Failure::Failed(format!(
            "{path} is no text in UTF-8 or UTF-16; give a mission file, or convert it: iconv -f ENCODING -t UTF-8 {path}"
        ))
    })
}

/// Longest name of a Mission, which is the value of a label.
const MAX_NAME_LETTERS: usize = 63;

/// Lower case Latin letters with marks, and what stands for them in a name.
const MARKED: [(&str, &str); 25] = [
    ("àáâãäåāăąǎ", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįıǐ", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŉ", "n"),
    ("òóôõöøōŏőǒ", "o"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûüũūŭůűųǔ", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    // Marks by themselves, which follow their letter.
    ("\u{300}\u{301}\u{302}\u{303}\u{304}\u{306}\u{307}\u{308}", ""),
    ("\u{30a}\u{30b}\u{30c}\u{326}\u{327}\u{328}", ""),
];

/// `None` if no letter or digit of the file's name can be part of a name.
fn name_of(path: &Path) -> Option<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut name = String::new();
    for letter in stem.chars() {
        let plain = MARKED.iter().find(|(marked, _)| marked.contains(letter));
        match plain {
            Some((_, plain)) => name.push_str(plain),
            None if letter.is_ascii_alphanumeric() => name.push(letter),
            None => name.push('-'),
        }
    }
    let name: String = name.trim_matches('-').chars().take(MAX_NAME_LETTERS).collect();
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn json_of(object: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(object).map_err(|error| failed(&error))
}

fn shortest(spec: &MissionSpec) -> Result<Value, Failure> {
    let (mut spec, defaults) = (json_of(spec)?, json_of(&MissionSpec::default())?);
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, value| defaults.get(name) != Some(value));
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_files_without_marks_or_there_is_none() {
        let of = |name: &str| name_of(Path::new(name));
        for (file, name) in [
            ("North Field.plan", "north-field"),
            ("Überflug (1).plan", "uberflug--1"),
            ("U\u{308}berflug.plan", "uberflug"),
            ("Straße Łódź.kml", "strasse-lodz"),
            ("Поле 3.plan", "3"),
        ] {
            assert_eq!(of(file).as_deref(), Some(name), "{file}");
        }
        assert_eq!(of("Поле.plan"), None);
        assert_eq!(of("-"), None);
        assert_eq!(of(&"a".repeat(90)).map(|name| name.len()), Some(MAX_NAME_LETTERS));
    }
}
