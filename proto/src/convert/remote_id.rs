//! `RemoteId` and `RemoteIdState`: operator and transmitter of a vehicle, to and from `model::remote_id`.

use super::{BadMessage, filled, within};
use crate::v1;
use model::ids::Term;
use model::remote_id::{
    AircraftId, AircraftIdKind, Category, European, LONGEST_DESCRIPTION, LONGEST_ERROR, LONGEST_ID, Location, Operator,
    RemoteIdOrder, RemoteIdReport, Sending, Transmitter, can_be_broadcast,
};

/// Bytes of an object's name.
const LONGEST_NAME: usize = 253;

impl From<&RemoteIdOrder> for v1::RemoteId {
    fn from(order: &RemoteIdOrder) -> Self {
        Self {
            term: order.term.0,
            operator: order.operator.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<v1::RemoteId> for RemoteIdOrder {
    type Error = BadMessage;

    fn try_from(order: v1::RemoteId) -> Result<Self, BadMessage> {
        Ok(Self {
            term: Term(order.term),
            operator: order.operator.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<&Operator> for v1::Operator {
    fn from(operator: &Operator) -> Self {
        let aircraft = operator.aircraft.as_ref();
        Self {
            name: operator.name.clone(),
            id: operator.id.clone(),
            description: operator.description.clone(),
            fixed: match operator.location {
                Location::Takeoff => None,
                Location::Fixed { at, altitude_m } => Some(v1::OperatorPlace {
                    latitude_deg: at.latitude_deg,
                    longitude_deg: at.longitude_deg,
                    altitude_m,
                }),
            },
            eu: operator.eu.map(|eu| v1::EuropeanClass {
                category: match eu.category {
                    Category::Undeclared => 0,
                    Category::Open => 1,
                    Category::Specific => 2,
                    Category::Certified => 3,
                },
                class: eu.class.map(Into::into),
            }),
            aircraft_id: aircraft.map(|aircraft| aircraft.id.clone()).unwrap_or_default(),
            aircraft_id_is_registration: aircraft.is_some_and(|aircraft| aircraft.kind == AircraftIdKind::Registration),
        }
    }
}

impl TryFrom<v1::Operator> for Operator {
    type Error = BadMessage;

    fn try_from(operator: v1::Operator) -> Result<Self, BadMessage> {
        at_most("operator.name", &operator.name, LONGEST_NAME, "at most 253 characters")?;
        let aircraft = Some(operator.aircraft_id).filter(|id| !id.is_empty());
        let description = Some(operator.description).filter(|text| !text.is_empty());
        Ok(Self {
            name: filled("operator.name", operator.name)?,
            id: broadcast("operator.id", filled("operator.id", operator.id)?, LONGEST_ID)?,
            description: description
                .map(|text| broadcast("operator.description", text, LONGEST_DESCRIPTION))
                .transpose()?
                .unwrap_or_default(),
            location: operator.fixed.map_or(Ok(Location::Takeoff), place)?,
            eu: operator.eu.map(european).transpose()?,
            aircraft: aircraft
                .map(|id| {
                    let kind = if operator.aircraft_id_is_registration {
                        AircraftIdKind::Registration
                    } else {
                        AircraftIdKind::SerialNumber
                    };
                    broadcast("operator.aircraft_id", id, LONGEST_ID).map(|id| AircraftId { kind, id })
                })
                .transpose()?,
        })
    }
}

fn at_most(field: &'static str, text: &str, most: usize, must: &'static str) -> Result<(), BadMessage> {
    if text.len() <= most {
        return Ok(());
    }
    Err(too_long(field, text, must))
}

fn too_long(field: &'static str, text: &str, must: &'static str) -> BadMessage {
    BadMessage::OutOfRange {
        field,
        got: u32::try_from(text.len()).map_or(f64::INFINITY, f64::from),
        must,
    }
}

fn broadcast(field: &'static str, text: String, longest: usize) -> Result<String, BadMessage> {
    if can_be_broadcast(&text, longest) {
        return Ok(text);
    }
    let must = if longest == LONGEST_ID {
        "1 to 20 printable characters of ASCII"
    } else {
        "1 to 23 printable characters of ASCII"
    };
    Err(too_long(field, &text, must))
}

fn place(place: v1::OperatorPlace) -> Result<Location, BadMessage> {
    Ok(Location::Fixed {
        at: super::place(
            ("operator.latitude_deg", place.latitude_deg),
            ("operator.longitude_deg", place.longitude_deg),
        )?,
        altitude_m: place
            .altitude_m
            .map(|altitude| {
                within(
                    "operator.altitude_m",
                    altitude,
                    -1000.0,
                    31_767.0,
                    "from -1000 to 31767 meters",
                )
            })
            .transpose()?,
    })
}

fn european(eu: v1::EuropeanClass) -> Result<European, BadMessage> {
    let unknown = |field, got: u32| BadMessage::UnknownValue {
        field,
        got: i32::try_from(got).unwrap_or(i32::MAX),
    };
    Ok(European {
        category: match eu.category {
            0 => Category::Undeclared,
            1 => Category::Open,
            2 => Category::Specific,
            3 => Category::Certified,
            got => return Err(unknown("operator.eu.category", got)),
        },
        class: match eu.class {
            None => None,
            Some(class @ 0..=6) => u8::try_from(class).ok(),
            Some(got) => return Err(unknown("operator.eu.class", got)),
        },
    })
}

impl From<&RemoteIdReport> for v1::RemoteIdState {
    fn from(report: &RemoteIdReport) -> Self {
        let sent = match report.sending {
            Sending::Nothing => v1::OperatorSent::Unspecified,
            Sending::Yes => v1::OperatorSent::Yes,
            Sending::NoLocation => v1::OperatorSent::NoLocation,
            Sending::Alone => v1::OperatorSent::Alone,
            Sending::NoVehicle => v1::OperatorSent::NoVehicle,
        };
        let (transmitter, words) = match &report.transmitter {
            Transmitter::Unheard => (v1::RemoteIdTransmitter::Unspecified, ""),
            Transmitter::Good => (v1::RemoteIdTransmitter::Good, ""),
            Transmitter::Fails(words) => (v1::RemoteIdTransmitter::Fails, words.as_str()),
            Transmitter::Lost => (v1::RemoteIdTransmitter::Lost, ""),
        };
        Self {
            held: report.held.clone().unwrap_or_default(),
            sent: sent.into(),
            transmitter: transmitter.into(),
            transmitter_words: words.to_owned(),
        }
    }
}

impl TryFrom<v1::RemoteIdState> for RemoteIdReport {
    type Error = BadMessage;

    fn try_from(state: v1::RemoteIdState) -> Result<Self, BadMessage> {
        at_most("remote_id.held", &state.held, LONGEST_NAME, "at most 253 characters")?;
        let words = state.transmitter_words;
        // A character of another set takes up to three bytes as text.
        at_most(
            "remote_id.transmitter_words",
            &words,
            3 * LONGEST_ERROR,
            "at most 150 bytes",
        )?;
        // An unknown value, as from a newer agent, is neither sent nor good.
        let sent = v1::OperatorSent::try_from(state.sent).unwrap_or(v1::OperatorSent::NoVehicle);
        let transmitter = v1::RemoteIdTransmitter::try_from(state.transmitter).unwrap_or(v1::RemoteIdTransmitter::Lost);
        Ok(Self {
            held: Some(state.held).filter(|name| !name.is_empty()),
            sending: match sent {
                v1::OperatorSent::Unspecified => Sending::Nothing,
                v1::OperatorSent::Yes => Sending::Yes,
                v1::OperatorSent::NoLocation => Sending::NoLocation,
                v1::OperatorSent::Alone => Sending::Alone,
                v1::OperatorSent::NoVehicle => Sending::NoVehicle,
            },
            transmitter: match transmitter {
                v1::RemoteIdTransmitter::Unspecified => Transmitter::Unheard,
                v1::RemoteIdTransmitter::Good => Transmitter::Good,
                v1::RemoteIdTransmitter::Fails => Transmitter::Fails(words),
                v1::RemoteIdTransmitter::Lost => Transmitter::Lost,
            },
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::units::Wgs84;
    use proptest::prelude::*;

    prop_compose! {
        fn operator()(
            name in "[a-z]{1,20}",
            (id, description) in ("[ -~]{1,20}", "[ -~]{0,23}"),
            fixed in prop::option::of((-90.0..=90.0, -180.0..=180.0, prop::option::of(-1000.0..=31_767.0))),
            eu in prop::option::of((
                prop::sample::select(vec![Category::Undeclared, Category::Open, Category::Specific, Category::Certified]),
                prop::option::of(0_u8..=6),
            )),
            aircraft in prop::option::of(("[ -~]{1,20}", any::<bool>())),
        ) -> Operator {
            Operator {
                name,
                id,
                description,
                location: fixed.map_or(Location::Takeoff, |(latitude_deg, longitude_deg, altitude_m)| Location::Fixed {
                    at: Wgs84 { latitude_deg, longitude_deg },
                    altitude_m,
                }),
                eu: eu.map(|(category, class)| European { category, class }),
                aircraft: aircraft.map(|(id, registration)| AircraftId {
                    kind: if registration { AircraftIdKind::Registration } else { AircraftIdKind::SerialNumber },
                    id,
                }),
            }
        }
    }

    pub fn state() -> impl Strategy<Value = RemoteIdReport> {
        let transmitter = prop_oneof![
            Just(Transmitter::Unheard),
            Just(Transmitter::Good),
            "[ -~]{0,50}".prop_map(Transmitter::Fails),
            Just(Transmitter::Lost),
        ];
        let sending = prop::sample::select(vec![
            Sending::Nothing,
            Sending::Yes,
            Sending::NoLocation,
            Sending::Alone,
            Sending::NoVehicle,
        ]);
        (prop::option::of("[a-z]{1,20}"), sending, transmitter).prop_map(|(held, sending, transmitter)| {
            RemoteIdReport {
                held,
                sending,
                transmitter,
            }
        })
    }

    proptest! {
        #[test]
        fn an_operator_comes_off_the_wire_as_it_went_on_it(term in any::<u64>(), operator in prop::option::of(operator())) {
            let order = RemoteIdOrder { term: Term(term), operator };
            prop_assert_eq!(RemoteIdOrder::try_from(v1::RemoteId::from(&order)), Ok(order));
        }

        #[test]
        fn the_state_of_remote_id_comes_off_the_wire_as_it_went_on_it(state in state()) {
            prop_assert_eq!(RemoteIdReport::try_from(v1::RemoteIdState::from(&state)), Ok(state));
        }
    }

    #[test]
    fn operators_that_make_no_sense_are_refused_with_the_field() {
        let good = || v1::Operator {
            name: "north".to_owned(),
            id: "CHE-OP-1".to_owned(),
            ..v1::Operator::default()
        };
        let fixed = |latitude_deg, altitude_m| v1::Operator {
            fixed: Some(v1::OperatorPlace {
                latitude_deg,
                longitude_deg: 8.0,
                altitude_m,
            }),
            ..good()
        };
        let eu = |category, class| v1::Operator {
            eu: Some(v1::EuropeanClass { category, class }),
            ..good()
        };
        assert!(Operator::try_from(good()).is_ok());
        for (bad, words) in [
            (
                v1::Operator {
                    name: String::new(),
                    ..good()
                },
                "operator.name is empty",
            ),
            (
                v1::Operator {
                    id: String::new(),
                    ..good()
                },
                "operator.id is empty",
            ),
            (
                v1::Operator {
                    id: "x".repeat(21),
                    ..good()
                },
                "1 to 20 printable characters",
            ),
            (
                v1::Operator {
                    id: "Zürich".to_owned(),
                    ..good()
                },
                "1 to 20 printable characters",
            ),
            (
                v1::Operator {
                    description: "x".repeat(24),
                    ..good()
                },
                "1 to 23 printable characters",
            ),
            (
                v1::Operator {
                    aircraft_id: "x".repeat(21),
                    ..good()
                },
                "operator.aircraft_id",
            ),
            (fixed(91.0, None), "from -90 to 90 degrees"),
            (fixed(f64::NAN, None), "from -90 to 90 degrees"),
            (fixed(47.0, Some(f64::INFINITY)), "from -1000 to 31767 meters"),
            (eu(4, None), "operator.eu.category is 4"),
            (eu(1, Some(7)), "operator.eu.class is 7"),
        ] {
            let error = Operator::try_from(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
