//! Simulated vehicles in the process of another program.
//!
//! Owns: that they are there once they are reported, and leave nothing behind. What they do is tested elsewhere.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use sitl::cli::{Args, LinkSpec};
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
    // Its task is cut off when the runtime looks at it next.
    while std::fs::read_dir(folder.path()).unwrap().count() > 0 {
        tokio::task::yield_now().await;
    }
}
