//! Messages of the mission protocol, which also carries fences and rally points (MAVLink common.xml).

use super::Address;
use super::fields::Fields;

const MISSION_ITEM: u32 = 39;
const MISSION_REQUEST: u32 = 40;
const MISSION_SET_CURRENT: u32 = 41;
const MISSION_REQUEST_LIST: u32 = 43;
const MISSION_COUNT: u32 = 44;
const MISSION_CLEAR_ALL: u32 = 45;
const MISSION_ACK: u32 = 47;
const MISSION_REQUEST_INT: u32 = 51;
const MISSION_ITEM_INT: u32 = 73;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanItem {
    pub command: u16,
    pub frame: u8,
    pub params: [f32; 4],
    /// Latitude × 10⁷ for items with a place; `y` is the longitude.
    pub x: i32,
    pub y: i32,
    /// Altitude in `frame`, meters.
    pub z: f32,
    /// 1: continues with the next item when this one is done.
    pub autocontinue: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanMessage {
    pub to: Address,
    /// MAV_MISSION_TYPE: 0 mission, 1 fence, 2 rally, 255 all.
    pub kind: u8,
    pub body: PlanBody,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlanBody {
    Count(u16),
    Item {
        seq: u16,
        item: PlanItem,
    },
    List,
    Request {
        seq: u16,
    },
    /// The end of a download, or 15 to cancel.
    Ack(u8),
    Clear,
    SetCurrent {
        seq: u16,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlanReply {
    /// MISSION_REQUEST_INT (51), or MISSION_REQUEST (40) when `old`.
    Request {
        seq: u16,
        old: bool,
    },
    Count {
        count: u16,
        /// 0 when the vehicle has no such identities.
        opaque_id: u32,
    },
    Item {
        seq: u16,
        current: bool,
        item: PlanItem,
    },
    Ack {
        verdict: u8,
        opaque_id: u32,
    },
}

pub(super) fn decode(id: u32, p: Fields<'_>) -> Option<PlanMessage> {
    let message = |target: usize, kind: usize, body: PlanBody| PlanMessage {
        to: Address {
            system: p.u8(target),
            component: p.u8(target + 1),
        },
        kind: p.u8(kind),
        body,
    };
    Some(match id {
        MISSION_COUNT => message(2, 4, PlanBody::Count(p.u16(0))),
        MISSION_REQUEST | MISSION_REQUEST_INT => message(2, 4, PlanBody::Request { seq: p.u16(0) }),
        // It has no field for a kind of plan.
        MISSION_SET_CURRENT => PlanMessage {
            kind: 0,
            ..message(2, 4, PlanBody::SetCurrent { seq: p.u16(0) })
        },
        MISSION_REQUEST_LIST => message(0, 2, PlanBody::List),
        MISSION_CLEAR_ALL => message(0, 2, PlanBody::Clear),
        MISSION_ACK => message(0, 3, PlanBody::Ack(p.u8(2))),
        MISSION_ITEM | MISSION_ITEM_INT => {
            // The old form has degrees.
            let place = |offset: usize| match id {
                MISSION_ITEM => (f64::from(p.f32(offset)) * 1e7) as i32,
                _ => p.i32(offset),
            };
            let item = PlanItem {
                command: p.u16(30),
                frame: p.u8(34),
                params: [p.f32(0), p.f32(4), p.f32(8), p.f32(12)],
                x: place(16),
                y: place(20),
                z: p.f32(24),
                autocontinue: p.u8(36),
            };
            message(32, 37, PlanBody::Item { seq: p.u16(28), item })
        }
        _ => return None,
    })
}

pub(super) fn encode(to: Address, kind: u8, reply: &PlanReply) -> (u32, Vec<u8>) {
    let mut payload = Vec::with_capacity(40);
    match *reply {
        PlanReply::Request { seq, old } => {
            payload.extend(seq.to_le_bytes());
            payload.extend([to.system, to.component, kind]);
            (if old { MISSION_REQUEST } else { MISSION_REQUEST_INT }, payload)
        }
        PlanReply::Count { count, opaque_id } => {
            payload.extend(count.to_le_bytes());
            payload.extend([to.system, to.component, kind]);
            payload.extend(opaque_id.to_le_bytes());
            (MISSION_COUNT, payload)
        }
        PlanReply::Ack { verdict, opaque_id } => {
            payload.extend([to.system, to.component, verdict, kind]);
            payload.extend(opaque_id.to_le_bytes());
            (MISSION_ACK, payload)
        }
        PlanReply::Item { seq, current, item } => {
            payload.extend(item.params.iter().flat_map(|param| param.to_le_bytes()));
            payload.extend(item.x.to_le_bytes());
            payload.extend(item.y.to_le_bytes());
            payload.extend(item.z.to_le_bytes());
            payload.extend(seq.to_le_bytes());
            payload.extend(item.command.to_le_bytes());
            payload.extend([to.system, to.component, item.frame, u8::from(current)]);
            payload.extend([item.autocontinue, kind]);
            (MISSION_ITEM_INT, payload)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: Address = Address {
        system: 255,
        component: 190,
    };

    #[test]
    fn an_item_that_was_encoded_is_decoded_the_same() {
        let item = PlanItem {
            command: 16,
            frame: 3,
            params: [1.0, 2.0, 3.0, f32::INFINITY],
            x: 473_977_420,
            y: -85_455_940,
            z: 10.5,
            autocontinue: 1,
        };
        let (id, payload) = encode(
            TO,
            1,
            &PlanReply::Item {
                seq: 300,
                current: false,
                item,
            },
        );
        let message = decode(id, Fields(&payload)).unwrap();
        assert_eq!((message.to, message.kind), (TO, 1));
        assert_eq!(message.body, PlanBody::Item { seq: 300, item });
    }

    #[test]
    fn the_old_item_in_degrees_becomes_one_in_integers() {
        let mut payload = vec![0; 37];
        payload[16..20].copy_from_slice(&47.5_f32.to_le_bytes());
        payload[28..30].copy_from_slice(&7_u16.to_le_bytes());
        let Some(PlanBody::Item { seq, item }) = decode(MISSION_ITEM, Fields(&payload)).map(|message| message.body)
        else {
            panic!("not an item");
        };
        assert_eq!((seq, item.x), (7, 475_000_000));
    }

    #[test]
    fn a_count_of_a_fence_has_its_type() {
        let (id, payload) = encode(TO, 1, &PlanReply::Count { count: 4, opaque_id: 9 });
        let message = decode(id, Fields(&payload)).unwrap();
        assert_eq!((message.kind, message.body), (1, PlanBody::Count(4)));
    }
}
