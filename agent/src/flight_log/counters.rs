//! What the flight log wrote and lost, in numbers, for summaries and metrics.
//!
//! Owns: [`Counters`] and their [`Snapshot`]. Must not: log.

link::counters!(
    /// Counters of the flight log. All only grow.
    Counters, Snapshot:
    /// Frames written.
    written,
    /// Frames not written: the disk was full, broken or too slow, or the agent was busy.
    lost,
    /// SETUP_SIGNING frames, which are not written.
    left_out,
    /// Files begun.
    files,
    /// Old files removed.
    removed,
    /// Times that the disk failed us.
    disk_errors,
);
