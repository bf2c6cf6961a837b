//! What an agent is busy with.

/// What an agent is busy with. Says nothing about flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// No assignment, or the assignment is fulfilled on the ground.
    Idle,
    /// Nothing is known about the vehicle, so nothing is sent to it.
    Waiting,
    /// The autopilot's arming checks do not pass yet, or it refused to arm; tried again with a capped back-off.
    NotArmable,
    /// Setting the mode, arming.
    Arming,
    /// Takeoff commanded, climbing.
    TakingOff,
    Holding,
    /// In the air, flying its route.
    Moving,
    Landing,
    /// The coordinator is lost and the Drone's failsafe is being flown.
    Failsafe,
    /// The battery has reached the Drone's reserve and its failsafe for that is being flown.
    LowBattery,
    /// Somebody else is in command; the agent sends nothing.
    HandsOff(HandsOff),
}

/// Why the agent has let go of its vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandsOff {
    /// In the air in a mode that we did not ask for: a pilot, a ground station or a failsafe has taken over.
    OtherMode,
    /// Somebody took over in flight and left it to us again in a mode of ours; we wait for an order to go on.
    TakenOver,
    /// The airframe on the wire is not the one that serves the Drone.
    AnotherAirframe,
    ArmedByOther,
    /// It flew for this Drone and landed without our asking; it does not take off again by itself.
    FlightOver,
    /// Its motors were stopped by a kill; it never flies for this Drone again.
    Killed,
    /// The autopilot executes a failsafe of its own, and nobody has ordered otherwise.
    AutopilotFailsafe,
}
