//! `skein watch`: the fleet, live.

use crate::args::WatchArgs;
use crate::changes;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::route::Route;
use crate::screen::Screen;
use crate::server::{Server, Which};
use crate::status::nothing;
use crate::table::{self, Layout};
use crate::vehicle::{Vehicle, shown};
use model::backoff::Backoff;
use proto::v1;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Stdout, Write};
use std::time::Duration;
use tonic::Streaming;

pub(crate) const RETRY: Backoff = Backoff {
    first: Duration::from_millis(250),
    cap: Duration::from_secs(5),
};

/// Runs until Ctrl-C. Errors: the coordinator cannot be reached at the start, or the output has gone.
pub async fn run(route: &Route, args: &WatchArgs, out: &Output) -> Result<(), Failure> {
    // Caught before anything is shown, as the person may press Ctrl-C at once; ending so restores the terminal.
    let interrupt = Interrupt::catch()?;
    tokio::select! {
        result = show(route, args, out) => result,
        () = interrupt.in_order.cancelled() => Ok(()),
    }
}

async fn show(route: &Route, args: &WatchArgs, out: &Output) -> Result<(), Failure> {
    let first = open(route, args).await?;
    let mut view = View::new(route, args, *out)?;
    follow(route, args, first, &mut view).await
}

async fn open(route: &Route, args: &WatchArgs) -> Result<Streaming<v1::ListResponse>, Failure> {
    Server::connect(route)
        .await?
        .watch(&Which::from(&args.filter), None)
        .await
}

async fn follow(
    route: &Route,
    args: &WatchArgs,
    mut stream: Streaming<v1::ListResponse>,
    view: &mut View,
) -> Result<(), Failure> {
    let mut failures = 0;
    loop {
        let why = loop {
            match stream.message().await {
                Ok(Some(fleet)) => {
                    failures = 0;
                    view.show(shown(fleet.vehicles, &args.filter))?;
                }
                Ok(None) => break "it ended the stream".to_owned(),
                Err(status) => break status.message().to_owned(),
            }
        };
        view.lost(&why)?;
        stream = loop {
            failures += 1;
            tokio::time::sleep(RETRY.delay(failures, jitter())).await;
            match open(route, args).await {
                Ok(stream) => break stream,
                Err(failure) => view.lost(&failure.to_string())?,
            }
        };
    }
}

/// From 0 to 1; the standard library seeds its hashers at random.
pub(crate) fn jitter() -> f64 {
    let hash = u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or(u32::MAX);
    f64::from(hash) / f64::from(u32::MAX)
}

struct View {
    heading: String,
    layout: Layout,
    out: Output,
    screen: Option<Screen<Stdout>>,
    last: Vec<Vehicle>,
    received_any: bool,
    lost: Option<String>,
    nothing: &'static str,
}

impl View {
    fn new(route: &Route, args: &WatchArgs, out: Output) -> std::io::Result<Self> {
        Ok(Self {
            heading: format!("skein watch {route}"),
            layout: Layout {
                wide: args.wide,
                one_namespace: args.filter.namespace.is_some(),
                color: out.color,
                width: None,
            },
            out,
            screen: if out.terminal {
                Some(Screen::take(std::io::stdout())?)
            } else {
                None
            },
            last: Vec::new(),
            received_any: false,
            lost: None,
            nothing: nothing(&args.filter),
        })
    }

    fn show(&mut self, fleet: Vec<Vehicle>) -> std::io::Result<()> {
        if self.screen.is_none() {
            if self.lost.is_some() {
                self.line("connected to the coordinator again")?;
            }
            for change in changes::lines(&self.last, &fleet) {
                self.line(&change)?;
            }
            if fleet.is_empty() && !self.received_any {
                self.line(self.nothing)?;
            }
        }
        (self.last, self.received_any, self.lost) = (fleet, true, None);
        self.draw()
    }

    fn lost(&mut self, why: &str) -> std::io::Result<()> {
        if self.screen.is_none() && self.lost.is_none() {
            self.line(&format!("lost the coordinator ({why}); trying again"))?;
        }
        self.lost = Some(why.to_owned());
        self.draw()
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        let size = self.out.size();
        let layout = Layout {
            width: size.map(|(columns, _)| columns),
            ..self.layout
        };
        let picture = picture(&self.heading, &self.last, self.lost.as_deref(), self.nothing, layout);
        screen.show(&picture, size.map(|(_, rows)| rows))
    }

    fn line(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout();
        writeln!(out, "{} {text}", now())?;
        out.flush()
    }
}

pub(crate) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn picture(heading: &str, fleet: &[Vehicle], lost: Option<&str>, nothing: &str, layout: Layout) -> String {
    let flying = fleet.iter().filter(|v| v.flying == Some(true)).count();
    let unknown = fleet.iter().filter(|v| v.flying.is_none()).count();
    let count = match unknown {
        0 => format!("{flying} flying"),
        _ => format!("{flying} flying, {unknown} unknown"),
    };
    let state = match lost {
        Some(why) => format!("NOT CONNECTED, the figures below are old: {why}"),
        None => count,
    };
    let mut top = format!("{heading}: {state}");
    if let Some(width) = layout.width {
        top = top.chars().take(width).collect();
    }
    let table = table::render(fleet, layout);
    let body = if table.is_empty() {
        format!("{nothing}\n")
    } else {
        table
    };
    format!("{top}\n\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};

    #[test]
    fn the_picture_counts_who_flies_and_whose_state_is_unknown() {
        let mut lost = holding("crane");
        lost.agent_connected = false;
        let fleet: Vec<Vehicle> = vec![holding("goose").into(), lost.into(), pending("swan").into()];
        let text = picture("skein watch s", &fleet, None, "", Layout::default());
        assert!(
            text.starts_with("skein watch s: 1 flying, 1 unknown\n\nNAMESPACE"),
            "{text}"
        );
    }

    #[test]
    fn figures_from_before_the_connection_was_lost_are_marked_as_old() {
        let text = picture(
            "s",
            &[holding("goose").into()],
            Some("connection refused"),
            "",
            Layout::default(),
        );
        assert!(
            text.starts_with("s: NOT CONNECTED, the figures below are old: connection refused"),
            "{text}"
        );
    }

    #[test]
    fn times_are_written_alike() {
        let text = now();
        assert!(
            text.len() == "2026-11-21T10:00:00.123Z".len() && text.ends_with('Z'),
            "{text}"
        );
    }
}
