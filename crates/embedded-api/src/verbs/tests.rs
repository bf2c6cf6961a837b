//! The API as its clients use it, in this process.

mod creating;
mod deleting;
mod following;
mod garbage;
mod housekeeping;
mod listing;
mod patching;
mod paths;
mod replacing;
mod restarting;
pub(super) mod testing;
pub(super) mod world;
