//! The rows of Missions.

use super::{Cell, Column, Row, RowKey, Source, age_of, column, count, number, plain, seconds_since, toned};
use crate::mission::state;
use crate::table::Tone;
use crate::vehicle::{Vehicle, printable};
use crds::Mission;
use kube::ResourceExt;
use proto::v1;

pub(super) const COLUMNS: &[Column] = &[
    column("NAMESPACE", 'S', 3),
    column("MISSION", 'N', 0),
    column("STATE", 'P', 0),
    column("DONE", 'D', 0),
    column("VEHICLES", 'V', 0),
    column("LEFT", 'L', 4),
    column("COMPLETED", 'C', 6),
    column("FAILURES", 'F', 5),
    column("AGE", 'A', 7),
];

impl Source<'_> {
    pub(super) fn missions(&self) -> Vec<Row> {
        let missions = self.objects.missions.value();
        let missions = missions.map(|list| list.as_slice()).unwrap_or_default();
        // A filter by Swarm or labels excludes Missions.
        let wanted = |mission: &&Mission| {
            let namespace = mission.namespace().unwrap_or_default();
            self.filter.namespace.as_ref().is_none_or(|only| *only == namespace)
                && self.filter.swarm.is_none()
                && self.filter.selector.is_none()
        };
        missions
            .iter()
            .filter(wanted)
            .map(|mission| self.mission(mission))
            .collect()
    }

    fn mission(&self, mission: &Mission) -> Row {
        let status = mission.status.clone().unwrap_or_default();
        let (namespace, name) = (mission.namespace().unwrap_or_default(), mission.name_any());
        let (state, condition) = state(&status);
        // Estimates are stale once the Mission has ended.
        let over = matches!(state, "Complete" | "Failed" | "Stalled");
        let tone = match state {
            "Complete" => Tone::Good,
            "Failed" | "Stalled" => Tone::Bad,
            "Suspended" => Tone::Waiting,
            _ => Tone::Plain,
        };
        let done = status.done.as_deref().map(printable);
        let percent = done.as_deref().and_then(|done| done.trim_end_matches('%').parse().ok());
        let end = status.estimated_completion_time.as_ref().filter(|_| !over);
        let left = end.map(|at| at.0.duration_since(self.now.utc).as_secs_f64().max(0.0));
        let created = mission.metadata.creation_timestamp.as_ref();
        let age = created.map(|at| seconds_since(self.now, at.0));
        let drones: Vec<(String, String)> = status
            .parts
            .iter()
            .map(|part| (namespace.clone(), printable(&part.drone)))
            .collect();
        let vehicles = if over {
            self.in_the_air(&drones)
        } else {
            status.vehicles.into()
        };
        Row {
            cells: vec![
                plain(namespace.clone()),
                plain(name.clone()),
                toned(state, tone),
                Cell {
                    text: done.unwrap_or_else(|| "-".to_owned()),
                    ..number(percent, |_| String::new())
                },
                count(Some(vehicles)),
                number(left, age_of),
                Cell {
                    text: format!("{}/{}", status.completed, mission.spec.completions),
                    ..count(Some(status.completed.into()))
                },
                Cell {
                    tone: if status.failures > 0 {
                        Tone::Waiting
                    } else {
                        Tone::Plain
                    },
                    ..count(Some(status.failures.into()))
                },
                number(age, age_of),
            ],
            message: match condition {
                Some(condition) => printable(&condition.message),
                None => "the coordinator has not said anything of it yet".to_owned(),
            },
            drones,
            key: RowKey::Mission(namespace, name),
        }
    }

    fn in_the_air(&self, drones: &[(String, String)]) -> i64 {
        let flies = |vehicle: &&v1::Vehicle| {
            let is_it = |(namespace, name): &(String, String)| {
                vehicle.drone_namespace == *namespace && vehicle.drone_name == *name
            };
            drones.iter().any(is_it) && Vehicle::from((*vehicle).clone()).flying == Some(true)
        };
        i64::try_from(self.fleet.vehicles.iter().filter(flies).count()).unwrap_or(i64::MAX)
    }
}
