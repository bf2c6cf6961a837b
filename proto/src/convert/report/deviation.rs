//! Parts of a `Report`: why a flight is not as ordered, and what is owed.

use super::{moment, ms};
use crate::v1;
use model::alarm::Cause;
use model::answer::{Answer, Owed, Stalled};
use model::failsafe::{Diversion, Diverted};
use model::takeover::Descent;
use model::units::AltitudeAboveHome;
use model::whereabouts::Astray;

/// Characters of an autopilot's words.
const LONGEST: usize = 300;

fn clipped(words: &str) -> String {
    words.chars().take(LONGEST).collect()
}

impl From<&Diversion> for v1::Diversion {
    fn from(diversion: &Diversion) -> Self {
        let why = match diversion.why {
            Diverted::LowBattery => v1::DiversionWhy::LowBattery,
            Diverted::CoordinatorLoss => v1::DiversionWhy::CoordinatorLoss,
            Diverted::Autopilot(Cause::Battery) => v1::DiversionWhy::AutopilotBattery,
            Diverted::Autopilot(Cause::GroundStation) => v1::DiversionWhy::AutopilotGroundStation,
            Diverted::Autopilot(Cause::RemoteControl) => v1::DiversionWhy::AutopilotRemoteControl,
            Diverted::Autopilot(Cause::Fence) => v1::DiversionWhy::AutopilotFence,
            Diverted::Autopilot(Cause::Position) => v1::DiversionWhy::AutopilotPosition,
            Diverted::Autopilot(Cause::Propulsion) => v1::DiversionWhy::AutopilotPropulsion,
            Diverted::Autopilot(Cause::Other) => v1::DiversionWhy::Unspecified,
        };
        Self {
            why: why.into(),
            words: diversion.words.clone(),
        }
    }
}

impl From<v1::Diversion> for Diversion {
    fn from(diversion: v1::Diversion) -> Self {
        Self {
            why: match diversion.why() {
                v1::DiversionWhy::LowBattery => Diverted::LowBattery,
                v1::DiversionWhy::CoordinatorLoss => Diverted::CoordinatorLoss,
                v1::DiversionWhy::AutopilotBattery => Diverted::Autopilot(Cause::Battery),
                v1::DiversionWhy::AutopilotGroundStation => Diverted::Autopilot(Cause::GroundStation),
                v1::DiversionWhy::AutopilotRemoteControl => Diverted::Autopilot(Cause::RemoteControl),
                v1::DiversionWhy::AutopilotFence => Diverted::Autopilot(Cause::Fence),
                v1::DiversionWhy::AutopilotPosition => Diverted::Autopilot(Cause::Position),
                v1::DiversionWhy::AutopilotPropulsion => Diverted::Autopilot(Cause::Propulsion),
                v1::DiversionWhy::Unspecified => Diverted::Autopilot(Cause::Other),
            },
            words: clipped(&diversion.words),
        }
    }
}

impl From<Astray> for v1::Astray {
    fn from(astray: Astray) -> Self {
        use v1::astray::What;
        let what = match astray {
            Astray::Fell { from } => What::FellFromM(from.0),
            Astray::Height { at } => What::HeightM(at.0),
            Astray::Place { off } => What::OffPlaceM(off),
        };
        Self { what: Some(what) }
    }
}

/// `None` if missing, or not finite.
pub(super) fn astray(astray: v1::Astray) -> Option<Astray> {
    use v1::astray::What;
    let finite = |meters: f64| meters.is_finite().then_some(meters);
    Some(match astray.what? {
        What::FellFromM(from) => Astray::Fell {
            from: AltitudeAboveHome(finite(from)?),
        },
        What::HeightM(at) => Astray::Height {
            at: AltitudeAboveHome(finite(at)?),
        },
        What::OffPlaceM(off) => Astray::Place { off: finite(off)? },
    })
}

impl From<&Owed> for v1::Owed {
    fn from(owed: &Owed) -> Self {
        let descent = match owed.descent {
            Descent::Land => v1::Descent::Unspecified,
            Descent::Return => v1::Descent::Return,
        };
        let (answer, result) = answer_and_result(&owed.answer);
        Self {
            descent: descent.into(),
            times: owed.times,
            since_ms: ms(owed.since),
            answer: answer.into(),
            result,
        }
    }
}

impl From<&Stalled> for v1::Stalled {
    fn from(stalled: &Stalled) -> Self {
        let (answer, result) = answer_and_result(&stalled.answer);
        Self {
            answer: answer.into(),
            result,
            words: stalled.words.clone(),
        }
    }
}

impl From<v1::Stalled> for Stalled {
    fn from(stalled: v1::Stalled) -> Self {
        Self {
            answer: read(stalled.answer(), &stalled.result),
            words: clipped(&stalled.words),
        }
    }
}

fn answer_and_result(answer: &Answer) -> (v1::Answer, String) {
    match answer {
        Answer::Awaited => (v1::Answer::Unspecified, String::new()),
        Answer::Missing => (v1::Answer::Missing, String::new()),
        Answer::Accepted => (v1::Answer::Accepted, String::new()),
        Answer::Refused(result) => (v1::Answer::Refused, result.clone()),
    }
}

fn read(answer: v1::Answer, result: &str) -> Answer {
    match answer {
        v1::Answer::Unspecified => Answer::Awaited,
        v1::Answer::Missing => Answer::Missing,
        v1::Answer::Accepted => Answer::Accepted,
        v1::Answer::Refused => Answer::Refused(clipped(result)),
    }
}

impl From<v1::Owed> for Owed {
    fn from(owed: v1::Owed) -> Self {
        Self {
            descent: match owed.descent() {
                v1::Descent::Unspecified => Descent::Land,
                v1::Descent::Return => Descent::Return,
            },
            times: owed.times,
            since: moment(owed.since_ms),
            answer: read(owed.answer(), &owed.result),
        }
    }
}
