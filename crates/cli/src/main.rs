//! `skein`: the program. Everything is in the library.

fn main() -> std::process::ExitCode {
    cli::main()
}
