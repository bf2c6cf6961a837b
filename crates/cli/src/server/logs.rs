//! An agent's answers about its logs.

use super::{Server, within};
use crate::failure::Failure;
use crate::vehicle::printable;
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use proto::v1::logs_request::Whose;
use std::time::Duration;
use tonic::Code;

/// The coordinator gives an agent 10 s, and others may ask before.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(25);

#[derive(Debug)]
pub enum NoLogs {
    Gone(Failure),
    /// The coordinator does not know who asks: a restarted ground station has other files.
    Unknown(Failure),
    Refused(Failure),
}

impl Server {
    /// Asks once. Also returns the node that was asked, empty from a coordinator that does not report it.
    pub async fn logs(&mut self, whose: &Whose, question: Question) -> Result<(Answer, String), NoLogs> {
        let request = v1::LogsRequest {
            whose: Some(whose.clone()),
            question: Some(v1::LogQuestion {
                number: 0,
                what: Some(question),
            }),
        };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.logs(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        match answer.map(|answer| (answer.what, answer.node)) {
            Ok((Some(Answer::Refused(why)), _)) => Err(NoLogs::Refused(Failure::Failed(printable(&why)))),
            Ok((Some(what), node)) => Ok((what, node)),
            Ok((None, _)) => Err(NoLogs::Refused(no_sense())),
            Err(status) => {
                let again = [
                    Code::Unavailable,
                    Code::DeadlineExceeded,
                    Code::ResourceExhausted,
                    Code::Cancelled,
                ];
                let gone = again.contains(&status.code()) || std::error::Error::source(&status).is_some();
                let why = self.failure(&status);
                Err(match status.code() {
                    _ if gone => NoLogs::Gone(why),
                    Code::Unauthenticated => NoLogs::Unknown(why),
                    _ => NoLogs::Refused(why),
                })
            }
        }
    }
}

pub fn no_sense() -> Failure {
    Failure::Failed("the agent's answer makes no sense; is it of another version? See `skein status`".to_owned())
}
