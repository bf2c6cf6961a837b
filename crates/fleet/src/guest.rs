//! A person's ground station that reaches a vehicle through coordinator and agent, as both speak of it.
//!
//! Owns: what such a guest may do ([`GuestAccess`]), and how it is announced ([`GuestCall`]). Must not: carry frames.

/// What a guest may do, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestAccess {
    /// It hears the vehicle; nothing that it sends is passed on.
    Watch,
    /// It asks for what changes nothing.
    Ask,
    /// What it sends reaches the vehicle.
    Command,
}

/// Names one call of a guest to the coordinator that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GuestCallId(pub u128);

/// A guest for the vehicle of an agent, as a coordinator announces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCall {
    /// To be given back when the agent answers.
    pub id: GuestCallId,
    /// What the guest may do: to watch or to command.
    pub access: GuestAccess,
    /// Who it is, for the log.
    pub person: String,
}
