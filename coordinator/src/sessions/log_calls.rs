//! Questions about logs on the stream of one agent: one at a time, paced, and given up when no answer comes.

use model::logs::ReadPace;
use proto::v1;
use proto::v1::log_question::What;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

pub const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// For one agent.
const MAX_WAITING_QUESTIONS: usize = 4;

#[derive(Debug)]
pub struct LogCall {
    /// Its number is ours to give.
    pub question: v1::LogQuestion,
    /// Closed when no answer will come.
    pub answer: oneshot::Sender<v1::LogAnswer>,
}

#[derive(Debug)]
pub struct LogCalls {
    calls: mpsc::Receiver<LogCall>,
    asked: Option<Asked>,
    count: u64,
    pace: ReadPace,
    not_before: Instant,
}

#[derive(Debug)]
struct Asked {
    number: u64,
    at: Instant,
    reads: bool,
    answer: oneshot::Sender<v1::LogAnswer>,
}

impl LogCalls {
    pub(super) fn channel() -> (mpsc::Sender<LogCall>, Self) {
        let (sender, calls) = mpsc::channel(MAX_WAITING_QUESTIONS);
        let all = Self {
            calls,
            asked: None,
            count: 0,
            pace: ReadPace::default(),
            not_before: Instant::now(),
        };
        (sender, all)
    }

    /// The next question to send, once the one before is answered or overdue and the line has rested. Safe to cancel.
    pub async fn next(&mut self) -> v1::LogQuestion {
        loop {
            if let Some(asked) = &self.asked {
                sleep_until(asked.at + ANSWER_WITHIN).await;
                self.asked = None;
                self.pace.lost();
            }
            sleep_until(self.not_before).await;
            let Some(LogCall { mut question, answer }) = self.calls.recv().await else {
                return std::future::pending().await;
            };
            if answer.is_closed() {
                continue;
            }
            self.count += 1;
            question.number = self.count;
            let mut reads = false;
            if let Some(What::Read(read)) = &mut question.what {
                read.most = self.pace.size(read.most);
                reads = true;
            }
            self.asked = Some(Asked {
                number: self.count,
                at: Instant::now(),
                reads,
                answer,
            });
            return question;
        }
    }

    /// Passes the agent's answer on; one that no call waits for is dropped.
    pub fn answered(&mut self, answer: v1::LogAnswer, now: Instant) {
        let Some(asked) = self.asked.take_if(|asked| asked.number == answer.number) else {
            return;
        };
        // A list may have taken its time on the disk, which says nothing about the line.
        if asked.reads {
            self.not_before = now + self.pace.took(now - asked.at);
        }
        // The caller may have gone.
        let _ = asked.answer.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::logs::MOST;
    use tokio::time::timeout;

    fn read() -> v1::LogQuestion {
        let read = v1::LogRead {
            most: u32::MAX,
            ..v1::LogRead::default()
        };
        v1::LogQuestion {
            number: 0,
            what: Some(What::Read(read)),
        }
    }

    fn hand_in(sender: &mpsc::Sender<LogCall>) -> Option<oneshot::Receiver<v1::LogAnswer>> {
        let (answer, pending) = oneshot::channel();
        let question = read();
        sender.try_send(LogCall { question, answer }).ok().map(|()| pending)
    }

    fn answer(number: u64) -> v1::LogAnswer {
        v1::LogAnswer {
            number,
            ..v1::LogAnswer::default()
        }
    }

    fn size(question: &v1::LogQuestion) -> u32 {
        match &question.what {
            Some(What::Read(read)) => read.most,
            other => unreachable!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_question_is_asked_at_a_time_and_few_wait() {
        let (sender, mut calls) = LogCalls::channel();
        let waiting: Vec<_> = (0..MAX_WAITING_QUESTIONS).map(|_| hand_in(&sender).unwrap()).collect();
        assert!(hand_in(&sender).is_none(), "more do not wait");
        let first = calls.next().await;
        assert!(
            timeout(ANSWER_WITHIN / 2, calls.next()).await.is_err(),
            "not answered yet"
        );
        calls.answered(answer(first.number + 1), Instant::now());
        calls.answered(answer(first.number), Instant::now());
        let mut waiting = waiting.into_iter();
        assert_eq!(waiting.next().unwrap().await, Ok(answer(first.number)));
        let second = calls.next().await;
        assert_ne!(second.number, first.number);
        assert!(
            timeout(ANSWER_WITHIN + Duration::from_secs(1), calls.next())
                .await
                .is_ok(),
            "overdue"
        );
        assert!(
            waiting.next().unwrap().await.is_err(),
            "one that waits learns that no answer comes"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_is_asked_for_little_and_rests_as_long_as_it_took() {
        let (sender, mut calls) = LogCalls::channel();
        let mut ask = async |takes: Duration| {
            let pending = hand_in(&sender);
            let begun = Instant::now();
            let question = calls.next().await;
            let rested = begun.elapsed();
            tokio::time::advance(takes).await;
            calls.answered(answer(question.number), Instant::now());
            drop(pending);
            (size(&question), rested)
        };
        for _ in 0..8 {
            ask(Duration::from_millis(10)).await;
        }
        assert_eq!(ask(Duration::from_secs(1)).await.0, MOST);
        let (size, rested) = ask(Duration::from_secs(1)).await;
        assert_eq!(size, MOST / 2);
        assert!(rested >= Duration::from_secs(1), "{rested:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_whose_asker_has_gone_is_not_sent() {
        let (sender, mut calls) = LogCalls::channel();
        drop(hand_in(&sender));
        assert!(timeout(Duration::from_secs(60), calls.next()).await.is_err());
    }
}
