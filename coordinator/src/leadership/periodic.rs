//! Periodic work of a leader, in one loop for all of it.
//!
//! Owns: the pause between two runs, and what is logged and counted of a run that fails, takes long or panics. Must not: know what a run
//! does, cut it off, or begin another beside it.

use crate::cluster::api::ApiError;
use crate::leadership::state::LeadershipState;
use crate::metrics::Metrics;
use futures::FutureExt;
use model::backoff::Backoff;
use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// A run that takes longer is logged and counted once, and goes on.
const RUN_DEADLINE: Duration = Duration::from_secs(60);

/// Work that is done again and again.
pub trait Periodic: Send {
    /// Its name in log lines and metrics.
    const NAME: &'static str;

    /// Longest pause between two runs.
    const INTERVAL: Duration;

    /// The part of a pause that is left out at random, 0.0..=1.0 at most.
    const JITTER: f64 = 0.0;

    /// Whether the first run comes before the first pause.
    const AT_ONCE: bool = false;

    /// Whether it is done while another may lead.
    const EVEN_IN_DOUBT: bool = false;

    /// Pauses after failed runs; `None`: as after others.
    const RETRY: Option<Backoff> = None;

    /// Consequence of a failed run, for people.
    const FAILURE: &'static str = "will be tried again";

    fn run(&mut self) -> impl Future<Output = Result<(), ApiError>> + Send;

    /// Done when the pause is to end early. Dropped at the end of the pause, however far it is.
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// Runs the periodic work of a leadership. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Loops(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Arc<LeadershipState>,
    metrics: Metrics,
    ending: CancellationToken,
}

impl Loops {
    pub fn new(state: Arc<LeadershipState>, metrics: Metrics, ending: CancellationToken) -> Self {
        Self(Arc::new(Shared { state, metrics, ending }))
    }

    /// Does `work` until the leadership ends; a run that is under way then is finished. A panic of `work` goes on from here.
    pub async fn run<W: Periodic>(self, mut work: W) {
        self.0.metrics.begin_loop(W::NAME);
        let mut failures = 0_u32;
        let mut rest = if W::AT_ONCE { Duration::ZERO } else { pause::<W>() };
        loop {
            let over = async {
                tokio::select! {
                    () = sleep(rest) => {}
                    () = work.woken() => {}
                }
            };
            if self.0.ending.run_until_cancelled(over).await.is_none() {
                return;
            }
            if !W::EVEN_IN_DOUBT && !self.0.state.acts() {
                rest = pause::<W>();
                continue;
            }
            rest = match self.once(&mut work).await {
                Ok(()) => {
                    failures = 0;
                    pause::<W>()
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.0.metrics.loop_fault(W::NAME, "failed");
                    // Often enough to be noticed, not so often as to hide all else.
                    if failures.is_power_of_two() {
                        tracing::warn!(work = W::NAME, %error, failures, "{}", W::FAILURE);
                    }
                    W::RETRY.map_or_else(pause::<W>, |retry| retry.delay(failures, rand::random()))
                }
            };
        }
    }

    async fn once<W: Periodic>(&self, work: &mut W) -> Result<(), ApiError> {
        let mut run = pin!(AssertUnwindSafe(Box::pin(work.run())).catch_unwind());
        let done = match timeout(RUN_DEADLINE, &mut run).await {
            Ok(done) => done,
            Err(_) => {
                self.0.metrics.loop_fault(W::NAME, "late");
                tracing::warn!(
                    work = W::NAME,
                    seconds = RUN_DEADLINE.as_secs(),
                    "takes longer, and goes on"
                );
                run.await
            }
        };
        match done {
            Ok(result) => result,
            Err(panic) => {
                self.0.metrics.loop_fault(W::NAME, "panicked");
                tracing::error!(work = W::NAME, "ended by a fault of this program");
                resume_unwind(panic)
            }
        }
    }
}

fn pause<W: Periodic>() -> Duration {
    W::INTERVAL.mul_f64(1.0 - W::JITTER * rand::random::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::planning::freshness::Knowledge;
    use std::sync::Mutex;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    enum Does {
        Nothing,
        Fail,
        Take(Duration),
        Panic,
    }

    /// Work that does what is said of its first run, its second, and so on.
    struct Work {
        does: fn(usize) -> Does,
        start: Instant,
        /// Seconds from the start to each run.
        runs: Arc<Mutex<Vec<u64>>>,
        wakes: Arc<Notify>,
    }

    impl Periodic for Work {
        const NAME: &'static str = "work";
        const INTERVAL: Duration = Duration::from_secs(10);
        const RETRY: Option<Backoff> = Some(Backoff {
            first: Duration::from_secs(2),
            cap: Duration::from_secs(2),
        });

        async fn run(&mut self) -> Result<(), ApiError> {
            let number = {
                let mut runs = self.runs.lock().unwrap();
                runs.push(self.start.elapsed().as_secs());
                runs.len()
            };
            match (self.does)(number) {
                Does::Nothing => Ok(()),
                Does::Fail => Err(ApiError::TimedOut { what: "try" }),
                Does::Take(time) => {
                    sleep(time).await;
                    Ok(())
                }
                Does::Panic => panic!("a fault"),
            }
        }

        async fn woken(&mut self) {
            self.wakes.notified().await;
        }
    }

    struct Running {
        runs: Arc<Mutex<Vec<u64>>>,
        wakes: Arc<Notify>,
        state: Arc<LeadershipState>,
        metrics: Metrics,
        ending: CancellationToken,
        task: JoinHandle<()>,
    }

    impl Running {
        fn of(does: fn(usize) -> Does) -> Self {
            let (runs, wakes) = (Arc::default(), Arc::new(Notify::new()));
            let (state, metrics, ending) = (
                Arc::<LeadershipState>::default(),
                Metrics::default(),
                CancellationToken::new(),
            );
            state.knows(Knowledge::Current);
            let work = Work {
                does,
                start: Instant::now(),
                runs: Arc::clone(&runs),
                wakes: Arc::clone(&wakes),
            };
            let task = tokio::spawn(Loops::new(Arc::clone(&state), metrics.clone(), ending.clone()).run(work));
            Self {
                runs,
                wakes,
                state,
                metrics,
                ending,
                task,
            }
        }

        fn runs(&self) -> Vec<u64> {
            self.runs.lock().unwrap().clone()
        }

        fn has_counted(&self, fault: &str, times: u64) -> bool {
            let line = format!("skein_loop_faults_total{{loop=\"work\",fault=\"{fault}\"}} {times}\n");
            self.metrics.text().contains(&line)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_done_after_each_pause_and_as_soon_as_it_is_woken() {
        let running = Running::of(|_| Does::Nothing);
        sleep(Duration::from_millis(35_500)).await;
        assert_eq!(running.runs(), [10, 20, 30]);
        running.wakes.notify_one();
        sleep(Duration::from_secs(11)).await;
        assert_eq!(running.runs(), [10, 20, 30, 35, 45]);
        for fault in ["failed", "late", "panicked"] {
            assert!(running.has_counted(fault, 0), "{fault}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_done_while_another_may_lead() {
        let running = Running::of(|_| Does::Nothing);
        running.state.knows(Knowledge::BeforeLeading);
        sleep(Duration::from_millis(35_500)).await;
        assert!(running.runs().is_empty());
        running.state.knows(Knowledge::Current);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(running.runs(), [40]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_run_is_counted_and_tried_again_sooner() {
        let running = Running::of(|number| if number <= 3 { Does::Fail } else { Does::Nothing });
        sleep(Duration::from_millis(17_500)).await;
        assert_eq!(running.runs().len(), 4, "{:?}", running.runs());
        assert!(running.has_counted("failed", 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_takes_long_is_counted_and_finished_and_no_other_begins_beside_it() {
        let running = Running::of(|number| match number {
            1 => Does::Take(RUN_DEADLINE * 3),
            _ => Does::Nothing,
        });
        sleep(Duration::from_secs(189)).await;
        assert_eq!(running.runs(), [10]);
        assert!(running.has_counted("late", 1));
        sleep(Duration::from_millis(11_500)).await;
        assert_eq!(running.runs(), [10, 200]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_counted_and_ends_the_task_by_which_the_leader_ends() {
        let running = Running::of(|_| Does::Panic);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(running.runs(), [10]);
        assert!(running.has_counted("panicked", 1));
        assert!(running.task.await.is_err_and(|error| error.is_panic()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_under_way_at_the_end_is_finished_and_no_other_begun() {
        let running = Running::of(|_| Does::Take(Duration::from_secs(5)));
        sleep(Duration::from_secs(12)).await;
        let ended = Instant::now();
        running.ending.cancel();
        assert!(running.task.await.is_ok());
        assert!(ended.elapsed() > Duration::from_secs(2), "{:?}", ended.elapsed());
        assert_eq!(*running.runs.lock().unwrap(), [10]);
    }
}
