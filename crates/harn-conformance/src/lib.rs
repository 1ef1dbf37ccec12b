//! Checks a server against the Harn Agents Protocol, sentence by sentence.
//!
//! ```no_run
//! # async fn example() -> Result<(), harn_client::ClientError> {
//! use harn_conformance::{Options, run};
//!
//! let options = Options::new("http://127.0.0.1:8787").with_key("the key");
//! let client = harn_client::Client::to_url(&options.target, options.api_key.as_deref())?;
//! let report = run(client, options).await;
//! let text = report.to_text();
//! let code = report.exit_code();
//! # Ok(())
//! # }
//! ```

mod ask;
mod check;
mod checks;
mod options;
mod probe;
mod render;
mod report;
mod run;
mod shape;
mod task_path;

pub use check::Check;
pub use checks::all as checks;
pub use options::{Category, Options, UnknownCategory};
pub use report::{CategoryReport, CheckReport, Percentiles, Report, Status, Summary};
pub use run::run;
