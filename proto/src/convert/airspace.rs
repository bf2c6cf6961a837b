//! The airspace of a vehicle, for people's tools.

use crate::v1;
use model::owned_airspace::{Owned, Piece};

impl From<&Owned> for v1::Airspace {
    fn from(owned: &Owned) -> Self {
        match owned {
            Owned::Everywhere => Self {
                everywhere: true,
                ..Self::default()
            },
            Owned::Within(pieces, more) => Self {
                everywhere: false,
                pieces: pieces.iter().map(Into::into).collect(),
                not_shown: u32::try_from(*more).unwrap_or(u32::MAX),
            },
        }
    }
}

impl From<&Piece> for v1::AirspacePiece {
    fn from(piece: &Piece) -> Self {
        let place = |at: &model::units::Wgs84| v1::GroundPlace {
            latitude_deg: at.latitude_deg,
            longitude_deg: at.longitude_deg,
        };
        Self {
            core: piece.core.iter().map(place).collect(),
            radius_m: piece.radius.0,
            floor_amsl_m: piece.floor.0,
            ceiling_amsl_m: piece.ceiling.0,
            on_ground: piece.on_ground,
        }
    }
}
