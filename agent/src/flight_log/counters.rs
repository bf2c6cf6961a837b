//! What the flight log wrote and lost, in numbers, for summaries and metrics.

link::counters!(
    /// Counters of the flight log. All only grow.
    Counters, Snapshot:
    written,
    /// Frames not written: the disk was full, broken or too slow, or the agent was busy.
    lost,
    /// SETUP_SIGNING frames, which are not written.
    left_out,
    files,
    removed,
    /// Times that the disk failed us.
    disk_errors,
);
