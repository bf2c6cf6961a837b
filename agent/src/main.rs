//! `skein-agent`. Everything is in the library.

fn main() -> std::process::ExitCode {
    agent::run::main()
}
