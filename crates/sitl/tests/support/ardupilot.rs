//! ArduCopter in the states that tests begin with.

use sitl::wire::{PlanBody, PlanItem, PlanMessage, PlanReply, Request};

use super::Verdict::{self, Accepted};
use super::{Autopilot, Bench, HOME, Outgoing, US, VehicleConfig};

pub const AUTO: u32 = 3;
pub const GUIDED: u32 = 4;
pub const LOITER: u32 = 5;
pub const RTL: u32 = 6;
pub const LAND: u32 = 9;
pub const GROUND_STATION: u8 = 6;

pub fn set_mode(bench: &mut Bench, mode: u32) -> Verdict {
    bench.command(176, [1.0, mode as f32, 0.0, 0.0, 0.0, 0.0, 0.0])
}

pub fn take_off(bench: &mut Bench, height_m: f32) -> Verdict {
    bench.command(22, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, height_m])
}

pub fn land(bench: &mut Bench) -> Verdict {
    bench.command(21, [0.0; 7])
}

/// Ready in GUIDED at 42.5 s, with heartbeats and streams.
pub fn ready() -> Bench {
    ready_with(VehicleConfig::new(Autopilot::ArduPilot, 1, HOME))
}

pub fn ready_with(config: VehicleConfig) -> Bench {
    let mut bench = Bench::with(config);
    bench.pass_to(0.5);
    for (message, hz) in [(1, 1.0), (245, 10.0), (33, 4.0), (147, 1.0)] {
        bench.stream(message, hz);
    }
    bench.pass_to(42.5);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    bench
}

pub fn hovering(height_m: f32) -> Bench {
    hover(ready(), height_m)
}

pub fn hover(mut bench: Bench, height_m: f32) -> Bench {
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(take_off(&mut bench, height_m), Accepted);
    bench.until("in the air", 60.0, |bench| bench.truth().landed_state == 2);
    bench
}

pub fn set_parameter(bench: &mut Bench, name: &str, value: f32) {
    bench.receive(Request::ParamSet {
        to: US,
        name: name.to_owned(),
        value,
        kind: 9,
    });
}

/// Meters north and east of home, and above it.
pub fn item(command: u16, north: f64, east: f64, up: f32) -> PlanItem {
    let (x, y) = HOME.offset_meters(north, east).e7();
    PlanItem {
        command,
        frame: 3,
        params: [0.0; 4],
        x,
        y,
        z: up,
        autocontinue: 1,
    }
}

pub fn lift_to(up: f32) -> PlanItem {
    PlanItem {
        x: 0,
        y: 0,
        ..item(22, 0.0, 0.0, up)
    }
}

pub fn square(command: u16, half: f64) -> Vec<PlanItem> {
    [(half, half), (half, -half), (-half, -half), (-half, half)]
        .map(|(north, east)| PlanItem {
            params: [4.0, 0.0, 0.0, 0.0],
            ..item(command, north, east, 0.0)
        })
        .to_vec()
}

pub fn plan(bench: &mut Bench, kind: u8, body: PlanBody) -> Vec<PlanReply> {
    let before = bench.sent.len();
    bench.receive(Request::Plan(PlanMessage { to: US, kind, body }));
    let reply = |sent: &(f64, Outgoing)| match sent.1 {
        Outgoing::Plan { reply, .. } => Some(reply),
        _ => None,
    };
    bench.sent[before..].iter().filter_map(reply).collect()
}

pub fn upload(bench: &mut Bench, kind: u8, items: &[PlanItem]) -> PlanReply {
    let mut last = plan(bench, kind, PlanBody::Count(items.len() as u16));
    for (seq, item) in items.iter().enumerate() {
        let seq = seq as u16;
        assert_eq!(last, [PlanReply::Request { seq, old: true }], "it asks item by item");
        last = plan(bench, kind, PlanBody::Item { seq, item: *item });
    }
    assert_eq!(last.len(), 1, "one answer: {last:?}");
    last[0]
}

/// Answer without an identity, as ArduPilot sends it.
pub fn answer(verdict: u8) -> PlanReply {
    PlanReply::Ack { verdict, opaque_id: 0 }
}
