//! The airspace of all sites: which vehicle may fly where, kept by the leader.

use crate::cluster::world::uid;
use crate::controllers::node_rules::NodeRules;
use crds::Drone;
use crds::drone::{AltitudeReference, Station as AskedStation};
use fleet::airspace::Rules;
use fleet::planning::awaited::Awaited;
use fleet::planning::declared_down::Declarations;
use fleet::planning::drone::Movement;
use fleet::planning::drone::desire::{counts_as_down, held_height, holds_flight};
use fleet::planning::drone::way_home::WayHome;
use fleet::planning::node_use::NoLift;
use fleet::planning::site::{NO_HOME, OffStation, Sites, Sky, Transponders, flies_as_written};
use model::geo::Frame;
use model::ids::{DroneUid, NodeName};
use model::owned_airspace::Owned;
use model::plan::PlanDigest;
use model::report::Report;
use model::route_order::OrderNumber;
use model::station::{Altitude, BadStation, Limits, Manner, Off, Place, Station, Tolerance};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Heading, MetersPerSecond, Wgs84};
use model::vehicle::FlightTruth;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteRules {
    pub rules: Rules,
    pub limits: Limits,
    pub tolerance: Tolerance,
}

/// The aircraft of others, and the nodes without a station whose vehicles they keep from taking off or climbing.
#[derive(Debug, Default)]
pub(super) struct BelowSky {
    pub(super) sky: Sky,
    pub(super) kept: BTreeSet<NodeName>,
}

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Airspace {
    pub(super) of: SiteRules,
    site: Arc<Mutex<Option<Sites>>>,
    sky: Arc<Mutex<BelowSky>>,
    /// Drones were not gone through yet: one with a station or a Mission may be anywhere.
    pub(super) unplaced: Arc<AtomicBool>,
    declared_down: Arc<Mutex<Declarations>>,
    awaited: Arc<Mutex<Awaited>>,
    /// Nodes whose vehicles were declared down, which the inventory has not noted yet.
    down: Arc<Mutex<BTreeSet<NodeName>>>,
    fences: Arc<NodeRules>,
    /// Declared on Vehicles.
    transponders: Arc<Mutex<Transponders>>,
}

impl Airspace {
    pub fn new(of: SiteRules, fences: &Arc<NodeRules>) -> Self {
        Self {
            of,
            site: Arc::default(),
            sky: Arc::default(),
            unplaced: Arc::new(AtomicBool::new(true)),
            declared_down: Arc::default(),
            awaited: Arc::default(),
            down: Arc::default(),
            fences: Arc::clone(fences),
            transponders: Arc::default(),
        }
    }

    /// The station that a Drone asks for, whose vehicle is on `node`; the error says why it cannot be one.
    pub(super) fn station(
        &self,
        asked: &AskedStation,
        node: Option<&NodeName>,
        report: Option<&Report>,
    ) -> Result<Station, String> {
        let made = station(asked, report, &self.of.limits).map_err(|why| why.to_string())?;
        let Some(node) = node else { return Ok(made) };
        let place = place(asked);
        let height = match place.altitude {
            Altitude::AboveHome(height) => Some(height),
            Altitude::Amsl(amsl) => {
                let home = report.and_then(|report| report.home);
                home.map(|home| AltitudeAboveHome(amsl.0 - home.amsl.0))
            }
        };
        match self.fences.allow(node, Some(place.at), height) {
            Ok(()) => Ok(made),
            Err(why) => Err(why.to_string()),
        }
    }

    pub const fn rules(&self) -> &SiteRules {
        &self.of
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Sites>> {
        self.site.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sky(&self) -> MutexGuard<'_, BelowSky> {
        self.sky.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn transponders(&self) -> Transponders {
        self.transponders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn declare_transponders(&self, declared: Transponders) {
        *self.transponders.lock().unwrap_or_else(PoisonError::into_inner) = declared;
    }

    /// The nodes whose vehicles were declared down since the last call.
    pub(super) fn take_down(&self) -> BTreeSet<NodeName> {
        std::mem::take(&mut *self.down.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether no aircraft may come near the column from the vehicle of `report` to `height`.
    fn is_below_clear_sky(&self, report: Option<&Report>, height: AltitudeAboveHome) -> bool {
        let rules = &self.of.rules;
        report.is_none_or(|report| self.sky().sky.is_clear(report, height, rules))
    }

    fn is_unplaced(&self) -> bool {
        self.unplaced.load(Ordering::Relaxed)
    }

    /// Whether a Drone without a station has to wait on the ground of `node`: for vehicles with a station or a Mission, or to know its
    /// Geofences, or, when it flies a `plan`, until all of its way is clear. False for one that may be airborne by an order to fly.
    pub fn keeps_down(
        &self,
        drone: &Drone,
        plan: Option<&PlanDigest>,
        node: Option<&NodeName>,
        report: Option<&Report>,
    ) -> bool {
        let own = DroneUid(uid(drone).to_owned());
        let Some(node) = node.filter(|_| counts_as_down(&own, report)) else {
            return false;
        };
        let Some(plan) = plan else {
            if drone.spec.station.is_some() {
                return false;
            }
            let site = self.lock();
            let may = site
                .as_ref()
                .map_or_else(|| !self.is_unplaced(), |site| site.may_take_off(node));
            let height = AltitudeAboveHome(drone.spec.takeoff_altitude_meters);
            return !(may && self.fences.knows(node) && self.is_below_clear_sky(report, height));
        };
        let site = self.lock();
        let ordered = holds_flight(&own, report);
        let may = |site: &Sites| site.may_fly_plan(node, plan) || (ordered && site.may_begin_plan(node, plan));
        !site.as_ref().is_some_and(may)
    }

    /// The altitude above home at which the vehicle of `node` is to hold for `drone`, which asks for another, and why it differs: while the
    /// way there is not clear, or a Geofence forbids it, the one of the order that its agent holds.
    pub fn height(
        &self,
        drone: &Drone,
        node: Option<&NodeName>,
        report: Option<&Report>,
        asked: AltitudeAboveHome,
    ) -> (AltitudeAboveHome, Option<NoLift>) {
        let own = DroneUid(uid(drone).to_owned());
        let Some((node, held)) = node.zip(held_height(&own, report, asked)) else {
            return (asked, None);
        };
        if !self.fences.knows(node) {
            return (held, Some(NoLift::FencesUnknown));
        }
        let allowed = |height| self.fences.allow_change(node, height).is_ok();
        if !allowed(asked) {
            return (held, Some(NoLift::Geofence));
        }
        let site = self.lock();
        let is_clear = match site.as_ref() {
            Some(site) => site.may_change_to(node, asked),
            None => !self.is_unplaced(),
        };
        if is_clear && self.is_below_clear_sky(report, asked) {
            return (asked, None);
        }
        // An order to go there may be under way; revoking it would send the vehicle to and fro.
        let granted = site.as_ref().and_then(|site| site.changes_to(node));
        (
            granted.filter(|height| allowed(*height)).unwrap_or(held),
            Some(NoLift::Airspace),
        )
    }

    pub fn off(&self, node: &NodeName, report: &Report, station: &Station) -> Option<Off> {
        match self.lock().as_ref() {
            Some(site) => site.off(node, report, station),
            None => report.off(station, report.home.map(|home| home.amsl)),
        }
    }

    pub fn owned(&self, node: &NodeName) -> Option<Owned> {
        self.lock().as_ref()?.owned(node)
    }

    /// Whether an order may name the plan `digest`: on the ground by [`Self::keeps_down`], in the air by what was granted from where it is.
    pub fn may_name_plan(&self, node: Option<&NodeName>, digest: &PlanDigest, report: Option<&Report>) -> bool {
        let airborne = report.filter(|report| matches!(report.truth, FlightTruth::Airborne(_)));
        let Some((report, node)) = airborne.zip(node) else {
            return true;
        };
        match self.lock().as_ref() {
            Some(site) => site.may_fly_on(node, digest, report),
            None => flies_as_written(digest, report),
        }
    }

    /// A person has declared that the vehicle of `node` is not airborne any more.
    pub fn declare_down(&self, node: &NodeName) {
        if let Some(site) = self.lock().as_mut() {
            site.declare_down(node);
        }
        self.awaited().declare_down(node);
        let mut down = self.down.lock().unwrap_or_else(PoisonError::into_inner);
        down.insert(node.clone());
    }

    /// The same by annotations of Nodes, as far as they count `now`.
    pub(super) fn declare_down_by_nodes(&self, declared: &BTreeMap<NodeName, Moment>, now: Moment) {
        if self.lock().is_none() {
            return;
        }
        let mut known = self.declared_down.lock().unwrap_or_else(PoisonError::into_inner);
        for node in known.take_in(declared, now) {
            tracing::warn!(%node, "a person declares that its vehicle is not in the air");
            self.declare_down(&node);
        }
    }

    /// Why the airborne vehicle of `node` cannot go on with its plan from where it is, in a clause.
    pub fn plan_barred(&self, node: &NodeName) -> Option<String> {
        self.lock().as_ref()?.plan_barred(node).map(str::to_owned)
    }

    /// Why the vehicle of `node` has no airspace for its plan, in a clause.
    pub fn plan_waits(&self, node: &NodeName) -> Option<String> {
        self.lock().as_ref()?.plan_waits(node).map(str::to_owned)
    }

    /// Through whose stations the autopilot of `node` would return, with what to do.
    pub fn crossed_station(&self, node: &NodeName) -> Option<String> {
        self.lock().as_ref()?.crossed_station(node)
    }

    /// The number of the last route granted to the vehicle of `node`, for any Drone, which it may have yet to take or to give up.
    pub fn last_granted(&self, node: &NodeName) -> Option<OrderNumber> {
        self.lock().as_ref()?.last_granted(node)
    }

    /// Movement of a vehicle that flies for a Mission and has no plan: it holds, or flies home along a route before it lands.
    pub fn way_back(&self, node: Option<&NodeName>, report: Option<&Report>, now: Moment) -> Option<Movement> {
        let site = self.lock();
        let place = site.as_ref().zip(node);
        let is_home = place
            .zip(report)
            .is_some_and(|((site, node), report)| site.is_home(node, report));
        Some(Movement {
            route: place.and_then(|(site, node)| site.route(node).cloned()),
            manner: Manner::default(),
            way_home: WayHome::of_one_that_strays(report, is_home),
            shared_return: None,
            crossed_station: place.and_then(|(site, node)| site.crossed_station(node)),
            off_station: match place {
                Some((site, node)) => site.off_station(node, now),
                None => Some(OffStation::Settling),
            },
        })
    }

    /// `None` without a station.
    pub fn movement(
        &self,
        drone: &Drone,
        node: Option<&NodeName>,
        report: Option<&Report>,
        now: Moment,
    ) -> Option<Movement> {
        let asked = drone.spec.station.as_ref()?;
        let bad = self.station(asked, node, report).err();
        let site = self.lock();
        let place = site.as_ref().zip(node);
        let is_home = place
            .zip(report)
            .is_some_and(|((site, node), report)| site.is_home(node, report));
        // Whatever is wrong with its station, and before anything is known here, it does not land where it happens to hold.
        let way_home = WayHome::of(report, is_home);
        let could_go = report.is_some_and(|r| matches!(r.truth, FlightTruth::Airborne(_)) && r.home.is_some());
        Some(Movement {
            route: place
                .filter(|_| bad.is_none() || could_go)
                .and_then(|(site, node)| site.route(node).cloned()),
            // The fault is shown, and no vehicle is asked to fly there.
            manner: bad
                .as_ref()
                .map_or_else(|| self::place(asked).manner, |_| Manner::default()),
            way_home,
            shared_return: place.and_then(|(site, node)| site.shared_return(node)),
            crossed_station: place.and_then(|(site, node)| site.crossed_station(node)),
            off_station: match (bad, place) {
                (Some(why), _) => Some(OffStation::Waits(format!("has no route: spec.station: {why}"))),
                (None, Some((site, node))) if site.has(node) => site.off_station(node, now),
                (None, _) => Some(without_site(report)),
            },
        })
    }
}

/// A site needs the vehicle's home.
fn without_site(report: Option<&Report>) -> OffStation {
    match report.map(|report| report.home) {
        Some(None) => OffStation::Waits(NO_HOME.to_owned()),
        Some(Some(home)) => match Frame::at(home.at) {
            Ok(_) => OffStation::Settling,
            Err(why) => OffStation::Waits(format!("has no route: {why}")),
        },
        None => OffStation::Settling,
    }
}

fn station(asked: &AskedStation, report: Option<&Report>, limits: &Limits) -> Result<Station, BadStation> {
    let station = Station::new(place(asked), limits)?;
    // A vehicle that does not know its home flies nowhere.
    let home = report.and_then(|report| report.home);
    home.map_or(Ok(()), |home| station.suits(home.at, home.amsl, limits))?;
    Ok(station)
}

pub fn place(asked: &AskedStation) -> Place {
    let altitude = match asked.altitude_reference {
        AltitudeReference::AboveHome => Altitude::AboveHome(AltitudeAboveHome(asked.altitude_meters)),
        AltitudeReference::AboveMeanSeaLevel => Altitude::Amsl(AltitudeAmsl(asked.altitude_meters)),
    };
    let at = Wgs84 {
        latitude_deg: asked.latitude_degrees,
        longitude_deg: asked.longitude_degrees,
    };
    Place {
        at,
        altitude,
        manner: Manner {
            heading: asked.heading_degrees.map(Heading),
            speed: asked.speed_meters_per_second.map(MetersPerSecond),
        },
    }
}
