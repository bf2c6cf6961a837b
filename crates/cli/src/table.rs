//! Vehicles as a table in the manner of kubectl: no lines, three spaces between columns.

use crate::vehicle::{Vehicle, age_text, aged};
use std::fmt::Write;

#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    pub wide: bool,
    pub one_namespace: bool,
    pub color: bool,
    /// Columns of the terminal, to which lines are cut.
    pub width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Moving,
    Waiting,
    Bad,
}

impl Tone {
    const fn escape(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Good => "\u{1b}[32m",
            Self::Moving => "\u{1b}[36m",
            Self::Waiting => "\u{1b}[33m",
            Self::Bad => "\u{1b}[31m",
        }
    }
}

type Cell = (String, Tone);

pub fn render(vehicles: &[Vehicle], layout: Layout) -> String {
    if vehicles.is_empty() {
        return String::new();
    }
    let mut columns = columns(layout);
    if layout.width.is_some() {
        columns.retain(|(_, cell)| vehicles.iter().any(|v| cell(v).0 != "-"));
    }
    let heading = columns
        .iter()
        .map(|(name, _)| ((*name).to_owned(), Tone::Plain))
        .collect();
    let rows = vehicles
        .iter()
        .map(|v| columns.iter().map(|(_, cell)| cell(v)).collect());
    let lines: Vec<Vec<Cell>> = std::iter::once(heading).chain(rows).collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|c| lines.iter().map(|l| l[c].0.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        write_line(&mut text, line, &widths, layout);
    }
    text
}

fn write_line(text: &mut String, line: &[Cell], widths: &[usize], layout: Layout) {
    let mut left = layout.width.unwrap_or(usize::MAX);
    let last = line.iter().rposition(|(shown, _)| !shown.is_empty()).unwrap_or(0);
    for (n, ((shown, tone), width)) in line.iter().zip(widths).enumerate().take(last + 1) {
        let gap = if n == last {
            0
        } else {
            width + 3 - shown.chars().count()
        };
        let cut = clip(shown, left);
        if layout.color && *tone != Tone::Plain {
            let _ = write!(text, "{}{cut}\u{1b}[0m", tone.escape());
        } else {
            text.push_str(&cut);
        }
        left = left.saturating_sub(shown.chars().count());
        text.extend(std::iter::repeat_n(' ', gap.min(left)));
        left = left.saturating_sub(gap);
    }
    text.push('\n');
}

pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

type Column = (&'static str, fn(&Vehicle) -> Cell);

fn columns(layout: Layout) -> Vec<Column> {
    let mut all: Vec<Column> = vec![
        ("NAMESPACE", |v| plain(or_dash(&v.namespace))),
        ("DRONE", |v| plain(or_dash(&v.drone))),
        ("NODE", |v| plain(or_dash(&v.node))),
        ("PHASE", |v| (v.phase.clone(), phase_tone(&v.phase))),
        ("FLYING", |v| (v.flying_text().to_owned(), flying_tone(v))),
        ("MODE", |v| plain(v.mode.clone().unwrap_or_else(|| "-".into()))),
        ("BATTERY", |v| {
            (
                v.battery_percent
                    .map_or_else(|| "-".into(), |p| aged(&format!("{p}%"), v.battery_age_ms)),
                battery_tone(v),
            )
        }),
        ("ALTITUDE", |v| {
            plain(v.position.as_ref().map_or_else(
                || "-".into(),
                |p| aged(&meters(p.altitude_above_home_meters), v.position_age_ms),
            ))
        }),
    ];
    if layout.one_namespace {
        all.remove(0);
    }
    if layout.wide {
        all.extend([
            ("SWARM", (|v| plain(or_dash(&v.swarm))) as fn(&Vehicle) -> Cell),
            ("AUTOPILOT", |v| {
                plain(v.autopilot.clone().unwrap_or_else(|| "-".into()))
            }),
            ("FIRMWARE", |v| plain(v.firmware.clone().unwrap_or_else(|| "-".into()))),
            ("SYSTEM", |v| {
                plain(v.system_id.map_or_else(|| "-".into(), |id| id.to_string()))
            }),
            ("POSITION", |v| plain(position(v))),
            ("REPORT", |v| {
                plain(v.report_age_ms.map_or_else(|| "never".into(), age_text))
            }),
        ]);
    }
    all.push(("MESSAGE", |v| plain(v.message.clone())));
    all
}

const fn plain(text: String) -> Cell {
    (text, Tone::Plain)
}

pub(crate) fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".into() } else { text.into() }
}

pub(crate) fn phase_tone(phase: &str) -> Tone {
    match phase {
        "Flying" => Tone::Good,
        "Arming" | "TakingOff" | "Landing" => Tone::Moving,
        "Pending" | "Preparing" | "Grounded" => Tone::Waiting,
        "Interrupted" | "Unknown" => Tone::Bad,
        _ => Tone::Plain,
    }
}

pub(crate) const fn flying_tone(v: &Vehicle) -> Tone {
    match v.flying {
        Some(true) => Tone::Good,
        Some(false) => Tone::Plain,
        None => Tone::Bad,
    }
}

/// PX4 warns at 15 and acts at 7; rounded up for an early warning.
pub(crate) fn battery_tone(v: &Vehicle) -> Tone {
    match v.battery_percent {
        Some(0..=10) => Tone::Bad,
        Some(11..=20) => Tone::Waiting,
        _ => Tone::Plain,
    }
}

pub(crate) fn meters(altitude: f64) -> String {
    format!("{altitude:.1}m")
}

/// To about 10 cm.
fn position(v: &Vehicle) -> String {
    v.position.as_ref().map_or_else(
        || "-".into(),
        |p| {
            let place = format!("{:.6},{:.6}", p.latitude_degrees, p.longitude_degrees);
            aged(&place, v.position_age_ms)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};

    fn fleet() -> Vec<Vehicle> {
        vec![holding("alpha-brave-goose").into(), pending("alpha-calm-crane").into()]
    }

    #[test]
    fn a_text_is_cut_to_a_width() {
        assert_eq!(clip("abcd", 3), "ab…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "");
    }

    #[test]
    fn a_person_sees_who_flies_and_why_not() {
        let rendered = render(&fleet(), Layout::default());
        let expected = "\
NAMESPACE   DRONE               NODE                     PHASE     FLYING   MODE          BATTERY   ALTITUDE   MESSAGE
default     alpha-brave-goose   node-alpha-brave-goose   Flying    yes      AUTO.LOITER   87%       10.0m      flies as asked
default     alpha-calm-crane    -                        Pending   no       -             -         -          no vehicle is free: of 4 drone nodes 4 serve other Drones
";
        assert_eq!(rendered, expected);
    }

    #[test]
    fn a_wide_table_has_identity_and_position_of_the_vehicle() {
        let layout = Layout {
            wide: true,
            one_namespace: true,
            ..Layout::default()
        };
        let rendered = render(&fleet()[..1], layout);
        let cells: Vec<Vec<&str>> = rendered
            .lines()
            .map(|l| l.split("   ").map(str::trim).filter(|w| !w.is_empty()).collect())
            .collect();
        assert_eq!(
            cells[0][7..],
            [
                "SWARM",
                "AUTOPILOT",
                "FIRMWARE",
                "SYSTEM",
                "POSITION",
                "REPORT",
                "MESSAGE"
            ]
        );
        assert_eq!(
            cells[1][7..13],
            ["alpha", "PX4", "1.17.0", "7", "47.397742,8.545594", "400ms"]
        );
        assert!(!rendered.contains("NAMESPACE"));
    }

    #[test]
    fn lines_fit_the_terminal() {
        for width in [0, 1, 20, 60, 100] {
            let rendered = render(
                &fleet(),
                Layout {
                    width: Some(width),
                    ..Layout::default()
                },
            );
            assert!(
                rendered.lines().all(|l| l.chars().count() <= width),
                "{width}: {rendered}"
            );
        }
        let rendered = render(
            &fleet(),
            Layout {
                width: Some(130),
                ..Layout::default()
            },
        );
        assert!(rendered.lines().nth(2).unwrap().ends_with('…'), "{rendered}");
    }

    #[test]
    fn empty_columns_leave_their_width_to_the_message() {
        let layout = Layout {
            width: Some(110),
            ..Layout::default()
        };
        let rendered = render(&[pending("alpha-calm-crane").into()], layout);
        assert!(
            rendered.starts_with("NAMESPACE   DRONE              PHASE     FLYING   MESSAGE\n"),
            "{rendered}"
        );
        assert!(rendered.contains("4 serve other Drones"), "{rendered}");
    }

    #[test]
    fn colors_are_written_only_when_wanted_and_do_not_shift_columns() {
        let plain = render(&fleet(), Layout::default());
        assert!(!plain.contains('\u{1b}'));
        let colored = render(
            &fleet(),
            Layout {
                color: true,
                ..Layout::default()
            },
        );
        assert!(colored.contains("\u{1b}[32mFlying\u{1b}[0m") && colored.contains("\u{1b}[33mPending\u{1b}[0m"));
        let stripped = ["\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
            .iter()
            .fold(colored, |t, e| t.replace(e, ""));
        assert_eq!(stripped, plain);
    }

    #[test]
    fn a_vehicle_of_which_nothing_is_known_is_red() {
        let mut lost = holding("a");
        lost.agent_connected = false;
        let rendered = render(
            &[lost.into()],
            Layout {
                color: true,
                ..Layout::default()
            },
        );
        assert!(rendered.contains("\u{1b}[31munknown\u{1b}[0m"), "{rendered}");
    }

    #[test]
    fn figures_of_a_vehicle_that_is_not_heard_carry_their_age() {
        let mut lost = holding("a");
        lost.agent_connected = false;
        lost.report_age_ms = 35_000;
        let rendered = render(&[lost.into()], Layout::default());
        assert!(
            rendered.contains("87% (35s ago)") && rendered.contains("10.0m (35s ago)"),
            "{rendered}"
        );
    }

    #[test]
    fn no_vehicles_are_no_table() {
        assert_eq!(render(&[], Layout::default()), "");
    }
}
