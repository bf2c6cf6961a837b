//! Routes and places over the Earth, in orders and in reports.

use super::{BadMessage, within};
use crate::v1;
use model::ids::Term;
use model::lent::{Lent, Room, WhyBack};
use model::report::RouteState;
use model::route_order::{MOST_PLACES, OrderNumber, RouteOrder, Waypoint};
use model::units::{AltitudeAmsl, Meters};
use std::time::Duration;

/// Lowest and highest altitude of a place, meters above mean sea level: those of positions that an agent takes from its autopilot.
const ALTITUDES_M: (f64, f64) = (-1000.0, 20_000.0);

impl From<OrderNumber> for v1::RouteNumber {
    fn from(number: OrderNumber) -> Self {
        Self {
            term: number.term.0,
            count: number.count,
        }
    }
}

impl From<v1::RouteNumber> for OrderNumber {
    fn from(number: v1::RouteNumber) -> Self {
        Self {
            term: Term(number.term),
            count: number.count,
        }
    }
}

impl From<&Waypoint> for v1::Waypoint {
    fn from(place: &Waypoint) -> Self {
        Self {
            latitude_deg: place.at.latitude_deg,
            longitude_deg: place.at.longitude_deg,
            altitude_amsl_m: place.amsl.0,
        }
    }
}

impl TryFrom<v1::Waypoint> for Waypoint {
    type Error = BadMessage;

    fn try_from(place: v1::Waypoint) -> Result<Self, BadMessage> {
        let at = super::place(
            ("latitude_deg", place.latitude_deg),
            ("longitude_deg", place.longitude_deg),
        )?;
        let (lowest, highest) = ALTITUDES_M;
        let must = "from -1000 to 20000 meters";
        let amsl = within("altitude_amsl_m", place.altitude_amsl_m, lowest, highest, must)?;
        Ok(Self {
            at,
            amsl: AltitudeAmsl(amsl),
        })
    }
}

impl From<&RouteOrder> for v1::Route {
    fn from(route: &RouteOrder) -> Self {
        Self {
            term: route.number.term.0,
            count: route.number.count,
            places: route.places.iter().map(Into::into).collect(),
            room: route.room.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::Route> for RouteOrder {
    type Error = BadMessage;

    fn try_from(route: v1::Route) -> Result<Self, BadMessage> {
        let got = route.places.len();
        if !(1..=MOST_PLACES).contains(&got) {
            return Err(BadMessage::OutOfRange {
                field: "route.places",
                got: u32::try_from(got).map_or(f64::INFINITY, f64::from),
                must: "from 1 to 16 places",
            });
        }
        Ok(Self {
            number: OrderNumber {
                term: Term(route.term),
                count: route.count,
            },
            places: route
                .places
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            room: route.room.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<&Room> for v1::Room {
    fn from(room: &Room) -> Self {
        Self {
            radius_m: room.radius.0,
            below_m: room.below.0,
            above_m: room.above.0,
            lease_ms: u32::try_from(room.lease.as_millis()).unwrap_or(u32::MAX),
        }
    }
}

impl TryFrom<v1::Room> for Room {
    type Error = BadMessage;

    fn try_from(room: v1::Room) -> Result<Self, BadMessage> {
        const MOST: f64 = 10_000.0;
        let meters = |field, got| within(field, got, 0.0, MOST, "from 0 to 10000 meters").map(Meters);
        if room.lease_ms == 0 {
            return Err(BadMessage::Missing {
                field: "route.room.lease_ms",
            });
        }
        Ok(Self {
            radius: meters("route.room.radius_m", room.radius_m)?,
            below: meters("route.room.below_m", room.below_m)?,
            above: meters("route.room.above_m", room.above_m)?,
            lease: Duration::from_millis(room.lease_ms.into()),
        })
    }
}

impl From<Option<Lent>> for v1::Lent {
    fn from(lent: Option<Lent>) -> Self {
        match lent {
            None => Self::Unspecified,
            Some(Lent::Flies) => Self::Flies,
            Some(Lent::TakenBack(WhyBack::LeaseSilent)) => Self::LeaseSilent,
            Some(Lent::TakenBack(WhyBack::LeftVolume)) => Self::LeftVolume,
            Some(Lent::TakenBack(WhyBack::Recalled)) => Self::Recalled,
        }
    }
}

impl v1::Lent {
    const fn known(self) -> Option<Lent> {
        Some(match self {
            Self::Unspecified => return None,
            Self::Flies => Lent::Flies,
            Self::LeaseSilent => Lent::TakenBack(WhyBack::LeaseSilent),
            Self::LeftVolume => Lent::TakenBack(WhyBack::LeftVolume),
            Self::Recalled => Lent::TakenBack(WhyBack::Recalled),
        })
    }
}

impl From<&RouteState> for v1::RouteState {
    fn from(state: &RouteState) -> Self {
        Self {
            last_term: state.last.term.0,
            last_count: state.last.count,
            order: state.order.as_ref().map(Into::into),
            next: state.next.and_then(|next| u32::try_from(next).ok()),
            stalled: state.stalled.as_ref().map(Into::into),
            lent: v1::Lent::from(state.lent).into(),
        }
    }
}

impl TryFrom<v1::RouteState> for RouteState {
    type Error = BadMessage;

    fn try_from(state: v1::RouteState) -> Result<Self, BadMessage> {
        Ok(Self {
            last: OrderNumber {
                term: Term(state.last_term),
                count: state.last_count,
            },
            order: state.order.map(TryInto::try_into).transpose()?,
            next: state.next.and_then(|next| usize::try_from(next).ok()),
            stalled: state.stalled.map(Into::into),
            // A newer version's value means nothing here.
            lent: v1::Lent::try_from(state.lent).ok().and_then(v1::Lent::known),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::answer::{Answer, Stalled};
    use model::units::Wgs84;
    use proptest::prelude::*;

    prop_compose! {
        pub(crate) fn waypoints()(latitude_deg in -90.0..=90.0, longitude_deg in -180.0..=180.0, amsl in -500.0..9000.0) -> Waypoint {
            Waypoint { at: Wgs84 { latitude_deg, longitude_deg }, amsl: AltitudeAmsl(amsl) }
        }
    }

    prop_compose! {
        pub(crate) fn routes()(
            term in any::<u64>(),
            count in any::<u64>(),
            places in prop::collection::vec(waypoints(), 1..=MOST_PLACES),
            room in prop::option::of(rooms()),
        ) -> RouteOrder {
            RouteOrder { number: OrderNumber { term: Term(term), count }, places, room }
        }
    }

    prop_compose! {
        fn rooms()(meters in prop::array::uniform3(0.0..500.0), lease_ms in 1..60_000_u64) -> Room {
            let [radius, below, above] = meters.map(Meters);
            Room { radius, below, above, lease: Duration::from_millis(lease_ms) }
        }
    }

    prop_compose! {
        fn stalled()(
            answer in prop::sample::select(vec![
                Answer::Awaited,
                Answer::Missing,
                Answer::Accepted,
                Answer::Refused("FAILED".into()),
            ]),
            words in "[a-z ]{0,40}",
        ) -> Stalled {
            Stalled { answer, words }
        }
    }

    prop_compose! {
        pub(crate) fn states()(
            last in any::<(u64, u64)>(),
            order in prop::option::of(routes()),
            next in prop::option::of(0..99_usize),
            stalled in prop::option::of(stalled()),
            lent in prop::sample::select(vec![
                None,
                Some(Lent::Flies),
                Some(Lent::TakenBack(WhyBack::LeaseSilent)),
                Some(Lent::TakenBack(WhyBack::LeftVolume)),
                Some(Lent::TakenBack(WhyBack::Recalled)),
            ]),
        ) -> RouteState {
            RouteState { last: OrderNumber { term: Term(last.0), count: last.1 }, order, next, stalled, lent }
        }
    }

    #[test]
    fn a_route_of_no_place_of_too_many_or_of_one_that_is_none_is_refused() {
        let place = v1::Waypoint {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
            altitude_amsl_m: 500.0,
        };
        let route = |places: Vec<v1::Waypoint>| {
            let route = v1::Route {
                places,
                ..v1::Route::default()
            };
            RouteOrder::try_from(route).map_err(|why| why.to_string())
        };
        assert!(route(vec![place; 16]).is_ok());
        for many in [0, 17] {
            assert!(route(vec![place; many]).unwrap_err().contains("from 1 to 16 places"));
        }
        for altitude_amsl_m in [-1001.0, 20_001.0, 1e9, f64::NAN, f64::INFINITY] {
            let beyond = v1::Waypoint {
                altitude_amsl_m,
                ..place
            };
            let why = route(vec![place, beyond]).unwrap_err();
            assert!(why.contains("from -1000 to 20000 meters"), "{why}");
        }
        let nowhere = v1::Waypoint {
            latitude_deg: f64::NAN,
            ..place
        };
        assert!(route(vec![place, nowhere]).unwrap_err().contains("latitude_deg"));
    }
}
