//! A mission: work in the air that completes, planned ahead without an aircraft.
//!
//! Owns: the [`Work`] (a [`Route`](model::plan::Route), a [`Survey`], items as they are [`written`]); shares of equal flying time, of all
//! ([`Work::share`]) or of the rest ([`Plan::left`]); the numbers for people ([`figures`]); which vehicle flies what, and what follows
//! ([`progress`]); which Mission has vehicles first ([`priority`]). One vehicle's share is in [`model::plan`].
//! Must not: fly, know a file format, or know which vehicle serves which Drone.
//!
//! ```text
//! Route  ─┐                 Vehicles (start, speed, flying time above the reserve)
//!         ├─► Work (Track) ──► share ──► Plan: a Share each, and what none can fly
//! Survey ─┘        ▲                      │ reached so far
//!                  └───────── left ◄──────┘
//! ```
//!
//! A survey is cut into strips no wider than the line spacing, each flown along its middle over all of the strip that has a part of the
//! area (`strip.rs`). What a hole hides from the middle is covered by flying along the hole's edge. So every point of the area is within
//! half of the spacing of what is flown, and nothing crosses a hole. Lines, and the ways between them, stay within half of the spacing
//! outside of the outer edge ([`way`]).

pub mod area;
mod boundary;
mod cut;
pub mod fairness;
pub mod figures;
pub mod priority;
pub mod progress;
mod rows;
pub mod share;
mod shorten;
mod spiral;
pub mod stretch;
mod strip;
pub mod survey;
mod timing;
mod tour;
pub mod track;
pub mod way;
pub mod written;

pub use area::{Area, BadArea};
pub use cut::PlannedFlight;
pub use share::{CannotShare, Flier, Plan, Share};
pub use stretch::{Stretch, Stretches};
pub use survey::{BadSurvey, Camera, Pattern, Spacing, Survey};
pub use track::{Leg, Point, Track, Work};

#[cfg(test)]
mod tests;
