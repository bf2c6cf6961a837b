//! `GuestCall` and a guest's rights, to and from `model::guest`.

use super::BadMessage;
use crate::v1;
use model::guest::{GuestAccess, GuestCall, GuestCallId};

impl From<GuestAccess> for v1::GuestAccess {
    fn from(access: GuestAccess) -> Self {
        match access {
            GuestAccess::Watch => Self::Watch,
            GuestAccess::Ask => Self::Ask,
            GuestAccess::Control => Self::Control,
            GuestAccess::Command => Self::Command,
        }
    }
}

impl v1::GuestAccess {
    pub const fn allowed(self) -> Option<GuestAccess> {
        match self {
            Self::Unspecified => None,
            Self::Watch => Some(GuestAccess::Watch),
            Self::Ask => Some(GuestAccess::Ask),
            Self::Control => Some(GuestAccess::Control),
            Self::Command => Some(GuestAccess::Command),
        }
    }
}

pub fn guest_call_id(id: GuestCallId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}

/// Errors: other than 16 bytes.
pub fn read_guest_call_id(bytes: &[u8]) -> Result<GuestCallId, BadMessage> {
    let bytes = bytes.try_into().map_err(|_| BadMessage::Missing { field: "id" })?;
    Ok(GuestCallId(u128::from_be_bytes(bytes)))
}

impl From<&GuestCall> for v1::GuestCall {
    fn from(call: &GuestCall) -> Self {
        Self {
            id: guest_call_id(call.id),
            access: v1::GuestAccess::from(call.access).into(),
            person: call.person.clone(),
        }
    }
}

impl TryFrom<v1::GuestCall> for GuestCall {
    type Error = BadMessage;

    fn try_from(call: v1::GuestCall) -> Result<Self, BadMessage> {
        let field = "guest_call.access";
        let access = v1::GuestAccess::try_from(call.access)
            .map_err(|_| BadMessage::UnknownValue {
                field,
                got: call.access,
            })?
            .allowed()
            .ok_or(BadMessage::Missing { field })?;
        Ok(Self {
            id: read_guest_call_id(&call.id)?,
            access,
            person: call.person,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_as_it_was_meant_and_one_without_an_id_or_an_access_is_none() {
        for access in [
            GuestAccess::Watch,
            GuestAccess::Ask,
            GuestAccess::Control,
            GuestAccess::Command,
        ] {
            let call = GuestCall {
                id: GuestCallId(7),
                access,
                person: "user ada".to_owned(),
            };
            let wire = v1::GuestCall::from(&call);
            assert_eq!(GuestCall::try_from(wire.clone()).unwrap(), call);
            let bad = [
                v1::GuestCall {
                    access: 0,
                    ..wire.clone()
                },
                v1::GuestCall {
                    access: 99,
                    ..wire.clone()
                },
                v1::GuestCall { id: vec![7], ..wire },
            ];
            for bad in bad {
                assert!(GuestCall::try_from(bad).is_err());
            }
        }
    }
}
