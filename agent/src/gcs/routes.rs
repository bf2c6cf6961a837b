//! Where a frame goes (MAVLink guide, guide/routing).
//!
//! * A frame without a target, or to system 0, goes everywhere but back. So does a frame of unknown id.
//! * A frame to one component goes only where that component was observed; to component 0, where its system was observed.
//! * Nothing goes back to where it came from, and nothing that the autopilot's line or the agent said goes back there.

pub use model::units::Address;
use model::units::{ComponentId, SystemId};
use std::collections::{BTreeMap, VecDeque};

const EVERY_SYSTEM: SystemId = SystemId(0);
const EVERY_COMPONENT: ComponentId = ComponentId(0);

/// Addresses remembered of one side; more would be a fault or a joke, and the oldest is forgotten.
const REMEMBERED: usize = 32;

/// A guest: one TCP connection, or one address on UDP. Never used twice in the life of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestId(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The autopilot's line: the autopilot, or what is behind it.
    Autopilot,
    Us,
    Guest(GuestId),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    pub autopilot: bool,
    /// In ascending order.
    pub guests: Vec<GuestId>,
}

#[derive(Debug, Default)]
struct KnownAddresses(VecDeque<Address>);

impl KnownAddresses {
    fn learn(&mut self, who: Address) {
        if who.system == EVERY_SYSTEM || self.0.contains(&who) {
            return;
        }
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(who);
    }

    fn has(&self, target: Address) -> bool {
        self.0
            .iter()
            .any(|seen| seen.system == target.system && [EVERY_COMPONENT, seen.component].contains(&target.component))
    }
}

#[derive(Debug, Default)]
pub struct Routes {
    autopilot: KnownAddresses,
    guests: BTreeMap<GuestId, KnownAddresses>,
}

impl Routes {
    pub fn join(&mut self, guest: GuestId) {
        self.guests.entry(guest).or_default();
    }

    /// Forgets also the ways to all that was behind it.
    pub fn leave(&mut self, guest: GuestId) {
        self.guests.remove(&guest);
    }

    pub fn learn(&mut self, origin: Origin, who: Address) {
        match origin {
            Origin::Autopilot => self.autopilot.learn(who),
            Origin::Us => {}
            Origin::Guest(guest) => {
                if let Some(seen) = self.guests.get_mut(&guest) {
                    seen.learn(who);
                }
            }
        }
    }

    /// Takes `who` to be nowhere else, even if another has spoken with its address before.
    pub fn only_on_line(&mut self, who: Address) {
        for seen in self.guests.values_mut() {
            seen.0.retain(|other| *other != who);
        }
    }

    pub fn is_on_line(&self, who: Address) -> bool {
        self.autopilot.0.contains(&who)
    }

    pub fn destinations(&self, origin: Origin, target: Option<Address>) -> Destinations {
        let target = target.filter(|to| to.system != EVERY_SYSTEM);
        let leads = |seen: &KnownAddresses| target.is_none_or(|to| seen.has(to));
        let guests = self
            .guests
            .iter()
            .filter(|(guest, seen)| origin != Origin::Guest(**guest) && leads(seen));
        Destinations {
            autopilot: matches!(origin, Origin::Guest(_)) && leads(&self.autopilot),
            guests: guests.map(|(guest, _)| *guest).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: GuestId = GuestId(1);
    const B: GuestId = GuestId(2);
    const C: GuestId = GuestId(3);
    const LINE: Origin = Origin::Autopilot;

    /// An autopilot with a gimbal; two ground stations with the same ids; a camera behind the third guest.
    fn routes() -> Routes {
        let mut routes = Routes::default();
        [A, B, C].into_iter().for_each(|g| routes.join(g));
        for (origin, who) in [
            (LINE, Address::new(7, 1)),
            (LINE, Address::new(7, 154)),
            (Origin::Guest(A), Address::new(255, 190)),
            (Origin::Guest(B), Address::new(255, 190)),
            (Origin::Guest(B), Address::new(254, 1)),
            (Origin::Guest(C), Address::new(7, 100)),
        ] {
            routes.learn(origin, who);
        }
        routes
    }

    #[test]
    fn a_frame_goes_where_the_guide_says() {
        const AGENT: Origin = Origin::Us;
        let (a, b) = (Origin::Guest(A), Origin::Guest(B));
        let routes = routes();
        for (why, origin, target, autopilot, guests) in [
            ("no target: to all", LINE, None, false, &[A, B, C][..]),
            ("system 0: to all", LINE, Some(Address::new(0, 0)), false, &[A, B, C]),
            (
                "system 0 with a component: to all",
                LINE,
                Some(Address::new(0, 190)),
                false,
                &[A, B, C],
            ),
            ("to where it was seen", LINE, Some(Address::new(254, 1)), false, &[B]),
            (
                "to both where it was seen twice",
                LINE,
                Some(Address::new(255, 190)),
                false,
                &[A, B],
            ),
            ("all of a system", LINE, Some(Address::new(255, 0)), false, &[A, B]),
            (
                "another component of a known system",
                LINE,
                Some(Address::new(255, 191)),
                false,
                &[],
            ),
            (
                "the camera is of the vehicle's system",
                LINE,
                Some(Address::new(7, 0)),
                false,
                &[C],
            ),
            ("to nobody known", LINE, Some(Address::new(9, 1)), false, &[]),
            ("ours to all: guests see it", AGENT, None, false, &[A, B, C]),
            (
                "ours to the autopilot: theirs alone",
                AGENT,
                Some(Address::new(7, 1)),
                false,
                &[],
            ),
            ("ours to a guest", AGENT, Some(Address::new(254, 1)), false, &[B]),
            (
                "a guest's to all: the autopilot and the other guests",
                a,
                None,
                true,
                &[B, C],
            ),
            ("a guest's to the autopilot", a, Some(Address::new(7, 1)), true, &[]),
            (
                "a guest's to all of the vehicle",
                a,
                Some(Address::new(7, 0)),
                true,
                &[C],
            ),
            ("a guest's to the camera", a, Some(Address::new(7, 100)), false, &[C]),
            (
                "never back, though its own ids match",
                a,
                Some(Address::new(255, 190)),
                false,
                &[B],
            ),
            ("never back", b, Some(Address::new(254, 1)), false, &[]),
            (
                "a component that the vehicle never showed",
                a,
                Some(Address::new(7, 191)),
                false,
                &[],
            ),
        ] {
            let to = Destinations {
                autopilot,
                guests: guests.to_vec(),
            };
            assert_eq!(routes.destinations(origin, target), to, "{why}");
        }
    }

    #[test]
    fn the_ways_to_a_guest_go_with_it() {
        let mut routes = routes();
        routes.leave(B);
        assert_eq!(
            routes.destinations(LINE, Some(Address::new(254, 1))),
            Destinations::default()
        );
        routes.learn(Origin::Guest(B), Address::new(254, 1));
        assert_eq!(
            routes.destinations(LINE, Some(Address::new(254, 1))),
            Destinations::default()
        );
    }

    #[test]
    fn a_guest_that_speaks_with_many_names_is_not_remembered_without_bound() {
        let mut routes = Routes::default();
        routes.join(A);
        (1..=255).for_each(|n| routes.learn(Origin::Guest(A), Address::new(n, 1)));
        assert_eq!(routes.guests[&A].0.len(), REMEMBERED);
        assert_eq!(routes.destinations(LINE, Some(Address::new(255, 1))).guests, [A]);
        assert_eq!(routes.destinations(LINE, Some(Address::new(1, 1))).guests, []);
    }

    #[test]
    fn nobody_is_system_0() {
        let mut routes = Routes::default();
        routes.join(A);
        routes.learn(Origin::Guest(A), Address::new(0, 1));
        assert!(routes.guests[&A].0.is_empty());
    }
}
