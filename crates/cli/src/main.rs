//! The program `skein`.

fn main() -> std::process::ExitCode {
    cli::main()
}
