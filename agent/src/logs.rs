//! Logs for people: what the agent answers to the questions of `skein logs`.
//!
//! Owns: [`LogDesk`], where questions are asked, one after the other and away from all that flies, and what answers them: the logs on the
//! disk ([`library`], [`digest`]), what is in one ([`records`], [`summary`], [`lines`]), and those of the
//! autopilot, which come by MAVLink FTP to the disk first (`wanted`, `fetch`, `autopilot`, `shelf`). Must not: change a log, or be waited for.

mod autopilot;
pub mod digest;
pub(crate) mod fetch;
pub mod library;
pub mod lines;
pub mod no_answer;
pub mod records;
pub(crate) mod shelf;
pub mod summary;
pub(crate) mod wanted;

pub use wanted::Wanted;

use crate::flight_log;
use crate::sent::Sent;
use digest::{Digest, ThreadClock};
use library::Library;
use model::ids::NodeName;
use no_answer::NoAnswer;
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument, error};

const LISTED: usize = 100;

/// The default one answers nothing. It ends with its last copy.
#[derive(Clone, Debug, Default)]
pub struct LogDesk(Option<mpsc::Sender<Asked>>);

#[derive(Debug)]
struct Asked {
    question: v1::LogQuestion,
    answer: oneshot::Sender<v1::LogAnswer>,
}

impl LogDesk {
    /// Needs a tokio runtime. `wanted` brings the autopilot's logs; `sent` are those in the store.
    pub fn open(config: &flight_log::Config, node: NodeName, wanted: Wanted, sent: Sent) -> Self {
        let (desk, questions) = mpsc::channel(1);
        tokio::spawn(serve(Library::of(config, node, wanted, sent), questions).in_current_span());
        Self(Some(desk))
    }

    /// `None`: the desk is busy; ask again later.
    pub fn ask(&self, question: v1::LogQuestion) -> Option<oneshot::Receiver<v1::LogAnswer>> {
        let (answer, pending) = oneshot::channel();
        self.0.as_ref()?.try_send(Asked { question, answer }).ok()?;
        Some(pending)
    }
}

async fn serve(library: Library, mut questions: mpsc::Receiver<Asked>) {
    let mut library = Some(library);
    while let Some(Asked { question, answer }) = questions.recv().await {
        let Some(mut reading) = library.take() else { return };
        let answered = tokio::task::spawn_blocking(move || {
            let answer = answer_of(&mut reading, question);
            (reading, answer)
        });
        match answered.await {
            Ok((reading, answered)) => {
                library = Some(reading);
                if let Some(answered) = answered {
                    // The one that asked may have gone.
                    let _ = answer.send(answered);
                }
            }
            Err(fault) => {
                error!(%fault, "reading flight logs has failed, which is a fault of the agent; it answers no more questions about them");
                return;
            }
        }
    }
}

/// `None`: not known yet, to be asked again.
fn answer_of(library: &mut Library, question: v1::LogQuestion) -> Option<v1::LogAnswer> {
    let number = question.number;
    let what = match question.what {
        Some(Question::List(list)) if !list.on_autopilot => library.list().map(Answer::Files),
        Some(Question::List(_)) => library.list_on_autopilot().map(Answer::Files),
        Some(Question::Fetch(fetch)) => library.fetch(&fetch).map(Answer::Fetched),
        Some(Question::Read(read)) => library.read(&read).map(Answer::Bytes),
        Some(Question::Digest(asked)) => match library.digest(&asked, &mut ThreadClock::default()) {
            Ok(Digest::Done(sha256)) => Ok(Answer::Sha256(sha256)),
            Ok(Digest::Open(done)) if asked.in_parts => Ok(Answer::Digested(done)),
            Ok(Digest::Open(_)) => return None,
            Err(why) => Err(why),
        },
        Some(Question::Lines(lines)) => library.lines(&lines).map(Answer::Text),
        None => Err(NoAnswer::NotUnderstood),
    };
    let what = what.unwrap_or_else(|why| Answer::Refused(why.to_string()));
    Some(v1::LogAnswer {
        number,
        what: Some(what),
        ..v1::LogAnswer::default()
    })
}
