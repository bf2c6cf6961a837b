//! ArduCopter's fence: checks, breaches, and allowed targets.

use crate::model::core::Core;
use crate::model::geo::{Neu, Wgs84};
use crate::model::plan::Fence;

/// Bits of FENCE_TYPE.
const HIGH: u32 = 1;
const CIRCLE: u32 = 2;
const SHAPES: u32 = 4;
const LOW: u32 = 8;

/// Bit of FENCE_OPTIONS: one of the inclusions is enough.
const UNION: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Breached(String),
    Clear,
}

#[derive(Clone, Debug, Default)]
pub(super) struct FenceWatch {
    pub(super) shapes: Fence,
    enabled: u32,
    followed: Option<u32>,
    breached: u32,
    pub(super) breaches: u16,
    pub(super) breached_ms: u32,
    last_breached: u32,
}

impl FenceWatch {
    pub(super) fn follow_parameters(&mut self, core: &Core) {
        let wanted = if core.params.get("FENCE_ENABLE") > 0.0 {
            kinds(core)
        } else {
            0
        };
        if self.followed.replace(wanted) == Some(wanted) {
            return;
        }
        self.enabled = wanted;
        self.breached &= self.enabled;
    }

    /// DO_FENCE_ENABLE: `how` 0 off, 1 on, 2 only the floor off, else `false`; `mask` 0 means all kinds of FENCE_TYPE.
    pub(super) fn switch(&mut self, core: &Core, how: f32, mask: u32) -> bool {
        let chosen = if mask == 0 { kinds(core) } else { mask };
        match how {
            0.0 => self.enabled &= !chosen,
            1.0 => self.enabled |= chosen & kinds(core),
            2.0 => self.enabled &= !LOW,
            _ => return false,
        }
        self.breached &= self.enabled;
        true
    }

    pub(super) fn is_on(&self) -> bool {
        self.enabled != 0
    }

    pub(super) fn is_breached(&self) -> bool {
        self.breached != 0
    }

    pub(super) fn breach_type(&self) -> u8 {
        match self.last_breached {
            0 => 0,
            kinds if kinds & HIGH != 0 => 2,
            kinds if kinds & LOW != 0 => 1,
            _ => 3,
        }
    }

    pub(super) fn needs_position(&self) -> bool {
        self.enabled & (CIRCLE | SHAPES) != 0
    }

    pub(super) fn step(&mut self, core: &Core, home: Option<Wgs84>) -> Option<Change> {
        if self.enabled == 0 {
            return None;
        }
        let now = self.forbidden(core, home, core.airframe.position);
        let new = now & !self.breached;
        let was_breached = self.is_breached();
        self.breached = now;
        if new != 0 {
            self.breaches = self.breaches.saturating_add(1);
            self.breached_ms = core.boot_ms();
            self.last_breached = new;
            return Some(Change::Breached(names(new)));
        }
        (was_breached && now == 0).then_some(Change::Clear)
    }

    pub(super) fn allows(&self, core: &Core, home: Option<Wgs84>, point: Neu) -> bool {
        self.forbidden(core, home, point) == 0
    }

    /// AVOID_ENABLE: stops the climb AVOID_MARGIN below the fence, slows towards the circle, and breaches that
    /// (recorded).
    pub(super) fn slowed(&self, core: &Core, home: Option<Wgs84>, wanted: Neu) -> Neu {
        const FENCES: u32 = 1;
        const BRAKES_M_S2: f64 = 1.0;
        const CREEPS_M_S: f64 = 1.0;
        if core.params.get("AVOID_ENABLE") as u32 & FENCES == 0 {
            return wanted;
        }
        let home = home.map_or(Neu::default(), |home| core.config.home.to_local(home));
        let here = core.airframe.position;
        let meters = |name: &str| f64::from(core.params.get(name));
        let limit = |left_m: f64, least: f64| (2.0 * BRAKES_M_S2 * left_m.max(0.0)).sqrt().max(least);
        let mut allowed = wanted;
        if self.enabled & HIGH != 0 {
            let left_m = meters("FENCE_ALT_MAX") - meters("AVOID_MARGIN") - (here.up - home.up);
            allowed.up = allowed.up.min(limit(left_m, 0.0));
        }
        let (north, east) = (here.north - home.north, here.east - home.east);
        let outward = north * wanted.north + east * wanted.east > 0.0;
        if self.enabled & CIRCLE != 0 && outward {
            let left_m = meters("FENCE_RADIUS") - meters("AVOID_MARGIN") - north.hypot(east);
            let speed = wanted.north.hypot(wanted.east);
            let share = (limit(left_m, CREEPS_M_S) / speed.max(0.01)).min(1.0);
            (allowed.north, allowed.east) = (wanted.north * share, wanted.east * share);
        }
        allowed
    }

    pub(super) fn broken_here(&self, core: &Core, home: Option<Wgs84>) -> Option<String> {
        let broken = self.forbidden(core, home, core.airframe.position);
        (broken != 0).then(|| names(broken))
    }

    /// Active kinds that `point` (from the place of boot) breaks.
    fn forbidden(&self, core: &Core, home: Option<Wgs84>, point: Neu) -> u32 {
        let home = home.map_or(Neu::default(), |home| core.config.home.to_local(home));
        let meters = |name: &str| f64::from(core.params.get(name));
        let above_home_m = point.up - home.up;
        let mut broken = 0;
        if above_home_m >= meters("FENCE_ALT_MAX") {
            broken |= HIGH;
        }
        if above_home_m <= meters("FENCE_ALT_MIN") {
            broken |= LOW;
        }
        if point.ground_distance(home) >= meters("FENCE_RADIUS") {
            broken |= CIRCLE;
        }
        let union = core.params.get("FENCE_OPTIONS") as u32 & UNION != 0;
        let allowed = if union {
            self.shapes.allows_in_any(point)
        } else {
            self.shapes.allows(point)
        };
        if !allowed {
            broken |= SHAPES;
        }
        broken & self.enabled
    }
}

fn kinds(core: &Core) -> u32 {
    core.params.get("FENCE_TYPE") as u32 & (HIGH | CIRCLE | SHAPES | LOW)
}

fn names(kinds: u32) -> String {
    let all = [
        (HIGH, "Max Alt"),
        (CIRCLE, "Circle"),
        (SHAPES, "Polygon"),
        (LOW, "Min Alt"),
    ];
    let named: Vec<&str> = all
        .iter()
        .filter(|(kind, _)| kinds & kind != 0)
        .map(|(_, name)| *name)
        .collect();
    named.join(" and ")
}
