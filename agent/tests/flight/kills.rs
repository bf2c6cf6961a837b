//! A person's order to stop the motors: one frame, at once or never.

use super::*;
use model::kill::{KillAnswer, KillOrder, KillOutcome};
use model::stand_down::StandUp;

impl Agent {
    /// From a coordinator that has the agent's last report.
    fn kill_order(&self, nonce: u64) -> KillOrder {
        KillOrder {
            nonce,
            uid: DroneUid("u-1".into()),
            term: Term(3),
            last_report: self.report().unwrap().made,
        }
    }

    async fn stop_motors(&self, order: KillOrder) {
        self.orders.send(FromUplink::Kill(order, Instant::now())).await.unwrap();
    }

    async fn until_answered(&self, nonce: u64) -> KillOutcome {
        let answered = |out: &Outward| out.kill_answer.clone().filter(|answer| answer.nonce == nonce);
        let began = Instant::now();
        loop {
            if let Some(KillAnswer { outcome, .. }) = answered(&self.reports.borrow()) {
                return outcome;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "no answer to order {nonce}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn holding(kind: Kind) -> (Vehicle, Agent) {
    let vehicle = Vehicle::new(kind);
    let agent = vehicle.flown().await;
    vehicle.see(|w| w.may_be_killed = true);
    (vehicle, agent)
}

fn frames(vehicle: &Vehicle) -> usize {
    vehicle.see(|w| w.count(ARM))
}

#[tokio::test(start_paused = true)]
async fn a_confirmed_kill_stops_the_motors_with_one_frame_and_ends_the_flight_for_good() {
    for kind in BOTH {
        let (vehicle, agent) = holding(kind).await;
        agent.stop_motors(agent.kill_order(9)).await;
        assert_eq!(agent.until_answered(9).await, KillOutcome::Accepted, "{kind:?}");
        let killed = |r: &Report| r.activity == Activity::HandsOff(HandsOff::Killed);
        agent.until("killed", 10, killed).await;
        assert_eq!(frames(&vehicle), 2, "{kind:?}: armed once, killed once");
        // Neither a ground order and its release nor a restart brings it up again.
        agent.order(grounded(2)).await;
        agent.until("grounded", 10, |r| r.activity == Activity::Idle).await;
        agent.order(flying(3)).await;
        agent.until("still killed", 10, killed).await;
        agent.kill().await;
        let agent = vehicle.agent();
        agent.connect(flying(4)).await;
        agent.until("killed after a restart", 20, killed).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(frames(&vehicle), 2, "{kind:?}");
        // Nor does another Drone, before a person has checked the vehicle.
        let Order::Assigned(other) = flying(1) else { panic!() };
        let uid = DroneUid("u-2".into());
        agent.order(Order::Assigned(Assignment { uid, ..other })).await;
        let left_to_a_person = |r: &Report| r.activity == Activity::NotArmable;
        agent.until("left to a person", 20, left_to_a_person).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(frames(&vehicle), 2, "{kind:?}");
        let (term, number) = (Term(3), 1);
        let looked = FromUplink::StandUp(StandUp { term, number });
        agent.orders.send(looked).await.unwrap();
        agent.until_holding().await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kill_that_was_sent_twice_or_late_or_for_another_is_not_carried_out() {
    let (vehicle, agent) = holding(Kind::Px4).await;
    vehicle.see(|w| w.refuse_kill = true);
    let first = agent.kill_order(1);
    agent.stop_motors(first.clone()).await;
    assert_eq!(agent.until_answered(1).await, KillOutcome::Refused("FAILED".into()));
    vehicle.see(|w| w.refuse_kill = false);
    let before = frames(&vehicle);
    agent.stop_motors(first).await;
    let mut wrong = [agent.kill_order(2), agent.kill_order(3), agent.kill_order(4)];
    wrong[0].uid = DroneUid("u-2".into());
    wrong[1].term = Term(2);
    wrong[2].term = Term(4);
    for order in wrong {
        let nonce = order.nonce;
        agent.stop_motors(order).await;
        assert!(matches!(agent.until_answered(nonce).await, KillOutcome::NotSent(_)));
    }
    let old = agent.kill_order(5);
    sleep(Duration::from_secs(4)).await;
    agent.stop_motors(old).await;
    assert!(matches!(agent.until_answered(5).await, KillOutcome::NotSent(why) if why.contains("too long")));
    let order = FromUplink::Kill(agent.kill_order(6), Instant::now());
    sleep(Duration::from_secs(3)).await;
    agent.orders.send(order).await.unwrap();
    assert!(matches!(agent.until_answered(6).await, KillOutcome::NotSent(why) if why.contains("too long")));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(frames(&vehicle), before);
    assert!(vehicle.see(|w| w.armed));
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_kill_without_an_answer_is_sent_once_and_says_that_nothing_is_known() {
    let (vehicle, agent) = holding(Kind::ArduCopter).await;
    vehicle.see(|w| {
        w.mute_acks = true;
        w.refuse_kill = true;
    });
    agent.stop_motors(agent.kill_order(1)).await;
    assert_eq!(agent.until_answered(1).await, KillOutcome::NoAnswer);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(frames(&vehicle), 2);
    vehicle.see(|w| w.mute_acks = false);
    agent.order(grounded(2)).await;
    agent
        .until("landed", 60, |r| r.held.as_ref().is_some_and(|h| h.settled))
        .await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn no_kill_comes_out_of_a_line_or_a_stream_that_was_down() {
    let (vehicle, agent) = holding(Kind::Px4).await;
    vehicle.unplug().await;
    agent.until("silent", 10, |r| !r.link_alive).await;
    agent.stop_motors(agent.kill_order(1)).await;
    assert!(matches!(agent.until_answered(1).await, KillOutcome::NotSent(_)));
    vehicle.plugged.store(true, Ordering::SeqCst);
    agent.until("heard again", 20, |r| r.link_alive).await;
    agent.orders.send(FromUplink::Closed).await.unwrap();
    agent.orders.send(FromUplink::Opened).await.unwrap();
    agent.stop_motors(agent.kill_order(2)).await;
    assert!(matches!(agent.until_answered(2).await, KillOutcome::NotSent(_)));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(frames(&vehicle), 1);
    agent.kill().await;
}

#[tokio::test]
async fn a_kill_does_not_wait_for_a_disk_that_does_not_answer() {
    use nix::sys::stat::Mode;
    let vehicle = Vehicle::new(Kind::Px4);
    vehicle.see(|w| w.may_be_killed = true);
    let agent = vehicle.agent();
    agent.connect(grounded(1)).await;
    agent.until("held", 20, |r| r.held.is_some() && r.link_alive).await;
    // The open of the new file waits for a reader, from the next order on.
    let hung = vehicle.dir.path().join("state.json.new");
    nix::unistd::mkfifo(&hung, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let answers = Answers(hung);
    let order = agent.kill_order(3);
    agent.order(grounded(2)).await;
    let ordered = Instant::now();
    agent.stop_motors(order).await;
    while frames(&vehicle) == 0 {
        assert!(ordered.elapsed() < Duration::from_millis(700), "it waits for the disk");
        sleep(Duration::from_millis(10)).await;
    }
    drop(answers);
    agent.kill().await;
}
