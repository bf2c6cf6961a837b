//! File of scripted faults, and the key files that it names.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::cli::VehiclePlan;
use crate::faults::{Key, Script};

/// Key files are relative to it.
pub(super) fn read(path: Option<&Path>) -> anyhow::Result<Script> {
    let Some(path) = path else {
        return Ok(Script::default());
    };
    let text = fs::read_to_string(path)
        .with_context(|| format!("--faults: cannot read {}; write the path of a file", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let key = |file: &str| {
        let contents = fs::read(folder.join(file)).map_err(|error| error.to_string())?;
        Key::from_contents(&contents).map_err(|error| error.to_string())
    };
    Script::parse(&text, &key).with_context(|| format!("--faults {}", path.display()))
}

pub(super) fn check_names(script: &Script, vehicles: &[VehiclePlan]) -> anyhow::Result<()> {
    for name in script.lines.iter().filter_map(|line| line.vehicle.as_deref()) {
        anyhow::ensure!(
            vehicles.iter().any(|vehicle| vehicle.name == name),
            "the faults name a vehicle `{name}` that does not exist; vehicles are {}",
            vehicles
                .iter()
                .map(|vehicle| vehicle.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    Ok(())
}
