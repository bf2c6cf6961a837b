//! Downloads, clearing, and the identity of plans.

use super::*;

#[test]
fn a_download_counts_and_gives_items_with_home_first_where_that_is_item_0() {
    let mut plans = uploaded(&LENIENT, &[16, 17, 20]);
    let count = PlanReply::Count { count: 3, opaque_id: 0 };
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::List),
        [to(STATION, PlanKind::Mission, count)]
    );
    let given = |seq: u16, command: u16, current: bool| {
        let item = item(command);
        [to(STATION, PlanKind::Mission, PlanReply::Item { seq, current, item })]
    };
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::Request { seq: 0 }),
        given(0, 999, false)
    );
    assert_eq!(send(&mut plans, 1.0, PlanBody::Request { seq: 1 }), given(1, 17, false));

    let mut plans = uploaded(&STRICT, &[16, 17, 20]);
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::Request { seq: 0 }),
        [],
        "not outside a download"
    );
    send(&mut plans, 1.0, PlanBody::List);
    assert_eq!(send(&mut plans, 1.0, PlanBody::Request { seq: 0 }), given(0, 16, false));
    assert_eq!(send(&mut plans, 1.0, PlanBody::Request { seq: 1 }), given(1, 17, true));
    send(&mut plans, 1.0, PlanBody::Ack(verdict::ACCEPTED));
    assert_eq!(send(&mut plans, 1.0, PlanBody::Request { seq: 0 }), []);
}

#[test]
fn a_request_past_the_end_is_answered_with_the_count() {
    let mut plans = uploaded(&LENIENT, &[16, 17]);
    let count = PlanReply::Count { count: 2, opaque_id: 0 };
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::Request { seq: 7 }),
        [to(STATION, PlanKind::Mission, count), answer(verdict::INVALID_SEQUENCE)]
    );
}

#[test]
fn a_mission_that_is_flown_is_not_cleared_on_ardupilot() {
    let clear = PlanMessage {
        to: VEHICLE,
        kind: 0,
        body: PlanBody::Clear,
    };
    let flying = PlanNow {
        flying_mission: true,
        ..now(1.0)
    };
    let mut plans = uploaded(&LENIENT, &[16, 17]);
    assert_eq!(plans.receive(flying, STATION, &clear), [answer(verdict::ERROR)]);
    assert_eq!(commands(&plans), [16, 17]);
    let mut plans = uploaded(&STRICT, &[16, 17, 20]);
    plans.receive(flying, STATION, &clear);
    assert!(commands(&plans).is_empty());
}

#[test]
fn all_kinds_are_cleared_at_once_and_an_unknown_kind_is_refused() {
    let mut plans = uploaded(&LENIENT, &[16, 17]);
    let output = receive(&mut plans, 1.0, STATION, 255, PlanBody::Clear);
    let cleared = output
        .iter()
        .filter(|send| matches!(send, PlanOutput::Event(PlanEvent::Cleared(_))));
    assert_eq!(cleared.count(), 3);
    assert!(commands(&plans).is_empty());
    assert_eq!(
        receive(&mut plans, 1.0, STATION, 9, PlanBody::Clear),
        [answer(verdict::UNSUPPORTED)]
    );
    assert_eq!(
        receive(&mut plans, 1.0, STATION, 9, PlanBody::List),
        [answer(verdict::UNSUPPORTED)]
    );
}

#[test]
fn the_identity_of_a_plan_is_that_of_its_content() {
    let (one, same) = (uploaded(&STRICT, &[16, 17, 20]), uploaded(&STRICT, &[16, 17, 20]));
    let other = uploaded(&STRICT, &[16, 20, 17]);
    let id = |plans: &Plans| plans.opaque_id(PlanKind::Mission);
    assert!(id(&one) != 0 && id(&one) == id(&same) && id(&one) != id(&other));
    assert_eq!(id(&Plans::new(&STRICT)), 0);
    assert_eq!(id(&uploaded(&LENIENT, &[16, 17])), 0);
}
