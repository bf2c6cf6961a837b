//! The mission protocol, with rules as lenient as ArduPilot's and as strict as PX4's, with small limits.

mod downloads;
mod uploads;

use super::*;

const STATION: Address = Address {
    system: 255,
    component: 190,
};
const OTHER: Address = Address {
    system: 254,
    component: 190,
};
const VEHICLE: Address = Address {
    system: 1,
    component: 1,
};

static LENIENT: PlanRules = PlanRules {
    asks_the_old_way: true,
    repeat_s: 1.0,
    give_up_s: 8.0,
    gives_up_with: Some(verdict::CANCELLED),
    one_upload_at_a_time: false,
    atomic_missions: false,
    answer_to_wrong_sequence: Some(verdict::INVALID_SEQUENCE),
    any_item_is_life: false,
    answer_to_stray_item: Some(verdict::ERROR),
    gives_items_only_in_a_download: false,
    uploads_can_be_cancelled: false,
    keeps_a_flown_mission: true,
    first_item_is_home: true,
    marks_current: false,
    opaque_ids: false,
    limits: [5, 5, 5],
    judge,
    judge_whole: |_, _| Vec::new(),
    as_stored: |_, item| item,
};

static STRICT: PlanRules = PlanRules {
    asks_the_old_way: false,
    repeat_s: 0.25,
    give_up_s: 5.0,
    gives_up_with: None,
    one_upload_at_a_time: true,
    atomic_missions: true,
    answer_to_wrong_sequence: None,
    any_item_is_life: true,
    answer_to_stray_item: None,
    gives_items_only_in_a_download: true,
    uploads_can_be_cancelled: true,
    keeps_a_flown_mission: false,
    first_item_is_home: false,
    marks_current: true,
    opaque_ids: true,
    limits: [5, 5, 5],
    judge,
    judge_whole: |_, items| {
        let short = items.len() == 2;
        if short {
            vec!["too short".to_owned()]
        } else {
            Vec::new()
        }
    },
    as_stored: |_, item| item,
};

const BAD: u16 = 31999;

fn judge(_: PlanKind, _: usize, item: &PlanItem) -> u8 {
    if item.command == BAD {
        verdict::UNSUPPORTED
    } else {
        verdict::ACCEPTED
    }
}

fn item(command: u16) -> PlanItem {
    PlanItem {
        command,
        frame: 3,
        params: [0.0; 4],
        x: i32::from(command),
        y: 0,
        z: 10.0,
        autocontinue: 1,
    }
}

fn now(now_s: f64) -> PlanNow {
    PlanNow {
        now_s,
        sends_requests: true,
        flying_mission: false,
        home: item(999),
        current: 1,
    }
}

fn receive(plans: &mut Plans, now_s: f64, from: Address, kind: u8, body: PlanBody) -> Vec<PlanOutput> {
    let message = PlanMessage {
        to: VEHICLE,
        kind,
        body,
    };
    plans.receive(now(now_s), from, &message)
}

fn send(plans: &mut Plans, now_s: f64, body: PlanBody) -> Vec<PlanOutput> {
    receive(plans, now_s, STATION, 0, body)
}

fn bring(plans: &mut Plans, seq: u16, command: u16) -> Vec<PlanOutput> {
    send(
        plans,
        1.0,
        PlanBody::Item {
            seq,
            item: item(command),
        },
    )
}

fn to(to: Address, kind: PlanKind, reply: PlanReply) -> PlanOutput {
    PlanOutput::Reply { to, kind, reply }
}

fn answer(verdict: u8) -> PlanOutput {
    to(STATION, PlanKind::Mission, plan_ack(verdict))
}

fn plan_ack(verdict: u8) -> PlanReply {
    super::ack(verdict)
}

fn requests(rules: &PlanRules, seq: u16) -> PlanOutput {
    to(STATION, PlanKind::Mission, rules.request(seq))
}

fn commands(plans: &Plans) -> Vec<u16> {
    plans.items(PlanKind::Mission).iter().map(|item| item.command).collect()
}

fn uploaded(rules: &'static PlanRules, items: &[u16]) -> Plans {
    let mut plans = Plans::new(rules);
    send(&mut plans, 1.0, PlanBody::Count(items.len() as u16));
    for (seq, command) in items.iter().enumerate() {
        bring(&mut plans, seq as u16, *command);
    }
    assert_eq!(commands(&plans), items);
    plans
}
