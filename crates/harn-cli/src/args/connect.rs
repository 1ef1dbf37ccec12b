//! Arguments of `harn connect`.

use clap::Subcommand;

#[derive(Subcommand)]
pub enum ConnectCommand {
    /// Keep a key that scripts may send to some hosts, or give to some programs, and never see. It is typed in, or read
    /// from standard input.
    ApiKey {
        /// What scripts call it: `secret_get("NAME")`.
        name: String,
        /// Where it may be sent: `api.example.com`, or `*.example.com` for all below; may be given several times.
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
        /// A program that may have it in its environment, as scripts call it: `gh`; may be given several times.
        #[arg(long = "program", value_name = "PROGRAM")]
        programs: Vec<String>,
    },
    /// List what is kept and where it may be sent, without the values.
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forget a key.
    Remove {
        /// Its name.
        name: String,
    },
}
