//! The type checker, as programs see it: which ones it stops and what it says, and which ones it leaves alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod generate;

mod types {
    mod errors;
    mod fitting;
    mod limits;
    mod narrowing;
    mod silent;
    mod support;
    mod warnings;
}
