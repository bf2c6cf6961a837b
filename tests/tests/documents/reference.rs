//! The generated pages of `docs/reference`: the fields of the CRDs, and each program's own help.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use crds::kinds::ALL;
use serde_json::Value;
use testkit::control_plane::workspace_root;
use testkit::launch::workspace_binary;

const PATIENCE: Duration = Duration::from_secs(30);

const AGAIN: &str = "by `cargo xtask generate`; do not edit";

/// Errors: a CRD cannot be read, or a program is not built or prints no help.
pub fn pages() -> anyhow::Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for kind in ALL {
        let name = kind.plural.strip_suffix('s').unwrap_or(kind.plural);
        pages.insert(
            format!("docs/reference/{name}.md"),
            resource(&format!("crds/{}.yaml", kind.plural))?,
        );
    }
    for program in ["skein", "skein-agent", "skein-coordinator"] {
        pages.insert(format!("docs/reference/{program}.md"), program_page(program)?);
    }
    Ok(pages)
}

fn resource(path: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(workspace_root().join(path)).with_context(|| format!("cannot read {path}"))?;
    let crd: Value = serde_saphyr::from_str(&text).with_context(|| format!("{path} is not YAML"))?;
    let names = &crd["spec"]["names"];
    let version = &crd["spec"]["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut page = format!(
        "# {kind}\n\n<!-- Generated from {path} {AGAIN}. -->\n\n{about}\n\n`apiVersion: {group}/{name}`, `kind: {kind}`, short name `{short}`, in {place}.\n",
        kind = text_of(&names["kind"]),
        about = cell(&schema["description"]),
        group = text_of(&crd["spec"]["group"]),
        name = text_of(&version["name"]),
        short = text_of(&names["shortNames"][0]),
        place = if crd["spec"]["scope"] == "Namespaced" {
            "a namespace"
        } else {
            "no namespace"
        },
    );
    let mut rules = Vec::new();
    collect_rules(schema, &mut rules);
    for part in ["spec", "status"] {
        let root = &schema["properties"][part];
        let heading = if part == "spec" { "Spec" } else { "Status" };
        write!(
            page,
            "\n## {heading}\n\n{}\n\n| field | type | default | meaning |\n|---|---|---|---|\n",
            cell(&root["description"])
        )?;
        fields(root, "", &mut page, &mut rules)?;
    }
    page.push_str("\n## Rules\n\nThe API server refuses an object that breaks one of these:\n\n");
    for rule in rules {
        writeln!(page, "* {rule}")?;
    }
    page.push_str("\n## Columns of `kubectl get`\n\n| column | shows |\n|---|---|\n");
    for column in version["additionalPrinterColumns"].as_array().into_iter().flatten() {
        let wide = if column["priority"] == 1 {
            " (with `-o wide`)"
        } else {
            ""
        };
        let about = match column["description"].as_str() {
            Some(_) => cell(&column["description"]),
            None => "Since when the object is there.".to_owned(),
        };
        writeln!(page, "| {} | {about}{wide} |", text_of(&column["name"]))?;
    }
    Ok(page)
}

fn fields(schema: &Value, path: &str, page: &mut String, rules: &mut Vec<String>) -> anyhow::Result<()> {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let default = match &field["default"] {
            Value::Null | Value::Object(_) | Value::Array(_) => String::new(),
            Value::String(word) => format!("`{word}`"),
            value => format!("`{value}`"),
        };
        writeln!(
            page,
            "| `{path}` | {} | {default} | {} |",
            kind(field),
            cell(&field["description"])
        )?;
        collect_rules(field, rules);
        // Conditions are those of Kubernetes, which its own documents describe.
        if name == "conditions" {
            continue;
        }
        fields(field, &path, page, rules)?;
        fields(&field["items"], &format!("{path}[]"), page, rules)?;
    }
    Ok(())
}

fn kind(field: &Value) -> String {
    if let Some(words) = field["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", text_of(word))).collect();
        return words.join(", ");
    }
    match text_of(&field["type"]).as_str() {
        "array" => format!("list of {}", text_of(&field["items"]["type"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("map of {}", text_of(&field["additionalProperties"]["type"]))
        }
        other => other.to_owned(),
    }
}

fn collect_rules(schema: &Value, rules: &mut Vec<String>) {
    let all = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.extend(all.map(|rule| cell(&rule["message"])));
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cell(value: &Value) -> String {
    let words: Vec<&str> = value.as_str().unwrap_or_default().split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

fn program_page(program: &str) -> anyhow::Result<String> {
    let main = help(program, &[])?;
    let common: BTreeSet<String> = blocks(&main).into_iter().collect();
    let mut page = format!(
        "# {program}\n\n<!-- Generated from `{program} --help` {AGAIN}. -->\n\n```text\n{}\n```\n",
        main.trim_end()
    );
    for command in commands(&main) {
        let own = help(program, &[command.as_str()])?;
        let own: Vec<String> = blocks(&own)
            .into_iter()
            .filter(|block| !common.contains(block))
            .collect();
        write!(page, "\n## {program} {command}\n\n```text\n{}\n```\n", own.join("\n\n"))?;
        for inner in commands(&help(program, &[command.as_str()])?) {
            let text = help(program, &[command.as_str(), inner.as_str()])?;
            write!(
                page,
                "\n### {program} {command} {inner}\n\n```text\n{}\n```\n",
                text.trim_end()
            )?;
        }
    }
    if page.contains("\n## ") {
        page = page.replacen(
            "-->\n",
            "-->\n\nEach command has the options of its own section and those under \"Which coordinator\" here, where it asks one.\n",
            1,
        );
    }
    Ok(page)
}

/// Errors: it is not built, or fails.
pub fn help(program: &str, command: &[&str]) -> anyhow::Result<String> {
    let mut call = Command::new(workspace_binary(program)?);
    call.args(command).arg("--help").env_clear();
    let output = testkit::run::output(call, None, PATIENCE)?;
    ensure!(
        output.status.success(),
        "{program} {command:?} --help: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

pub fn commands(help: &str) -> Vec<String> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap_or_default();
    let lines = list
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn blocks(help: &str) -> Vec<String> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut before = "";
    for line in help.lines() {
        let inner = line.trim_start();
        let begins = match line.len() - inner.len() {
            0 => before.is_empty() && !line.is_empty(),
            1..=6 => inner.starts_with(['-', '<', '[']),
            _ => false,
        };
        before = line;
        match blocks.last_mut() {
            Some(block) if !begins => block.push(line),
            _ => blocks.push(vec![line]),
        }
    }
    let joined = blocks.into_iter().map(|lines| lines.join("\n").trim_end().to_owned());
    joined.collect()
}
