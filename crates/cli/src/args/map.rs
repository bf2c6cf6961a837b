//! The command line of `skein map`.

use super::{Filter, WhereArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `skein map`.
#[derive(Debug, Args)]
pub struct MapArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// Which vehicles.
    #[command(flatten)]
    pub filter: Filter,
    /// Port of this machine, on 127.0.0.1 only; left out: any free one.
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Prints the address and opens no browser.
    #[arg(long)]
    pub no_browser: bool,
    /// Map to draw below the fleet (PMTiles, version 3); left out: a grid in meters. Nothing is fetched from a network.
    #[arg(long, value_name = "FILE.pmtiles")]
    pub basemap: Option<PathBuf>,
}
