//! Each file of `examples/`, applied to a ground station with simulated vehicles: the wire shows that the requested
//! number flies, or a status says why not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;
use skein_tests::field::{Field, PATIENCE};
use testkit::control_plane::workspace_root;
use testkit::wait_for;

const VEHICLES: [&str; 3] = ["alpha", "bravo", "charlie"];

struct StaysDown {
    file: &'static str,
    shown: &'static str,
    words: &'static str,
}

const MISSION: &str = "mission.yaml";

const RULES: &str = "geofence.yaml";

const OPERATOR: &str = "operator.yaml";

const STAY_DOWN: [StaysDown; 2] = [
    StaysDown {
        file: "bench.yaml",
        shown: "/status/phase",
        words: "Grounded",
    },
    // The simulated autopilots have their failsafes off by default, as real ones do.
    StaysDown {
        file: "strict.yaml",
        shown: "/status/preflightWarnings/0",
        words: "set it to",
    },
];

#[test]
fn each_example_flies_what_it_asks_for() -> anyhow::Result<()> {
    let mut field = Field::with(&VEHICLES, "mixed")?;
    field.start_up(&VEHICLES)?;
    for vehicle in VEHICLES {
        field.wait_readiness(vehicle, "True", "AgentConnected")?;
    }
    field.kubectl().run(["label", "node", "alpha", "bravo", "site=north"])?;
    field.kubectl().run(["label", "node", "charlie", "site=south"])?;
    let examples = examples()?;
    ensure!(examples.len() > STAY_DOWN.len(), "too few examples: {examples:?}");
    for example in &examples {
        let name = example.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let done = match STAY_DOWN.iter().find(|stays| stays.file == name) {
            Some(stays) => stays_down(&field, example, stays),
            None if name == RULES => rules(&field, example),
            None if name == MISSION => completes(&field, example),
            None if name == OPERATOR => operator(&field, example),
            None => flies(&field, example),
        };
        done.map_err(|error| field.explain(error)).context(name)?;
    }
    field.end_up().map(drop)
}

fn flies(field: &Field, example: &Path) -> anyhow::Result<()> {
    apply(field, example)?;
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    let mut wanted = 0;
    for resource in resources(example)? {
        let spec = &resource["spec"];
        wanted += spec["replicas"].as_u64().unwrap_or(1);
        let kind = resource["kind"].as_str().unwrap_or_default().to_lowercase();
        let named = format!("{kind}/{}", resource["metadata"]["name"].as_str().unwrap_or_default());
        field
            .kubectl()
            .run(["wait", "--for=condition=Ready", &named, &timeout])?;
    }
    wait_for(format!("{wanted} in the air"), PATIENCE, || {
        let flying = VEHICLES.iter().filter(|vehicle| field.wire(vehicle).said().in_air());
        let flying = u64::try_from(flying.count())?;
        ensure!(flying == wanted, "{flying} fly");
        Ok(())
    })?;
    delete(field, example)
}

fn completes(field: &Field, example: &Path) -> anyhow::Result<()> {
    let arms = || VEHICLES.iter().map(|vehicle| field.wire(vehicle).arms()).sum::<usize>();
    let before = arms();
    apply(field, example)?;
    for resource in resources(example)? {
        let kind = resource["kind"].as_str().unwrap_or_default().to_lowercase();
        let named = format!("{kind}/{}", resource["metadata"]["name"].as_str().unwrap_or_default());
        let timeout = format!("--timeout={}s", (2 * PATIENCE).as_secs());
        let kubectl = field.kubectl();
        kubectl.run(["wait", "--for=condition=Complete", &named, &timeout])?;
        let object = kubectl.json(["get", &named])?;
        ensure!(
            object["status"]["done"] == "100%" && object["status"]["failures"] == 0,
            "{object}"
        );
    }
    ensure!(arms() >= before + 2, "two vehicles share it");
    field.wait_in_air(&[])?;
    delete(field, example)
}

fn stays_down(field: &Field, example: &Path, stays: &StaysDown) -> anyhow::Result<()> {
    let arms = || VEHICLES.iter().map(|vehicle| field.wire(vehicle).arms()).sum::<usize>();
    let before = arms();
    apply(field, example)?;
    wait_for(format!("a Drone to say {}", stays.words), PATIENCE, || {
        let drones = field.read("namespaces/default/drones")?;
        let mut all = drones["items"].as_array().into_iter().flatten();
        let says_so = |drone: &Value| {
            let said = drone.pointer(stays.shown).and_then(Value::as_str);
            said.is_some_and(|said| said.contains(stays.words))
        };
        ensure!(all.any(says_so), "{drones}");
        Ok(())
    })?;
    delete(field, example)?;
    ensure!(arms() == before, "a vehicle was armed");
    Ok(())
}

fn rules(field: &Field, example: &Path) -> anyhow::Result<()> {
    apply(field, example)?;
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    for resource in resources(example)? {
        let kind = resource["kind"].as_str().unwrap_or_default().to_lowercase();
        let named = format!("{kind}/{}", resource["metadata"]["name"].as_str().unwrap_or_default());
        let kubectl = field.kubectl();
        kubectl.run(["wait", "--for=condition=Compiled", &named, &timeout])?;
        kubectl.run(["wait", "--for=jsonpath={.status.selected}=2", &named, &timeout])?;
    }
    delete(field, example)
}

fn operator(field: &Field, example: &Path) -> anyhow::Result<()> {
    apply(field, example)?;
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    let kubectl = field.kubectl();
    kubectl.run(["wait", "--for=condition=Sent", "operator/north", &timeout])?;
    kubectl.run(["wait", "--for=jsonpath={.status.sent}=2", "operator/north", &timeout])?;
    let sent = |vehicle: &str| !field.wire(vehicle).operator_sent().is_empty();
    ensure!(
        VEHICLES.map(sent) == [true, true, false],
        "not only those of site north were sent it"
    );
    delete(field, example)
}

fn apply(field: &Field, example: &Path) -> anyhow::Result<()> {
    let path = example.display().to_string();
    field.kubectl().run(["apply", "-f", &path]).map(drop)
}

fn delete(field: &Field, example: &Path) -> anyhow::Result<()> {
    let path = example.display().to_string();
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    field.kubectl().run(["delete", "-f", &path, &timeout])?;
    field.wait_in_air(&[])
}

fn examples() -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(workspace_root().join("examples"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn resources(example: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(example)?;
    let parts = text.split("\n---\n");
    parts
        .map(|part| serde_saphyr::from_str(part).with_context(|| format!("{} is not YAML", example.display())))
        .collect()
}
