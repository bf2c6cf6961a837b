//! What an agent is busy with. It says nothing about flight.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// No assignment, or the assignment is fulfilled on the ground.
    Idle,
    /// Nothing is known about the vehicle, so nothing is sent to it.
    Waiting,
    /// The autopilot's arming checks do not pass yet, or it refused to arm; tried again with a capped back-off.
    NotArmable,
    Arming,
    TakingOff,
    Holding,
    Moving,
    Landing,
    /// The coordinator is lost; the Drone's failsafe is flown.
    Failsafe,
    /// The battery has reached the Drone's reserve; the failsafe for that is flown.
    LowBattery,
    /// Somebody else is in command; the agent sends nothing.
    HandsOff(HandsOff),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandsOff {
    /// In the air in a mode that we did not command: a pilot, a ground station or a failsafe has taken over.
    OtherMode,
    /// Somebody took over in flight and left the vehicle to us in a mode of ours, or chose another mode or stopped its motors before it flew; we
    /// wait for an order to go on.
    TakenOver,
    /// The airframe on the wire is not the one that serves the Drone.
    AnotherAirframe,
    ArmedByOther,
    /// It flew for this Drone and landed without our order; it does not take off again by itself.
    FlightOver,
    /// A kill stopped its motors; it never flies for this Drone again.
    Killed,
    /// The autopilot executes a failsafe of its own, and nobody has ordered otherwise since.
    AutopilotFailsafe,
}
