//! Geofences of a vehicle, compiled to the one fence that its autopilot stores.
//!
//! Owns: [`Wanted`], which of several count ([`Wanted::is_active`]), [`compile`], and whether a place lies where they allow flight
//! ([`outside`]).
//! Must not: know MAVLink or Kubernetes, or say that anything is in force: only what was read back from the autopilot is.
//!
//! All that select a vehicle hold together: inside every inclusion, outside every exclusion, below the lowest ceiling, above the highest
//! floor, with the sternest action. The compiled fence is never larger:
//!
//! * Inclusions are intersected into one shape, so it does not matter whether an autopilot combines several by "all" (PX4, ArduCopter) or
//!   "any" (ArduCopter with bit 1 of FENCE_OPTIONS). Of several parts only the one around home can be reached.
//! * A fence of too many vertices is simplified, always to less room (`simplify.rs`).
//! * Each stack measures a circle's radius on a sphere of its own, and gets the radius in that measure (`circle.rs`).
//!
//! What cannot be done exactly and safely is refused, with what to do. PX4 silently drops a shape with home on its wrong side; so home has
//! to be known, and [`HOME_MARGIN`] on the right side of everything.

mod circle;
mod region;
mod returning;
mod shape;
mod simplify;
mod way;

use model::rules::{Enforce, Fence, Outline, Shape, Side, WantedParameter};
use model::units::{AltitudeAboveHome, Meters, Wgs84};
use model::vehicle::Autopilot;
pub use returning::ReturnLimit;
pub use shape::{BadShape, depth};
pub use way::{RoomOutside, WayOutside, rest_outside, room_outside, way_outside};

/// Least distance of home from every edge, meters: at the edge a vehicle on the ground breaches by its position error alone. ArduCopter's
/// FENCE_MARGIN is 2 m.
pub const HOME_MARGIN: f64 = 5.0;

/// Least distance of a station from every edge, meters: FENCE_MARGIN, and a vehicle's sway.
pub const STATION_MARGIN: f64 = 3.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub name: String,
    /// The vehicle has to be inside all of them.
    pub include: Vec<Outline>,
    /// The vehicle has to be outside all of them.
    pub exclude: Vec<Outline>,
    pub ceiling: Option<AltitudeAboveHome>,
    /// Counts once the vehicle has climbed above.
    pub floor: Option<AltitudeAboveHome>,
    pub breach: Breach,
    /// When it holds; empty: always.
    pub windows: Vec<Window>,
    pub origin: Origin,
}

/// Source of a fence by which a vehicle's places are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    Geofence,
    /// The autopilot holds a smaller shape of it.
    Held,
    /// The autopilot keeps the Geofence of before until it has landed.
    Former,
    /// The autopilot keeps an unknown fence: no way is allowed that was not granted before.
    Unknown,
}

/// An autopilot's action at a breach, the mildest first. None stops motors in the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breach {
    Warn,
    Hold,
    #[default]
    Return,
    Land,
}

/// Seconds since 1970: from `from`, before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// `None`: it has begun.
    pub from: Option<i64>,
    /// `None`: it does not end.
    pub until: Option<i64>,
}

impl Wanted {
    /// `now`: seconds since 1970.
    pub fn is_active(&self, now: i64) -> bool {
        let within = |window: &Window| {
            window.from.is_none_or(|from| from <= now) && window.until.is_none_or(|until| now < until)
        };
        self.windows.is_empty() || self.windows.iter().any(within)
    }

    /// Whether it can be compiled for some vehicle.
    ///
    /// # Errors
    /// A fault that does not depend on the vehicle.
    pub fn check(&self) -> Result<(), NoFence> {
        heights(&[self])?;
        region::check(&[self])
    }

    /// As kept by an autopilot that has not landed since a change.
    pub fn former(&self) -> Self {
        Self {
            origin: Origin::Former,
            ..self.clone()
        }
    }

    /// Stands for an unknown fence that the autopilot of a vehicle in the air keeps.
    pub fn unknown() -> Self {
        Self {
            name: String::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            ceiling: None,
            floor: None,
            breach: Breach::default(),
            windows: Vec::new(),
            origin: Origin::Unknown,
        }
    }

    fn shapes(&self) -> impl Iterator<Item = (Side, usize, &Outline)> {
        let include = self
            .include
            .iter()
            .enumerate()
            .map(|(i, shape)| (Side::Inside, i, shape));
        let exclude = self
            .exclude
            .iter()
            .enumerate()
            .map(|(i, shape)| (Side::Outside, i, shape));
        include.chain(exclude)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// `None`: only altitudes, or nothing, are wanted, and the shapes on the autopilot stay.
    pub fence: Option<Fence>,
    /// The same with true circles, within those that the autopilot keeps, or around them for exclusions.
    pub kept: Vec<Shape>,
    pub parameters: Vec<WantedParameter>,
    /// Limit of the return altitude, where the autopilot would climb through the ceiling.
    pub returns: Option<ReturnLimit>,
    /// By how much the vehicle is kept from wanted places, as text.
    pub notes: Vec<String>,
}

impl Compiled {
    /// Its shapes as wanted ones, where they may be smaller than these: the autopilot would stop a vehicle between the two.
    pub fn narrower(&self, name: String) -> Option<Wanted> {
        let is_round = |shape: &Shape| matches!(shape.outline, Outline::Circle { .. });
        if self.notes.is_empty() && !self.kept.iter().any(is_round) {
            return None;
        }
        let of = |side: Side| {
            let shapes = self.kept.iter().filter(move |shape| shape.side == side);
            shapes.map(|shape| shape.outline.clone()).collect()
        };
        (!self.kept.is_empty()).then(|| Wanted {
            name,
            include: of(Side::Inside),
            exclude: of(Side::Outside),
            ceiling: None,
            floor: None,
            breach: Breach::default(),
            windows: Vec::new(),
            origin: Origin::Held,
        })
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoFence {
    #[error("Geofence {geofence}: {fault}")]
    Faulty { geofence: String, fault: String },
    #[error("Geofence {geofence}: spec.{list}[{index}]: {why}")]
    Shape {
        geofence: String,
        /// `include` or `exclude`.
        list: &'static str,
        /// From 0.
        index: usize,
        why: BadShape,
    },
    #[error(
        "the floor of {floor} m is not below the ceiling of {ceiling} m ({geofences}); lower spec.floorMeters or raise spec.ceilingMeters"
    )]
    Heights {
        floor: f64,
        ceiling: f64,
        geofences: String,
    },
    #[error(
        "Geofence {0}: a ceiling is from 10 to 3000 m above home and a floor from 1 to 1000 m; change spec.ceilingMeters or spec.floorMeters"
    )]
    NoHeight(String),
    #[error(
        "PX4 keeps no floor, and Geofence {0} has one; remove spec.floorMeters, or let the selector choose ArduPilot vehicles only"
    )]
    NoFloor(String),
    #[error(
        "the vehicle has not reported its home position yet, and autopilots leave out a fence that has home on its wrong side; wait until it has a position"
    )]
    NoHome,
    #[error(
        "the autopilot has not reported how high it climbs to return (RTL_RETURN_ALT), which has to be below the ceiling; wait until its agent has read that"
    )]
    NoReturnHeight,
    #[error(
        "home is not {HOME_MARGIN} m inside spec.include[{index}] of Geofence {geofence}: the autopilot would leave that out or not arm; move the vehicle, or widen the shape"
    )]
    HomeOutside {
        geofence: String,
        /// From 0.
        index: usize,
    },
    #[error(
        "home is not {HOME_MARGIN} m outside spec.exclude[{index}] of Geofence {geofence}: the autopilot would leave that out or not arm; move the vehicle, or make the shape smaller"
    )]
    HomeExcluded {
        geofence: String,
        /// From 0.
        index: usize,
    },
    /// Inside of all, but too near to the edge of the result.
    #[error(
        "after the fence was fitted to {autopilot}, home is not {HOME_MARGIN} m inside; move the vehicle, or give the Geofences fewer vertices ({geofences})"
    )]
    HomeAtEdge { autopilot: &'static str, geofences: String },
    #[error("the inclusions have no area in common ({0}); change them, or the labels by which they select the vehicle")]
    Empty(String),
    /// Autopilots take latitude and longitude as a plane.
    #[error(
        "the shapes lie on both sides of the 180th meridian, over which autopilots draw no fence ({0}); divide the Geofence there"
    )]
    Antimeridian(String),
    #[error("the shapes are farther than 20 km from their center ({0}); divide the Geofence by sites")]
    TooLarge(String),
    #[error(
        "the fence needs {needed} vertices and circles, and {autopilot} holds {holds}; fewer would move its edge by more than {} m. Give the Geofences fewer vertices ({geofences})",
        simplify::MAX_EDGE_MOVE_M
    )]
    TooMany {
        /// After simplification as far as possible.
        needed: usize,
        holds: usize,
        autopilot: &'static str,
        geofences: String,
    },
    #[error("what is left of the shapes is thinner than a centimeter in places ({0}); draw them with a clear distance")]
    TooFine(String),
}

impl NoFence {
    pub const fn waits(&self) -> bool {
        matches!(self, Self::NoHome | Self::NoReturnHeight)
    }
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    autopilot: &'static str,
    items: usize,
    vertices: usize,
    /// Bytes of storage: all, for a polygon, for each of its vertices, for a circle.
    bytes: Option<(usize, usize, usize, usize)>,
}

impl Limits {
    /// PX4: 64 items in dataman. ArduCopter: 70 items, and 560 bytes of storage with 5 for magic and end; a polygon takes 2 and 8 for each
    /// vertex, a circle 13 (AC_PolyFence_loader).
    const fn of(autopilot: Autopilot) -> Self {
        match autopilot {
            Autopilot::Px4 => Self {
                autopilot: "PX4",
                items: 64,
                vertices: 64,
                bytes: None,
            },
            Autopilot::ArduPilot => Self {
                autopilot: "ArduPilot",
                items: 70,
                vertices: 70,
                bytes: Some((555, 2, 8, 13)),
            },
        }
    }

    fn holds(&self, polygons: &[usize], circles: usize) -> bool {
        let vertices: usize = polygons.iter().sum();
        let bytes = self.bytes.is_none_or(|(all, polygon, vertex, circle)| {
            polygons.len() * polygon + vertices * vertex + circles * circle <= all
        });
        vertices + circles <= self.items && polygons.iter().all(|&n| n <= self.vertices) && bytes
    }
}

/// The one fence of a vehicle from all `wanted` now.
///
/// Home only decides whether there is one, or which part: a small move of home changes nothing.
///
/// # Errors
/// [`NoFence`]: why it cannot be exact and safe, and what to do.
pub fn compile(wanted: &[&Wanted], autopilot: Autopilot, home: Option<Wgs84>) -> Result<Compiled, NoFence> {
    compile_around(wanted, autopilot, home).0
}

/// Also the distance, meters, within which another home has the same result, if [`suits_home`] says so.
pub fn compile_around(
    wanted: &[&Wanted],
    autopilot: Autopilot,
    home: Option<Wgs84>,
) -> (Result<Compiled, NoFence>, f64) {
    let mut same = 0.0;
    let compiled = compile_shapes(wanted, autopilot, home, &mut same);
    if matches!(compiled, Err(NoFence::HomeAtEdge { .. })) {
        same = 0.0;
    }
    (compiled, same)
}

/// Whether a fence compiled for a home near by is the one for this home.
pub fn suits_home(compiled: &Result<Compiled, NoFence>, wanted: &[&Wanted], home: Wgs84) -> bool {
    let kept = compiled.as_ref().map(|compiled| &compiled.kept[..]).unwrap_or_default();
    region::home_is_allowed(wanted, home).is_ok() && region::keeps_home(kept, home)
}

fn compile_shapes(
    wanted: &[&Wanted],
    autopilot: Autopilot,
    home: Option<Wgs84>,
    same: &mut f64,
) -> Result<Compiled, NoFence> {
    let heights = heights(wanted)?;
    if let (Autopilot::Px4, Some((floor, _))) = (autopilot, heights.floor) {
        return Err(NoFence::NoFloor(floor.to_owned()));
    }
    let measure = circle::Measure::of(autopilot);
    let (fence, mut notes) = region::compile(wanted, Limits::of(autopilot), measure, home, same)?;
    let shapes = fence.iter().flat_map(|fence| &fence.shapes);
    let kept: Vec<Shape> = shapes.map(|shape| for_sure(shape, measure)).collect();
    notes.extend(rounder(wanted, &kept, autopilot));
    let breach = wanted.iter().map(|w| w.breach).max().unwrap_or_default();
    let parameters = match (fence.is_some(), &heights) {
        (
            false,
            Heights {
                ceiling: None,
                floor: None,
            },
        ) => Vec::new(),
        (shapes, heights) => parameters(autopilot, shapes, heights, breach),
    };
    let returns = heights
        .ceiling
        .and_then(|(geofence, ceiling)| ReturnLimit::below(geofence, ceiling, autopilot));
    Ok(Compiled {
        fence,
        kept,
        parameters,
        returns,
        notes,
    })
}

/// The shape that an autopilot of this `measure` keeps for sure.
fn for_sure(shape: &Shape, measure: circle::Measure) -> Shape {
    let outline = match &shape.outline {
        Outline::Circle { center, radius } => Outline::Circle {
            center: *center,
            radius: Meters(measure.true_radius(*center, radius.0, shape.side)),
        },
        polygon @ Outline::Polygon(_) => polygon.clone(),
    };
    Shape {
        side: shape.side,
        outline,
    }
}

/// Note about circles that the autopilot keeps smaller, or larger, than wanted.
fn rounder(wanted: &[&Wanted], kept: &[Shape], autopilot: Autopilot) -> Option<String> {
    let round = |shape: &Shape| match &shape.outline {
        Outline::Circle { center, radius } => Some((shape.side, *center, radius.0)),
        Outline::Polygon(_) => None,
    };
    let lost = kept.iter().filter_map(round).map(|(side, center, is)| {
        // Of several around one center the nearest counts.
        let all = wanted.iter().flat_map(|w| w.shapes());
        let lost = all.filter_map(|(of, _, outline)| match outline {
            Outline::Circle { center: at, radius } if of == side && shape::on_grid(*at) == center => {
                Some((radius.0 - is).abs())
            }
            Outline::Circle { .. } | Outline::Polygon(_) => None,
        });
        lost.fold(f64::INFINITY, f64::min)
    });
    let most = lost.filter(|lost| lost.is_finite()).fold(0.0, f64::max);
    (most >= 1.0).then(|| {
        format!(
            "{} measures circles on a sphere; the vehicle is kept up to {most:.1} m further from their edges",
            Limits::of(autopilot).autopilot
        )
    })
}

/// Resulting altitudes, meters above home, and the Geofences that set them.
struct Heights<'a> {
    ceiling: Option<(&'a str, f64)>,
    floor: Option<(&'a str, f64)>,
}

fn heights<'a>(wanted: &[&'a Wanted]) -> Result<Heights<'a>, NoFence> {
    let mut found = Heights {
        ceiling: None,
        floor: None,
    };
    for w in wanted {
        let is = |height: Option<AltitudeAboveHome>, low: f64, high: f64| {
            height.is_none_or(|height| (low..=high).contains(&height.0))
        };
        if !is(w.ceiling, 10.0, 3000.0) || !is(w.floor, 1.0, 1000.0) {
            return Err(NoFence::NoHeight(w.name.clone()));
        }
        if let Some(height) = w.ceiling
            && found.ceiling.is_none_or(|(_, lowest)| height.0 < lowest)
        {
            found.ceiling = Some((&w.name, height.0));
        }
        if let Some(height) = w.floor
            && found.floor.is_none_or(|(_, highest)| height.0 > highest)
        {
            found.floor = Some((&w.name, height.0));
        }
    }
    match (found.ceiling, found.floor) {
        (Some((above, ceiling)), Some((below, floor))) if floor >= ceiling => {
            let geofences = if above == below {
                above.to_owned()
            } else {
                format!("{below}, {above}")
            };
            Err(NoFence::Heights {
                floor,
                ceiling,
                geofences,
            })
        }
        _ => Ok(found),
    }
}

/// The parameters that make a fence count.
///
/// ArduCopter: FENCE_TYPE gets only wanted bits; its default would put a circle of 300 m and a ceiling of 100 m in force with any polygon.
/// The polygon bit is always set: with only altitudes wanted, a person's shapes stay in force, and without shapes it has no effect.
/// FENCE_OPTIONS is left alone: its union has no effect with one inclusion, and old firmware has no such parameter. PX4: a distance of 0 is
/// off, and one without a Geofence stays as a person has set it; GF_ACTION is never 4, which stops the motors.
fn parameters(autopilot: Autopilot, shapes: bool, heights: &Heights<'_>, breach: Breach) -> Vec<WantedParameter> {
    let mut parameters = Vec::new();
    let mut want = |name: &str, value: f64| {
        parameters.push(WantedParameter {
            name: name.to_owned(),
            value,
            enforce: Enforce::Apply,
            may_reboot: false,
            any_name: false,
        });
    };
    match autopilot {
        Autopilot::ArduPilot => {
            let action = match breach {
                Breach::Warn => 0.0,
                Breach::Return => 1.0,
                Breach::Land => 2.0,
                // "Brake or Land".
                Breach::Hold => 4.0,
            };
            want("FENCE_ACTION", action);
            let bit = |is: bool, value: f64| if is { value } else { 0.0 };
            let kinds = bit(heights.ceiling.is_some(), 1.0) + 4.0 + bit(heights.floor.is_some(), 8.0);
            if let Some((_, ceiling)) = heights.ceiling {
                want("FENCE_ALT_MAX", ceiling);
            }
            if let Some((_, floor)) = heights.floor {
                want("FENCE_ALT_MIN", floor);
            }
            want("FENCE_ENABLE", 1.0);
            want("FENCE_TYPE", kinds);
        }
        Autopilot::Px4 => {
            let action = match breach {
                Breach::Warn => 1.0,
                Breach::Hold => 2.0,
                Breach::Return => 3.0,
                Breach::Land => 5.0,
            };
            want("GF_ACTION", action);
            if shapes {
                want("GF_MAX_HOR_DIST", 0.0);
            }
            if let Some((_, ceiling)) = heights.ceiling {
                want("GF_MAX_VER_DIST", ceiling);
            }
        }
    }
    parameters
}

pub fn is_of_fence(name: &str) -> bool {
    name.starts_with("FENCE_") || name.starts_with("GF_")
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Outside {
    #[error("it is not {STATION_MARGIN} m inside spec.include[{index}] of Geofence {geofence}; move it inside")]
    Inclusion {
        geofence: String,
        /// From 0.
        index: usize,
    },
    #[error("it is not {STATION_MARGIN} m outside spec.exclude[{index}] of Geofence {geofence}; move it away")]
    Exclusion {
        geofence: String,
        /// From 0.
        index: usize,
    },
    /// Not inside the smaller shape that its autopilot holds.
    #[error(
        "it is not {STATION_MARGIN} m inside what its autopilot holds of Geofence {0}, which is smaller, as condition InForce says; move it, or \
         give the Geofence more room"
    )]
    Held(String),
    /// Not inside the former shape that its autopilot keeps until it has landed.
    #[error(
        "it is not {STATION_MARGIN} m inside Geofence {0} as it was before, which its autopilot keeps until it has landed; move it, or land \
         the vehicle"
    )]
    Former(String),
    #[error(
        "its Geofences were changed while it was in the air, and what its autopilot keeps until it has landed is not known; land the vehicle"
    )]
    Unknown,
    #[error(
        "it is {height:.1} m above home, and the ceiling of Geofence {geofence} is {ceiling} m; lower it to {STATION_MARGIN} m below"
    )]
    Ceiling {
        geofence: String,
        /// Meters above home.
        height: f64,
        /// Meters above home.
        ceiling: f64,
    },
    #[error(
        "it is {height:.1} m above home, and the floor of Geofence {geofence} is {floor} m; raise it to {STATION_MARGIN} m above"
    )]
    Floor {
        geofence: String,
        /// Meters above home.
        height: f64,
        /// Meters above home.
        floor: f64,
    },
}

/// Whether `wanted` allow a vehicle `at`, `height` above home. `None` of either is not judged.
///
/// # Errors
/// The first that does not, and what to do.
pub fn outside(wanted: &[&Wanted], at: Option<Wgs84>, height: Option<AltitudeAboveHome>) -> Result<(), Outside> {
    for w in wanted {
        outside_one(w, at, height).map_err(|why| match w.origin {
            Origin::Geofence | Origin::Unknown => why,
            Origin::Held => Outside::Held(w.name.clone()),
            Origin::Former => Outside::Former(w.name.clone()),
        })?;
    }
    Ok(())
}

fn outside_one(w: &Wanted, at: Option<Wgs84>, height: Option<AltitudeAboveHome>) -> Result<(), Outside> {
    let geofence = || w.name.clone();
    for (side, index, outline) in w.shapes() {
        let Some(at) = at else { break };
        let depth = shape::depth(outline, at);
        match side {
            Side::Inside if depth < STATION_MARGIN => {
                return Err(Outside::Inclusion {
                    geofence: geofence(),
                    index,
                });
            }
            Side::Outside if depth > -STATION_MARGIN => {
                return Err(Outside::Exclusion {
                    geofence: geofence(),
                    index,
                });
            }
            Side::Inside | Side::Outside => {}
        }
    }
    let Some(AltitudeAboveHome(height)) = height else {
        return Ok(());
    };
    if let Some(AltitudeAboveHome(ceiling)) = w.ceiling
        && height > ceiling - STATION_MARGIN
    {
        return Err(Outside::Ceiling {
            geofence: geofence(),
            height,
            ceiling,
        });
    }
    if let Some(AltitudeAboveHome(floor)) = w.floor
        && height < floor + STATION_MARGIN
    {
        return Err(Outside::Floor {
            geofence: geofence(),
            height,
            floor,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
