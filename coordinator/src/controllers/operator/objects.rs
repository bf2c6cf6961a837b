//! Operators as domain types, and which vehicles they select.

use crate::controllers::rules::objects::Selects;
use crds::labels::UAS_ID;
use crds::operator::{EuropeanCategory, LocationSource, OperatorLocation, UasIdType};
use kube::ResourceExt;
use model::remote_id::{
    AircraftId, AircraftIdKind, Category, European, LONGEST_DESCRIPTION, LONGEST_ID, Location, Operator,
    can_be_broadcast,
};
use model::units::Wgs84;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Wanted {
    pub name: String,
    pub generation: i64,
    pub selects: Selects,
    /// The kind of id in the vehicles' labels.
    uas_id: AircraftIdKind,
    /// Its operator for every vehicle, or its fault. The API server admits no faulty one; an older one might.
    pub operator: Result<Operator, String>,
}

impl Wanted {
    pub fn of(object: &crds::Operator) -> Self {
        let spec = &object.spec;
        let selects = Selects::of(&spec.vehicle_selector);
        let description = spec.description.clone().unwrap_or_default();
        let operator = match (selects.fault(), location(&spec.location)) {
            (Some(fault), _) => Err(fault.to_owned()),
            (None, Err(fault)) => Err(fault),
            (None, Ok(_)) if !can_be_broadcast(&spec.id, LONGEST_ID) => Err(
                "spec.id must be 1 to 20 printable ASCII characters; write the registration as it is to be broadcast"
                    .to_owned(),
            ),
            (None, Ok(_)) if !description.is_empty() && !can_be_broadcast(&description, LONGEST_DESCRIPTION) => Err(
                "spec.description must be 1 to 23 printable ASCII characters; shorten it, or leave it out".to_owned(),
            ),
            (None, Ok(location)) => Ok(Operator {
                name: object.name_any(),
                id: spec.id.clone(),
                description,
                location,
                eu: spec.eu.map(|eu| European {
                    category: match eu.category {
                        EuropeanCategory::Open => Category::Open,
                        EuropeanCategory::Specific => Category::Specific,
                        EuropeanCategory::Certified => Category::Certified,
                    },
                    class: eu
                        .class
                        .and_then(|class| u8::try_from(class).ok())
                        .filter(|class| *class <= 6),
                }),
                aircraft: None,
            }),
        };
        Self {
            name: object.name_any(),
            generation: object.metadata.generation.unwrap_or_default(),
            selects,
            uas_id: match spec.uas_id_type {
                UasIdType::SerialNumber => AircraftIdKind::SerialNumber,
                UasIdType::Registration => AircraftIdKind::Registration,
            },
            operator,
        }
    }

    /// The id of the aircraft with these labels, if they have one; the error says what to do.
    pub fn aircraft(&self, labels: &BTreeMap<String, String>) -> Result<Option<AircraftId>, String> {
        let Some(id) = labels.get(UAS_ID) else { return Ok(None) };
        if !can_be_broadcast(id, LONGEST_ID) {
            return Err(format!(
                "label {UAS_ID} is {id:?} and has to be 1 to {LONGEST_ID} characters; set it to the id of the aircraft"
            ));
        }
        Ok(Some(AircraftId {
            kind: self.uas_id,
            id: id.clone(),
        }))
    }
}

fn location(of: &OperatorLocation) -> Result<Location, String> {
    match (of.source, of.latitude_degrees, of.longitude_degrees) {
        (LocationSource::Takeoff, ..) => Ok(Location::Takeoff),
        (LocationSource::Fixed, Some(latitude_deg), Some(longitude_deg)) => Ok(Location::Fixed {
            at: Wgs84 {
                latitude_deg,
                longitude_deg,
            },
            altitude_m: of.altitude_meters,
        }),
        (LocationSource::Fixed, ..) => {
            Err("spec.location.source Fixed needs a place; give latitudeDegrees and longitudeDegrees".to_owned())
        }
    }
}
