//! What the flight log wrote and lost, in numbers, for summaries and metrics.

link::counters!(
    /// All only grow.
    Counters, Snapshot:
    written,
    /// Frames not written: the disk was full, broken or too slow, or the agent was busy.
    lost,
    left_out,
    files,
    removed,
    disk_errors,
);
