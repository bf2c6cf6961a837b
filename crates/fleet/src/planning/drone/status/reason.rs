//! Why a Drone is Ready, or not: a word, its meaning, and what a person can do.
//!
//! The tables "Reasons of Ready" of `docs/reference/conditions.md` are generated from here, a row for each entry.

use model::alarm::Cause;

/// Table of the reference in which a reason is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Situation {
    OnGround,
    InAir,
    /// Written at once, and an Event of its own.
    Alarm,
    NotKnown,
}

impl Situation {
    /// Line above the table.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::OnGround => "On the ground",
            Self::InAir => "In the air",
            Self::Alarm => "Alarms, each reported at once and as a Warning Event",
            Self::NotKnown => "Not known",
        }
    }
}

macro_rules! ready_reasons {
    ($($situation:ident { $($($reason:ident)|+ => $meaning:literal, $remedy:literal;)+ })+) => {
        /// Reason of condition Ready of a Drone. Other conditions of a Drone and its Events share some of the words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ReadyReason {
            $($($($reason,)+)+)+
        }

        impl ReadyReason {
            /// In the order of the reference.
            pub const ALL: &'static [Self] = &[$($($(Self::$reason,)+)+)+];

            /// The condition's `reason`.
            pub const fn text(self) -> &'static str {
                match self {
                    $($($(Self::$reason => stringify!($reason),)+)+)+
                }
            }

            pub const fn situation(self) -> Situation {
                match self {
                    $($($(Self::$reason)|+ => Situation::$situation,)+)+
                }
            }

            /// Markdown, whose links start from `docs/reference`.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($($(Self::$reason)|+ => $meaning,)+)+
                }
            }

            /// Markdown, as [`Self::meaning`]; empty: nothing.
            pub const fn remedy(self) -> &'static str {
                match self {
                    $($($(Self::$reason)|+ => $remedy,)+)+
                }
            }
        }
    };
}

ready_reasons! {
    OnGround {
        NoFreeVehicle =>
            "no vehicle is free; the message counts the nodes and says why",
            "free, charge or connect a vehicle";
        NodeTaken => "the named node serves another Drone", "delete one of the two Drones";
        Refused => "the API server refuses a write that is needed", "read the message; check admission policies";
        Binding | Preparing | Arming | NotTaken => "under way", "wait";
        ArmingChecksFail =>
            "the autopilot does not arm",
            "read the message; `status.armingRefusals` has each reason with its class";
        WaitingItsTurn => "others of the Swarm take off or land first", "wait";
        NodeCordoned | NodeDrained | NodeGone =>
            "the node keeps its vehicle on the ground",
            "[put it back in service](../how-to/take-a-vehicle-out-of-service.md)";
        OutsideGeofence =>
            "a [Geofence](../concepts/geofence.md) does not allow the takeoff altitude",
            "change `takeoffAltitudeMeters`, or the Geofence";
        RulesNotInForce =>
            "with `failsafe.preflight: Refuse`: a [Geofence](../concepts/geofence.md) or \
            [ParameterProfile](../concepts/parameters.md) that selects the vehicle is not in force on it",
            "see `kubectl get geofences,parameterprofiles`: their status says on which vehicles, and why";
        NoPlan =>
            "its [Mission](../concepts/mission.md) has no part of the work for it, or its autopilot has not taken \
            the plan yet",
            "wait; `kubectl get missions -o wide` says why";
        AgentUpgrading | AgentEnding => "the agent is being replaced or ends", "wait";
        NoLeader => "the coordinator cannot renew its Lease", "[SkeinNoLeader](../operations/runbook.md#skeinnoleader)";
        Grounded => "a ground order is in force", "`skein release`, when everybody is clear";
        Deleting => "the Drone is being deleted", "wait for the landing";
        SwarmUnknown =>
            "its Swarm is gone and may have been grounded",
            "remove the label `skein.dev/swarm`, or delete the Drone";
        FlightOver => "it landed without an order and stays down", "read the message";
        Killed => "its motors were stopped by `skein kill`", "check the vehicle, then delete the Drone";
        UnexpectedlyArmed => "somebody else armed it on the ground", "keep clear; ask who";
    }
    InAir {
        Holding => "it flies as asked: Ready is True", "";
        TakingOff | ChangingAltitude | Updating | InTheAir | Landing => "under way", "wait";
        LandingOrdered => "it is ordered to land and has not answered yet", "wait some seconds";
        Moving => "it flies to its [station](../concepts/station.md)", "wait";
        NoRoute =>
            "it has a station and no route to it, or has to wait for airspace to take off or to change its \
            altitude; the message says why, or what is wrong with `spec.station`",
            "wait, or do as the message says";
        KeepsClear =>
            "it stopped on its way, or climbed, for something that does not keep to its airspace; the message \
            says for what",
            "look at both; it goes on by itself";
        OffStation =>
            "it is at the end of its route, and was not observed on its station for a second",
            "wait; look at wind and at the autopilot's position";
        ExternalControl =>
            "a [program](../how-to/fly-with-own-code.md) flies it within `spec.external`: Ready is True",
            "";
        NoVolume =>
            "it is on its station, and has no volume for a program yet; the message says for whom it waits, or \
            what is wrong with `spec.external`",
            "wait, or do as the message says";
        LeaseSilent =>
            "it was taken back from a program that was silent for longer than its lease, or sent no set-points in \
            OFFBOARD, and is on its way back to its station",
            "look at the program; it may fly again once Ready says so";
        LeftVolume =>
            "it was taken back from a program that would have left its volume, and is on its way back",
            "fly slower near the edge, or widen `spec.external`";
        AltitudeNotReached =>
            "it does not reach its altitude in time",
            "look at the vehicle and at the autopilot's limits";
        PlaceNotReached =>
            "its autopilot does not fly its route, though it is asked again and again; the message says what it \
            answers, and its own words",
            "look at the autopilot's own fence and limits, or choose another place";
        OtherMode | TakenOver =>
            "somebody else is in command",
            "[resume](../how-to/resume-after-a-takeover.md) when you want it back";
        Failsafe => "the coordinator was lost; it flies its failsafe", "bring the coordinator back";
        LowBattery => "at the reserve; it comes home", "exchange or charge the battery";
    }
    Alarm {
        Fell => "it sank far faster than asked. Go there", "";
        AltitudeLost => "it left the altitude that it held", "";
        PositionLost => "it left the place that it held, by more than 10 m", "";
        LandingOwed => "a landing was commanded and does not begin. Take it over by remote control", "";
        BatteryFailsafe => "the autopilot acts on its battery", "";
        GroundStationFailsafe => "the autopilot lost its ground station", "";
        RemoteControlFailsafe => "the autopilot lost its remote control", "";
        FenceFailsafe => "the autopilot acts on its geofence", "";
        PositionFailsafe => "the autopilot lost its position", "";
        PropulsionFailsafe => "motors, thrust or attitude", "";
        AutopilotFailsafe => "the autopilot acts and gave no cause", "";
    }
    NotKnown {
        AgentSilent => "the agent is not connected", "check that it runs and reaches the coordinator";
        AutopilotSilent =>
            "the agent receives nothing from its autopilot",
            "the message says why its link is not open and which serial ports there are; check cable, port, baud \
            rate and power";
        AnotherAirframe =>
            "another airframe is on the wire of its node than the one that serves it (another hardware number)",
            "connect the first again; replaced for good: delete the Drone and force its release";
        LandedStateUnknown => "the autopilot does not report whether it is landed", "look at the vehicle";
        Contradiction => "it reports disarmed and yet not on the ground", "look at the vehicle";
    }
}

impl ReadyReason {
    /// From a condition's `reason`; `None`: it is no reason of Ready, or one of another version.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.text() == word)
    }

    pub const fn is_alarm(self) -> bool {
        matches!(self.situation(), Situation::Alarm)
    }
}

impl From<Cause> for ReadyReason {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Battery => Self::BatteryFailsafe,
            Cause::GroundStation => Self::GroundStationFailsafe,
            Cause::RemoteControl => Self::RemoteControlFailsafe,
            Cause::Fence => Self::FenceFailsafe,
            Cause::Position => Self::PositionFailsafe,
            Cause::Propulsion => Self::PropulsionFailsafe,
            Cause::Other => Self::AutopilotFailsafe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_reason_has_a_word_of_its_own_by_which_it_is_found_again() {
        let words: BTreeSet<&str> = ReadyReason::ALL.iter().map(|reason| reason.text()).collect();
        assert_eq!(words.len(), ReadyReason::ALL.len());
        for &reason in ReadyReason::ALL {
            assert_eq!(ReadyReason::parse(reason.text()), Some(reason));
        }
        assert_eq!(ReadyReason::parse("Bound"), None);
    }

    #[test]
    fn a_failsafe_of_an_autopilot_is_an_alarm_whatever_its_cause() {
        let reasons: BTreeSet<&str> = Cause::ALL
            .map(ReadyReason::from)
            .into_iter()
            .filter(|reason| reason.is_alarm())
            .map(ReadyReason::text)
            .collect();
        assert_eq!(reasons.len(), Cause::ALL.len());
    }
}
