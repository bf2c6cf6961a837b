//! The objects that files become, each judged as by an API server.

use super::{MAX_APPLIED_BYTES, wants};
use crate::args::import::{AreaPurpose, ImportArgs, Kind, Stack};
use crate::failure::Failure;
use crate::mission::manifest::{Judge, failed};
use crate::mission::{MAX_NAME_LETTERS, preview};
use crds::{Geofence, Mission, ParameterProfile};
use fleet::planning::geofence::Wanted;
use model::rules::{Outline, Side};
use model::units::Wgs84;
use model::vehicle::Autopilot;
use plan_files::area::{self, Area, AreaFile, Purpose, RawArea, RawPolygon};
use plan_files::check::{self, Problem};
use plan_files::fence::FenceFile;
use plan_files::parameters::{self, ParameterFile};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Objects {
    pub documents: Vec<Value>,
    pub notes: Vec<String>,
    /// Areas of which nobody has said what they are.
    pub undecided: usize,
    pub judge: Judge,
}

pub(super) fn title(document: &Value) -> String {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", part(&document["kind"]), part(&document["metadata"]["name"]))
}

const MAX_PROBLEMS: usize = 12;

/// Shapes of one Geofence on each side, by its schema.
const MAX_SHAPES: usize = 32;

pub(super) fn lines<T: std::fmt::Display>(problems: &[T]) -> Failure {
    let mut lines: Vec<String> = problems.iter().take(MAX_PROBLEMS).map(ToString::to_string).collect();
    if problems.len() > MAX_PROBLEMS {
        lines.push(format!("and {} more like these", problems.len() - MAX_PROBLEMS));
    }
    Failure::Failed(lines.join("\n"))
}

pub(super) fn refused(problems: &[Problem]) -> Failure {
    Failure::Failed(check::summary(problems).join("\n"))
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn points(places: &[Wgs84]) -> Value {
    let point = |at: &Wgs84| json!({"latitudeDegrees": at.latitude_deg, "longitudeDegrees": at.longitude_deg});
    places.iter().map(point).collect()
}

fn selector(args: &ImportArgs) -> Value {
    if args.vehicles.is_empty() {
        return json!({});
    }
    let labels: BTreeMap<&str, &str> = args
        .vehicles
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    json!({ "matchLabels": labels })
}

/// `name` with `suffix`; one that is not the person's own is cut to what a name may have.
pub(super) fn suffixed(name: &str, suffix: &str, args: &ImportArgs) -> String {
    let most = MAX_NAME_LETTERS.saturating_sub(suffix.len());
    let name = match name.get(..most) {
        Some(cut) if args.name.is_none() => cut.trim_end_matches('-'),
        _ => name,
    };
    format!("{name}{suffix}")
}

impl Objects {
    /// `kind`, or with a number behind it where objects have such names already.
    pub fn free_name(&self, kind: &str) -> String {
        let is_taken = |name: &str| {
            self.documents.iter().any(|document| {
                let other = document["metadata"]["name"].as_str().unwrap_or_default();
                let rest = other.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
        };
        let numbered = (2..=self.documents.len() + 2).map(|number| format!("{kind}-{number}"));
        let mut names = std::iter::once(kind.to_owned()).chain(numbered);
        names.find(|name| !is_taken(name)).unwrap_or_else(|| kind.to_owned())
    }

    /// Reports an object that is too large for `kubectl apply`.
    pub fn push(&mut self, document: Value) {
        let size = document.to_string().len();
        if size > MAX_APPLIED_BYTES {
            self.notes.push(format!(
                "{} has {} KiB, too much for the annotation of kubectl apply (256 KiB); apply it with kubectl apply --server-side",
                title(&document),
                size / 1024
            ));
        }
        if let Some(field) = preview::nowhere(&document["spec"], "spec") {
            self.notes
                .push(preview::doubt(&format!("{field} of {}", title(&document))));
        }
        self.documents.push(document);
    }

    fn say_who(&mut self, what: &str, args: &ImportArgs) {
        if args.vehicles.is_empty() {
            self.notes.push(format!(
                "{what} holds for all Vehicles; choose some with --vehicles KEY=VALUE"
            ));
        }
    }

    pub fn fence(&mut self, name: &str, fence: &FenceFile, args: &ImportArgs) -> Result<(), Failure> {
        let (mut include, mut exclude) = (Vec::new(), Vec::new());
        let mut wrong = Vec::new();
        for (index, shape) in fence.shapes.iter().enumerate() {
            let (list, purpose) = match shape.side {
                Side::Inside => (&mut include, Purpose::Inclusion),
                Side::Outside => (&mut exclude, Purpose::Exclusion),
            };
            let Outline::Polygon(corners) = &shape.outline else {
                list.push(shape.outline.clone());
                continue;
            };
            let polygons = vec![RawPolygon {
                outer: corners.clone(),
                holes: Vec::new(),
            }];
            let raw = AreaFile {
                areas: vec![RawArea {
                    name: Some(format!("fence polygon {}", index + 1)),
                    polygons,
                }],
                not_taken: Vec::new(),
            };
            match area::prepare(&raw, purpose) {
                Ok(areas) => {
                    for area in areas {
                        self.notes.extend(area.notes);
                        list.push(Outline::Polygon(area.outer));
                    }
                }
                Err(errors) => wrong.extend(errors),
            }
        }
        if !wrong.is_empty() {
            return Err(lines(&wrong));
        }
        if fence.has_return_point {
            self.notes.push(
                "left out: the fence's return point: Skein brings vehicles home to where they took off".to_owned(),
            );
        }
        self.geofence(name, include, exclude, args)
    }

    fn geofence(
        &mut self,
        name: &str,
        include: Vec<Outline>,
        exclude: Vec<Outline>,
        args: &ImportArgs,
    ) -> Result<(), Failure> {
        for (side, shapes) in [("inside", &include), ("outside", &exclude)] {
            if shapes.len() > MAX_SHAPES {
                return Err(Failure::Failed(format!(
                    "Geofence {name} would have {} shapes to stay {side} of, and one Geofence has at most {MAX_SHAPES}; divide them into \
                     several files",
                    shapes.len()
                )));
            }
        }
        let shape = |outline: &Outline| match outline {
            Outline::Polygon(corners) => json!({ "polygon": points(corners) }),
            Outline::Circle { center, radius } => {
                let center = json!({"latitudeDegrees": center.latitude_deg, "longitudeDegrees": center.longitude_deg});
                json!({"circle": {"center": center, "radiusMeters": radius.0}})
            }
        };
        let mut spec = json!({ "vehicleSelector": selector(args) });
        for (list, shapes) in [("include", &include), ("exclude", &exclude)] {
            if !shapes.is_empty() {
                spec[list] = shapes.iter().map(shape).collect();
            }
        }
        let document = object("Geofence", name, &spec);
        self.judge.judged::<Geofence>(&document)?;
        let wanted = Wanted {
            name: name.to_owned(),
            include,
            exclude,
            ceiling: None,
            floor: None,
            breach: fleet::planning::geofence::Breach::default(),
            windows: Vec::new(),
            origin: fleet::planning::geofence::Origin::Geofence,
        };
        wanted.check().map_err(|error| failed(&error))?;
        self.push(document);
        self.say_who(&format!("Geofence {name}"), args);
        Ok(())
    }

    pub fn areas(&mut self, name: &str, file: &AreaFile, args: &ImportArgs) -> Result<(), Failure> {
        let purpose = match args.purpose {
            Some(AreaPurpose::Survey) | None => Purpose::Survey,
            Some(AreaPurpose::Inclusion) => Purpose::Inclusion,
            Some(AreaPurpose::Exclusion) => Purpose::Exclusion,
        };
        let areas = area::prepare(file, purpose).map_err(|errors| lines(&errors))?;
        for what in &file.not_taken {
            self.notes.push(format!("left out: {what}: only polygons are areas"));
        }
        match args.purpose {
            None if args.check => {
                self.undecided += areas.len();
                for area in &areas {
                    self.notes.push(describe(area));
                    self.notes.extend(area.notes.clone());
                }
                Ok(())
            }
            None => Err(Failure::Usage(format!(
                "the file has {}; say what that is with --as survey --altitude METERS --spacing METERS, --as inclusion (vehicles stay inside) or --as exclusion (vehicles stay outside)",
                areas.iter().map(describe).collect::<Vec<_>>().join(", ")
            ))),
            Some(_) => {
                for area in &areas {
                    self.notes.extend(area.notes.clone());
                }
                match purpose {
                    Purpose::Survey => self.surveys(name, &areas, args),
                    Purpose::Inclusion | Purpose::Exclusion => self.fenced(name, areas, purpose, args),
                }
            }
        }
    }

    fn surveys(&mut self, name: &str, areas: &[Area], args: &ImportArgs) -> Result<(), Failure> {
        if !wants(args, Kind::Mission) {
            return Ok(());
        }
        let (Some(altitude), Some(spacing)) = (args.altitude, args.spacing) else {
            return Err(Failure::Usage(
                "a map says neither the altitude nor the distance of the lines of a survey; give --altitude METERS and --spacing METERS".to_owned(),
            ));
        };
        let of = |number: usize| suffixed(name, &format!("-{}", number + 1), args);
        for (number, area) in areas.iter().enumerate() {
            let mut polygon = json!({ "polygon": points(&area.outer) });
            if !area.holes.is_empty() {
                polygon["holes"] = area
                    .holes
                    .iter()
                    .map(|hole| json!({ "polygon": points(hole) }))
                    .collect();
            }
            let name = if areas.len() > 1 { of(number) } else { name.to_owned() };
            let survey = json!({"area": polygon, "altitudeMeters": altitude, "lineSpacingMeters": spacing});
            let document = object("Mission", &name, &json!({ "survey": survey }));
            let mission: Mission = self.judge.judged(&document)?;
            if let Some(survey) = &mission.spec.survey {
                survey.to_survey().map_err(|error| failed(&error))?;
            }
            if areas.len() > 1 {
                self.notes.push(format!("Mission {name} is {}", describe(area)));
            }
            let is_equal = |other: &Area| (&other.outer, &other.holes) == (&area.outer, &area.holes);
            if let Some(first) = areas.iter().take(number).position(is_equal) {
                self.notes.push(format!(
                    "Mission {name} has the same area as Mission {}, which would be flown twice; remove one of them",
                    of(first)
                ));
            }
            self.push(document);
        }
        Ok(())
    }

    fn fenced(&mut self, name: &str, areas: Vec<Area>, purpose: Purpose, args: &ImportArgs) -> Result<(), Failure> {
        if !wants(args, Kind::Geofence) {
            return Ok(());
        }
        if purpose == Purpose::Exclusion {
            let exclude = areas.into_iter().map(|area| Outline::Polygon(area.outer)).collect();
            return self.geofence(name, Vec::new(), exclude, args);
        }
        let [area] = areas.as_slice() else {
            return Err(Failure::Failed(format!(
                "the file has {} areas, and a vehicle has to be inside of all inclusions that hold for it; import a file with one of them, or draw one area around them",
                areas.len()
            )));
        };
        let exclude = area.holes.iter().cloned().map(Outline::Polygon).collect();
        self.geofence(name, vec![Outline::Polygon(area.outer.clone())], exclude, args)
    }

    pub fn parameters(&mut self, name: &str, file: &ParameterFile, args: &ImportArgs) -> Result<(), Failure> {
        let autopilot = args.autopilot.map(|stack| match stack {
            Stack::Ardupilot => Autopilot::ArduPilot,
            Stack::Px4 => Autopilot::Px4,
        });
        if !wants(args, Kind::Parameterprofile) {
            self.notes.push(format!("left out: parameters ({})", file.values.len()));
            return Ok(());
        }
        let profile = parameters::profile(file, autopilot, &args.only).map_err(|error| failed(&error))?;
        for (why, names) in &profile.left_out {
            self.notes
                .push(format!("left out: {} ({}): {why}", names.join(", "), names.len()));
        }
        for renamed in &profile.renamed {
            self.notes.push(format!(
                "{renamed}: an autopilot that does not have the name refuses it"
            ));
        }
        let key = match profile.autopilot {
            Autopilot::ArduPilot => "ardupilot",
            Autopilot::Px4 => "px4",
        };
        let document = object(
            "ParameterProfile",
            name,
            &json!({"vehicleSelector": selector(args), key: profile.values}),
        );
        self.judge.judged::<ParameterProfile>(&document)?;
        let (mut ardupilot, mut px4) = (BTreeMap::new(), BTreeMap::new());
        match profile.autopilot {
            Autopilot::ArduPilot => ardupilot = profile.values,
            Autopilot::Px4 => px4 = profile.values,
        }
        let wanted = parameters_profile(name, ardupilot, px4);
        wanted.check().map_err(|error| failed(&error))?;
        self.push(document);
        self.say_who(&format!("ParameterProfile {name}"), args);
        self.notes.push(format!(
            "ParameterProfile {name} reports other values and sets none; set spec.enforce to Apply to have them set"
        ));
        Ok(())
    }
}

fn parameters_profile(
    name: &str,
    ardupilot: BTreeMap<String, String>,
    px4: BTreeMap<String, String>,
) -> fleet::planning::parameters::Profile {
    fleet::planning::parameters::Profile {
        name: name.to_owned(),
        ardupilot,
        px4,
        ..fleet::planning::parameters::Profile::default()
    }
}

fn describe(area: &Area) -> String {
    let name = area
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!("{name:?}, "));
    let size = if area.square_meters < 10_000.0 {
        format!("{:.0} m²", area.square_meters)
    } else {
        format!("{:.2} ha", area.square_meters / 10_000.0)
    };
    format!(
        "an area ({name}{size}, {} corners, {} holes)",
        area.corners(),
        area.holes.len()
    )
}
