//! The guardian as a program of its own, so that the tests of this crate can start it.

fn main() -> std::process::ExitCode {
    harn_engine::guard::main(std::env::args_os().skip(1))
}
