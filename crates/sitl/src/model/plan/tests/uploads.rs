//! Uploads: asking, repeating, refusing, giving up.

use super::*;

#[test]
fn an_upload_requests_one_item_after_the_other_and_ends_with_an_ack() {
    for rules in [&LENIENT, &STRICT] {
        let mut plans = Plans::new(rules);
        assert_eq!(send(&mut plans, 1.0, PlanBody::Count(3)), [requests(rules, 0)]);
        assert_eq!(bring(&mut plans, 0, 16), [requests(rules, 1)]);
        assert_eq!(bring(&mut plans, 1, 22), [requests(rules, 2)]);
        let last = bring(&mut plans, 2, 20);
        let accepted = PlanReply::Ack {
            verdict: verdict::ACCEPTED,
            opaque_id: plans.opaque_id(PlanKind::Mission),
        };
        assert_eq!(
            last,
            [
                to(STATION, PlanKind::Mission, accepted),
                PlanOutput::Event(PlanEvent::Received(PlanKind::Mission))
            ]
        );
        assert_eq!(commands(&plans), [16, 22, 20]);
        assert!(!plans.is_receiving());
    }
}

#[test]
fn an_unanswered_request_is_repeated_and_the_upload_is_given_up_in_the_end() {
    let mut plans = Plans::new(&LENIENT);
    send(&mut plans, 10.0, PlanBody::Count(3));
    assert_eq!(plans.tick(now(10.9)), []);
    assert_eq!(plans.tick(now(11.0)), [requests(&LENIENT, 0)]);
    assert_eq!(
        plans.tick(now(18.0)),
        [
            answer(verdict::CANCELLED),
            PlanOutput::Event(PlanEvent::TimedOut(PlanKind::Mission))
        ]
    );
    assert_eq!(plans.tick(now(30.0)), []);

    let mut plans = Plans::new(&STRICT);
    send(&mut plans, 10.0, PlanBody::Count(3));
    assert_eq!(plans.tick(now(10.25)), [requests(&STRICT, 0)]);
    assert_eq!(
        plans.tick(now(15.0)),
        [PlanOutput::Event(PlanEvent::TimedOut(PlanKind::Mission))]
    );
}

#[test]
fn before_the_boot_ends_requests_wait() {
    let mut plans = Plans::new(&LENIENT);
    let booting = PlanNow {
        sends_requests: false,
        ..now(0.7)
    };
    let count = PlanMessage {
        to: VEHICLE,
        kind: 0,
        body: PlanBody::Count(3),
    };
    assert_eq!(plans.receive(booting, STATION, &count), []);
    assert!(plans.has_unsent_request());
    assert_eq!(plans.tick(booting), []);
    assert_eq!(
        plans.tick(now(20.0)),
        [requests(&LENIENT, 0)],
        "and its clock begins now"
    );
    assert!(!plans.has_unsent_request());
}

#[test]
fn an_item_out_of_order_is_refused_or_passed_over_and_the_upload_goes_on() {
    for (rules, expected) in [
        (&LENIENT, vec![answer(verdict::INVALID_SEQUENCE)]),
        (&STRICT, Vec::new()),
    ] {
        let mut plans = Plans::new(rules);
        send(&mut plans, 1.0, PlanBody::Count(3));
        assert_eq!(bring(&mut plans, 2, 16), expected);
        assert_eq!(bring(&mut plans, 0, 16), [requests(rules, 1)]);
    }
}

#[test]
fn a_wrong_item_keeps_an_upload_alive_only_where_any_item_does() {
    let wrong = PlanBody::Item { seq: 2, item: item(16) };
    let mut plans = Plans::new(&LENIENT);
    send(&mut plans, 10.0, PlanBody::Count(3));
    send(&mut plans, 17.0, wrong);
    plans.tick(now(18.0));
    assert!(!plans.is_receiving());

    let mut plans = Plans::new(&STRICT);
    send(&mut plans, 10.0, PlanBody::Count(3));
    send(&mut plans, 14.0, wrong);
    plans.tick(now(15.0));
    assert!(plans.is_receiving());
    plans.tick(now(19.0));
    assert!(!plans.is_receiving());
}

#[test]
fn a_refused_item_ends_the_upload_and_only_an_atomic_mission_is_stored_whole() {
    let refused = [
        answer(verdict::UNSUPPORTED),
        PlanOutput::Event(PlanEvent::Refused(PlanKind::Mission, verdict::UNSUPPORTED)),
    ];
    let mut plans = uploaded(&STRICT, &[16, 17, 20]);
    send(&mut plans, 1.0, PlanBody::Count(3));
    bring(&mut plans, 0, 22);
    assert_eq!(bring(&mut plans, 1, BAD), refused);
    assert_eq!(commands(&plans), [16, 17, 20]);

    let mut plans = uploaded(&LENIENT, &[16, 17, 20]);
    send(&mut plans, 1.0, PlanBody::Count(2));
    bring(&mut plans, 0, 22);
    assert_eq!(bring(&mut plans, 1, BAD), refused);
    assert_eq!(
        commands(&plans),
        [22, 17],
        "shortened at once, and item by item replaced"
    );
    assert_eq!(
        bring(&mut plans, 1, 16),
        [answer(verdict::ERROR)],
        "no upload is open any more"
    );
}

#[test]
fn a_fence_is_stored_whole_by_both() {
    for rules in [&LENIENT, &STRICT] {
        let mut plans = Plans::new(rules);
        receive(&mut plans, 1.0, STATION, 1, PlanBody::Count(3));
        receive(
            &mut plans,
            1.0,
            STATION,
            1,
            PlanBody::Item {
                seq: 0,
                item: item(5001),
            },
        );
        assert_eq!(plans.items(PlanKind::Fence), []);
    }
}

#[test]
fn a_plan_that_does_not_hold_together_is_refused_as_a_whole() {
    let mut plans = uploaded(&STRICT, &[16, 17, 20]);
    send(&mut plans, 1.0, PlanBody::Count(2));
    bring(&mut plans, 0, 22);
    assert_eq!(
        bring(&mut plans, 1, 16),
        [
            answer(verdict::ERROR),
            PlanOutput::Event(PlanEvent::Invalid(PlanKind::Mission, vec!["too short".to_owned()]))
        ]
    );
    assert_eq!(commands(&plans), [16, 17, 20]);
}

#[test]
fn too_many_items_are_refused_and_none_clear_the_plan() {
    let mut plans = uploaded(&LENIENT, &[16, 17, 20]);
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::Count(6)),
        [
            answer(verdict::NO_SPACE),
            PlanOutput::Event(PlanEvent::TooMany(PlanKind::Mission, 5))
        ]
    );
    assert_eq!(commands(&plans), [16, 17, 20]);
    assert_eq!(
        send(&mut plans, 1.0, PlanBody::Count(0)),
        [
            answer(verdict::ACCEPTED),
            PlanOutput::Event(PlanEvent::Cleared(PlanKind::Mission))
        ]
    );
    assert!(commands(&plans).is_empty());
}

#[test]
fn two_stations_cannot_upload_at_once_but_one_may_start_over() {
    let mut plans = Plans::new(&LENIENT);
    send(&mut plans, 1.0, PlanBody::Count(3));
    let denied = to(OTHER, PlanKind::Mission, plan_ack(verdict::DENIED));
    assert_eq!(
        receive(&mut plans, 1.0, OTHER, 0, PlanBody::Count(2)),
        std::slice::from_ref(&denied)
    );
    assert_eq!(receive(&mut plans, 1.0, OTHER, 0, PlanBody::List), [denied]);
    bring(&mut plans, 0, 16);
    assert_eq!(send(&mut plans, 1.0, PlanBody::Count(2)), [requests(&LENIENT, 0)]);
}

#[test]
fn a_fence_beside_an_open_mission_upload_is_taken_or_passed_over() {
    let mut plans = Plans::new(&LENIENT);
    send(&mut plans, 1.0, PlanBody::Count(3));
    assert_eq!(
        receive(&mut plans, 1.0, STATION, 1, PlanBody::Count(1)),
        [to(STATION, PlanKind::Fence, LENIENT.request(0))]
    );

    let mut plans = Plans::new(&STRICT);
    send(&mut plans, 1.0, PlanBody::Count(3));
    assert_eq!(
        receive(&mut plans, 1.0, STATION, 1, PlanBody::Count(1)),
        [requests(&STRICT, 0)],
        "the mission is asked on with"
    );
}

#[test]
fn an_upload_is_cancelled_by_its_own_peer_where_that_is_possible() {
    for (rules, goes_on) in [(&LENIENT, true), (&STRICT, false)] {
        let mut plans = Plans::new(rules);
        send(&mut plans, 1.0, PlanBody::Count(3));
        receive(&mut plans, 1.0, OTHER, 0, PlanBody::Ack(verdict::CANCELLED));
        assert!(plans.is_receiving(), "another peer cannot");
        send(&mut plans, 1.0, PlanBody::Ack(verdict::CANCELLED));
        assert_eq!(plans.is_receiving(), goes_on);
    }
}
