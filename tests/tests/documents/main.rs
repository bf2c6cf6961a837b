//! The documents are correct: links resolve, commands and fields exist, generated pages are fresh, each alert has a
//! runbook.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod reference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fleet::planning::drone::status::ReadyReason;
use regex::Regex;
use serde_json::Value;
use testkit::control_plane::workspace_root;

const PROGRAMS: [&str; 3] = ["skein", "skein-agent", "skein-coordinator"];

/// Shorter sentences may occur in two documents.
const LONG: usize = 60;

const FOREIGN: [&str; 3] = ["target", "node_modules", "recordings"];

#[test]
fn each_link_leads_to_a_file_and_to_a_heading_in_it() {
    let mut broken = Vec::new();
    for (path, text) in documents() {
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link.as_str(), ""));
            let target = if file.is_empty() {
                path.clone()
            } else {
                path.parent().unwrap().join(file)
            };
            let there = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !there {
                broken.push(format!("{}: {link}", short(&path)));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere: {broken:#?}");
}

#[test]
fn each_page_is_in_the_index_of_the_documents() {
    let folder = workspace_root().join("docs");
    let index = read(&folder.join("README.md"));
    let linked: BTreeSet<PathBuf> = links(&index)
        .iter()
        .filter_map(|link| folder.join(link.split('#').next()?).canonicalize().ok())
        .collect();
    let pages = documents().into_keys().filter(|path| path.starts_with(&folder));
    let missing: Vec<String> = pages
        .filter(|path| *path != folder.join("README.md") && !linked.contains(&path.canonicalize().unwrap()))
        .map(|path| short(&path))
        .collect();
    assert!(missing.is_empty(), "docs/README.md does not link to {missing:#?}");
}

#[test]
fn each_alert_has_its_section_in_the_runbook_and_each_section_its_alert() {
    let alerts: Value = yaml(&workspace_root().join("deploy/monitoring/alerts.yaml")).remove(0);
    let groups = alerts["groups"].as_array().unwrap().iter();
    let rules: Vec<&Value> = groups.flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert!(rules.len() > 10, "the alerts are read wrongly");
    let page = "docs/operations/runbook.md";
    let mut names = BTreeSet::new();
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        let wanted = format!("{page}#{}", slug(name));
        assert_eq!(rule["annotations"]["runbook_url"], wanted, "{name}");
        names.insert(name.to_owned());
    }
    let text = read(&workspace_root().join(page));
    let sections: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .map(str::to_owned)
        .collect();
    assert_eq!(sections, names);
}

#[test]
fn each_command_line_has_commands_and_options_that_exist() -> anyhow::Result<()> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for program in PROGRAMS {
        texts.insert(program.to_owned(), reference::help(program, &[])?);
    }
    for command in reference::commands(&texts["skein"]) {
        let mut text = reference::help("skein", &[command.as_str()])?;
        for inner in reference::commands(&text) {
            text.push_str(&reference::help("skein", &[command.as_str(), inner.as_str()])?);
        }
        texts.insert(format!("skein {command}"), text);
    }
    let mut wrong = Vec::new();
    let mut calls = 0;
    for (path, text) in documents() {
        for line in code_blocks(&text, "sh").iter().flat_map(|block| block.lines()) {
            for (program, args) in skein_calls(line) {
                calls += 1;
                let of_program = std::iter::once(program.clone());
                let of_commands = args.iter().map(|arg| format!("{program} {arg}"));
                let known: BTreeSet<String> = of_program
                    .chain(of_commands)
                    .filter_map(|name| texts.get(&name))
                    .flat_map(|help| options(help))
                    .collect();
                let command = program != "skein" || args.iter().any(|arg| texts.contains_key(&format!("skein {arg}")));
                let unknown = args.iter().filter(|arg| arg.starts_with('-'));
                let unknown: Vec<&str> = unknown
                    .filter_map(|arg| arg.split('=').next())
                    .filter(|option| !known.contains(*option))
                    .collect();
                if !command || !unknown.is_empty() {
                    wrong.push(format!("{}: {line} {unknown:?}", short(&path)));
                }
            }
        }
    }
    assert!(calls > 20, "only {calls} command lines were found");
    assert!(wrong.is_empty(), "these command lines do not exist: {wrong:#?}");
    Ok(())
}

#[test]
fn each_environment_variable_and_each_source_file_that_is_named_exists() {
    let mut sources = Vec::new();
    collect(workspace_root(), "rs", &mut sources);
    let all: String = sources.iter().map(|path| read(path)).collect();
    let variable = Regex::new(r"\bSKEIN_[A-Z_]*[A-Z]\b").unwrap();
    let source = Regex::new(r"`([a-z_0-9/-]+\.rs)`").unwrap();
    let mut wrong = Vec::new();
    for (path, text) in documents() {
        for found in variable.find_iter(&text) {
            if !all.contains(found.as_str()) {
                wrong.push(format!("{}: {}", short(&path), found.as_str()));
            }
        }
        for found in source.captures_iter(&text) {
            let name = Path::new(found.get(1).unwrap().as_str());
            if !sources.iter().any(|source| source.ends_with(name)) {
                wrong.push(format!("{}: {}", short(&path), name.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no source knows these: {wrong:#?}");
}

#[test]
fn each_generated_page_is_what_its_source_says() -> anyhow::Result<()> {
    let generate = std::env::var_os("SKEIN_GENERATE").is_some();
    let pages = reference::pages()?
        .into_iter()
        .map(|(path, text)| (path, text.into_bytes()));
    // The Python SDK makes its messages of it.
    let descriptors = (
        "sdk/python/src/skein/fleet.descriptors".to_owned(),
        proto::DESCRIPTORS.to_vec(),
    );
    for (path, wanted) in pages.chain([descriptors]) {
        let file = workspace_root().join(&path);
        if generate {
            std::fs::write(&file, wanted)?;
            continue;
        }
        anyhow::ensure!(
            std::fs::read(&file)? == wanted,
            "{path} is out of date; run `cargo xtask generate` and commit the result"
        );
    }
    Ok(())
}

#[test]
fn each_resource_in_examples_and_documents_has_only_fields_that_the_crds_have() {
    let kinds = [
        ("Swarm", "crds/swarms.yaml"),
        ("Drone", "crds/drones.yaml"),
        ("Geofence", "crds/geofences.yaml"),
        ("ParameterProfile", "crds/parameterprofiles.yaml"),
        ("Mission", "crds/missions.yaml"),
        ("Operator", "crds/operators.yaml"),
    ];
    let schemas: BTreeMap<&str, Value> = kinds
        .into_iter()
        .map(|(kind, path)| (kind, yaml(&workspace_root().join(path)).remove(0)))
        .collect();
    let mut resources: Vec<(String, Value)> = Vec::new();
    for path in examples() {
        resources.extend(yaml(&path).into_iter().map(|resource| (short(&path), resource)));
    }
    for (path, text) in documents() {
        let blocks = code_blocks(&text, "yaml");
        let ours = |line: &str| line.starts_with("apiVersion: skein.dev/");
        let whole = blocks.iter().filter(|block| block.lines().any(ours));
        resources.extend(
            whole
                .flat_map(|block| yaml_text(block))
                .map(|resource| (short(&path), resource)),
        );
    }
    assert!(resources.len() > 8, "too few resources: {resources:?}");
    for (place, resource) in resources {
        let kind = resource["kind"].as_str().unwrap_or_default();
        let schema = schemas.get(kind).unwrap_or(&Value::Null);
        let version = &schema["spec"]["versions"][0];
        let api = format!(
            "{}/{}",
            schema["spec"]["group"].as_str().unwrap_or_default(),
            version["name"].as_str().unwrap_or_default()
        );
        assert_eq!(resource["apiVersion"], api, "{place}: {kind}");
        let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let mut unknown = Vec::new();
        unknown_fields(spec, &resource["spec"], "spec", &mut unknown);
        assert!(unknown.is_empty(), "{place}: {kind} has no {unknown:?}");
    }
}

#[test]
fn each_example_is_in_the_list_of_the_examples() {
    let list = read(&workspace_root().join("examples/README.md"));
    for path in examples() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            list.contains(&format!("({name})")),
            "examples/README.md does not name {name}"
        );
    }
}

#[test]
fn no_sentence_stands_in_two_documents() {
    let generated: BTreeSet<PathBuf> = reference_pages()
        .iter()
        .map(|path| workspace_root().join(path))
        .collect();
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in documents() {
        if generated.contains(&path) {
            continue;
        }
        for sentence in sentences(&text) {
            places.entry(sentence).or_default().insert(short(&path));
        }
    }
    let twice: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(
        twice.is_empty(),
        "say it in one document and link to it from the other: {twice:#?}"
    );
}

#[test]
fn the_readme_has_the_two_commands_as_they_are() {
    let readme = read(&workspace_root().join("README.md"));
    for command in ["cargo run -- demo", "cargo xtask test"] {
        assert!(readme.contains(&format!("```sh\n{command}\n```")), "{command}");
    }
}

#[test]
fn each_reason_of_ready_is_in_the_reference_and_each_alarm_in_its_own_row() {
    let page = read(&workspace_root().join("docs/reference/conditions.md"));
    let (_, tables) = page.split_once("\n## Reasons of Ready\n").unwrap();
    let (tables, _) = tables.split_once("\n## ").unwrap();
    for reason in ReadyReason::ALL {
        let word = format!("`{}`", reason.text());
        let rows = tables.lines().filter(|line| line.starts_with("| `"));
        let named = rows.filter(|row| row.split(" | ").next().unwrap().contains(&word));
        assert_eq!(named.count(), 1, "{word}");
        assert!(!reason.is_alarm() || tables.contains(&format!("| {word} |")), "{word}");
    }
}

#[test]
fn modules_and_items_that_the_architecture_names_exist() {
    let text = read(&workspace_root().join("ARCHITECTURE.md"));
    let named = text.split('`').skip(1).step_by(2);
    let named: BTreeSet<&str> = named
        .filter(|name| name.starts_with("fleet::") || name.starts_with("model::"))
        .collect();
    assert!(named.len() > 8, "{named:?}");
    let missing: Vec<&str> = named.into_iter().filter(|name| !exists_in_code(name)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}");
}

fn exists_in_code(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split("::").collect();
    let source = workspace_root().join("crates").join(parts[0]).join("src");
    let file = |parts: &[&str]| source.join(parts[1..].join("/")).with_extension("rs");
    if file(&parts).is_file() {
        return true;
    }
    let item = parts.pop().unwrap();
    let of_module = std::fs::read_to_string(file(&parts)).unwrap_or_default();
    ["fn", "struct", "enum", "const"]
        .iter()
        .any(|kind| of_module.contains(&format!("pub {kind} {item}")))
}

fn documents() -> BTreeMap<PathBuf, String> {
    let mut found = Vec::new();
    collect(workspace_root(), "md", &mut found);
    assert!(found.len() > 30, "too few documents found: {found:?}");
    found.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                collect(&path, extension, found);
            }
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
}

fn examples() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&workspace_root().join("examples"), "yaml", &mut found);
    assert!(found.len() > 3, "too few examples found: {found:?}");
    found
}

fn reference_pages() -> Vec<String> {
    let of_programs = PROGRAMS.iter().map(|program| format!("docs/reference/{program}.md"));
    let of_resources = ["swarm", "drone", "geofence", "parameterprofile", "mission", "operator"]
        .iter()
        .map(|name| format!("docs/reference/{name}.md"));
    of_programs.chain(of_resources).collect()
}

fn short(path: &Path) -> String {
    path.strip_prefix(workspace_root())
        .unwrap_or(path)
        .display()
        .to_string()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn yaml(path: &Path) -> Vec<Value> {
    yaml_text(&read(path))
}

fn yaml_text(text: &str) -> Vec<Value> {
    text.split("\n---\n")
        .map(|part| serde_saphyr::from_str(part).unwrap())
        .collect()
}

fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !fence && !inside
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Lines that end in a backslash are joined with the next.
fn code_blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let mut blocks = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        match block.take() {
            None if line.trim() == opening => block = Some(Vec::new()),
            None => {}
            Some(lines) if line.trim_start().starts_with("```") => {
                blocks.push(lines.join("\n").replace("\\\n", " "));
            }
            Some(mut lines) => {
                lines.push(line);
                block = Some(lines);
            }
        }
    }
    blocks
}

fn links(text: &str) -> Vec<String> {
    let code = Regex::new("`[^`]*`").unwrap();
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let text = prose(text);
    let text = code.replace_all(&text, "");
    let found = link.captures_iter(&text);
    found.map(|found| found.get(1).unwrap().as_str().to_owned()).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| slug(line.trim_start_matches('#').trim())).collect()
}

/// The anchor of a heading, as forges create it.
fn slug(heading: &str) -> String {
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    };
    heading.to_lowercase().chars().filter_map(letter).collect()
}

fn skein_calls(line: &str) -> Vec<(String, Vec<String>)> {
    let line = line.split(" #").next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    words
        .split(|word| ["|", "&&", ";"].contains(word))
        .filter_map(skein_call)
        .collect()
}

fn skein_call(words: &[&str]) -> Option<(String, Vec<String>)> {
    let before = words
        .iter()
        .take_while(|word| word.contains('=') || **word == "sudo")
        .count();
    let (program, args) = match words.get(before..)? {
        ["kubectl", "skein", args @ ..] => ("skein", args),
        ["cargo", "run", args @ ..] => {
            let dashes = args.iter().position(|word| *word == "--")?;
            ("skein", args.get(dashes + 1..)?)
        }
        [first, args @ ..] => (first.rsplit('/').next()?, args),
        [] => return None,
    };
    let args = args.iter().map(|&word| word.to_owned()).collect();
    PROGRAMS.contains(&program).then(|| (program.to_owned(), args))
}

fn options(help: &str) -> Vec<String> {
    let option = Regex::new(r"(?:^|[\s,\[<|])(--?[a-zA-Z][a-z0-9-]*)").unwrap();
    let found = help.lines().flat_map(|line| option.captures_iter(line));
    found.map(|found| found.get(1).unwrap().as_str().to_owned()).collect()
}

fn unknown_fields(schema: &Value, value: &Value, path: &str, unknown: &mut Vec<String>) {
    if schema["additionalProperties"].is_object() {
        return;
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match schema["properties"].get(name) {
            Some(field) => unknown_fields(field, inner, &path, unknown),
            None => unknown.push(path),
        }
    }
}

fn sentences(text: &str) -> Vec<String> {
    let text = prose(text);
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        let begins = line.is_empty() || line.starts_with(['|', '*', '-', '#', '>']);
        if begins {
            paragraphs.push(String::new());
        }
        if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push_str(line.trim_start_matches(['*', '-', '>', ' ']));
            paragraph.push(' ');
        }
    }
    let parts = paragraphs
        .iter()
        .flat_map(|paragraph| paragraph.split(['|', '\n']))
        .flat_map(|cell| cell.split(". "));
    parts
        .map(|part| part.trim().trim_end_matches('.').to_owned())
        .filter(|part| part.len() >= LONG)
        .collect()
}
