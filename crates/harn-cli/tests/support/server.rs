//! The real binary as a server: started on a free port, asked over HTTP, and killed when the test wants it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harn_testkit::Api;

use super::HARN;

pub const KEY: &str = "test-key-0123456789";

/// A running `harn serve` over `<folder>/data` and `<folder>/work`.
pub struct Server {
    pub folder: PathBuf,
    pub url: String,
    child: Child,
}

/// The command line of a test server, to be adjusted before it is started.
pub fn command(folder: &Path) -> Command {
    std::fs::create_dir_all(folder.join("work")).unwrap();
    let mut command = Command::new(HARN);
    // Whatever keys the environment has, no test talks to a provider.
    command.env("HARN_LLM_MODEL", "offline");
    command
        .args(["serve", "--bind", "127.0.0.1:0", "--rate-limit", "0"])
        .arg("--data")
        .arg(folder.join("data"))
        .arg("--root")
        .arg(folder.join("work"))
        .env("HARN_SERVE_API_KEY", KEY)
        .stdout(Stdio::piped());
    command
}

impl Server {
    pub fn start(folder: &Path) -> Self {
        Self::spawn(folder, command(folder))
    }

    pub fn spawn(folder: &Path, mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let url = first.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(url.starts_with("http://"), "the server said: {first}");
        Self { folder: folder.to_owned(), url, child }
    }

    pub fn api(&self) -> Api {
        Api::new(&self.url).with_key(KEY)
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// SIGKILL, as the system would do it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// The workspace that every server has.
    pub async fn workspace(&self) -> String {
        let list = self.api().get("/v1/workspaces").await.expect(200);
        list["data"][0]["id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
