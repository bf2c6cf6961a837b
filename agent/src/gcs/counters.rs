//! Counters for summaries and metrics. All only grow.

link::counters!(
    Counters, Snapshot:
    joined,
    left,
    /// Guests that were turned away because there were too many.
    turned_away,
    /// TCP guests that were disconnected because they did not read.
    too_slow,
    heard,
    skipped,
    written,
    /// Frames handed to guests; each guest counts.
    handed_out,
    /// Frames that a guest lost because it was too slow.
    lost_by_guests,
    /// Frames that all guests lost because the agent was busy.
    lost_by_us,
    /// Frames not written because the guest sent more than its share of the line.
    crowded,
    stale,
    /// Frames not written because the line was down or did not take them.
    not_taken,
    setup_signing,
    /// Frames of guests that spoke as another.
    impostors,
    /// RADIO_STATUS and RADIO frames of guests.
    radio,
    held_heartbeats,
    /// Frames refused in read-only mode, or of programs.
    read_only,
);
