//! The `skein-coordinator` program: reads its flags and hands over to the library.

use clap::Parser;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let options = coordinator::Options::parse();
    coordinator::logging::start(options.log);
    match Box::pin(coordinator::run(options, coordinator::shutdown_signal())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
