//! Simulated vehicles in the process of another program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::time::Duration;

use sitl::cli::{Args, Fleet, LinkSpec};
use sitl::faults::{Sudden, What};
use sitl::shell::Simulation;

#[tokio::test]
async fn vehicles_can_be_opened_once_they_are_listed_and_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args {
        count: Some(3),
        ..Args::on(LinkSpec::Pty(folder.path().to_owned()))
    };
    let mut names = Vec::new();
    let notify = |vehicle: sitl::shell::Listed| {
        std::fs::File::open(&vehicle.endpoint)?;
        names.push(vehicle.name);
        Ok(())
    };
    let simulation = Simulation::start(&args, notify).await.unwrap();
    assert_eq!(names, ["vehicle-1", "vehicle-2", "vehicle-3"]);
    simulation.end().await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn vehicles_that_were_begun_are_off_again_when_one_cannot_be_listed() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args {
        count: Some(2),
        ..Args::on(LinkSpec::Pty(folder.path().to_owned()))
    };
    let refused = Simulation::start(&args, |_| anyhow::bail!("nobody listens")).await;
    assert_eq!(refused.unwrap_err().to_string(), "nobody listens");
    // The task ends when the runtime polls it next.
    while std::fs::read_dir(folder.path()).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}

/// An ArduCopter needs 41.4 simulated seconds for a position, and a PX4 four.
#[tokio::test(start_paused = true)]
async fn a_boot_is_faster_than_the_rest_and_a_later_one_is_not() {
    let log = tempfile::tempdir().unwrap();
    let args = Args {
        autopilot: Fleet::Ardupilot,
        boot_speedup: Some(4.0),
        wire_log: Some(log.path().to_owned()),
        ..Args::on(LinkSpec::None)
    };
    let simulation = Simulation::start(&args, |_| Ok(())).await.unwrap();
    // A heartbeat once in a second of its own.
    let beats = || {
        let bytes = std::fs::read(log.path().join("vehicle-1.tlog")).unwrap();
        let is_beat = |frame: &&[u8]| frame[0] == 0xFD && frame[1] == 9 && frame[7..10] == [0; 3];
        bytes.windows(10).filter(is_beat).count()
    };
    let mut heard = 0;
    let mut in_seconds = async |seconds: u64| {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let before = std::mem::replace(&mut heard, beats());
        heard - before
    };
    let booting = in_seconds(10).await;
    assert!((38..=41).contains(&booting), "{booting} in 10 s");
    in_seconds(2).await;
    let ready = in_seconds(20).await;
    assert!((19..=21).contains(&ready), "{ready} in 20 s");
    assert!(simulation.inject("vehicle-1", What::Sudden(Sudden::Reboot)));
    let again = in_seconds(20).await;
    assert!(again <= 21, "{again} in 20 s after a restart");
    simulation.end().await;
}
