//! The `harn` binary.

fn main() -> std::process::ExitCode {
    harn_cli::main()
}
