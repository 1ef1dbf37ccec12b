//! TLS of the real binary: certificates and their problems, streams, and clients that are slow, plain or hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use harn_client::{Client, ClientError, Method};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use serde_json::json;

const HARN: &str = env!("CARGO_BIN_EXE_harn");
const KEY: &str = "test-key-0123456789";

/// Files of a private authority and of a server that it vouches for.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Self {
        Self::made(|_| {})
    }

    fn made(adjust: impl Fn(&mut CertificateParams)) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let mut params =
            CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        adjust(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let made = Self { folder: tempfile::tempdir().unwrap() };
        made.write("ca.pem", &authority.pem());
        made.write("cert.pem", &certificate.pem());
        made.write("key.pem", &key.serialize_pem());
        made.write("other.pem", &KeyPair::generate().unwrap().serialize_pem());
        made.write("text.pem", "no PEM at all");
        made
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn serve(&self, bind: &str, certificate: &str, key: &str) -> Command {
        let mut command = Command::new(HARN);
        // Whatever keys the environment has, no test talks to a provider.
        command.env("HARN_LLM_MODEL", "offline");
        command
            .args(["serve", "--bind", bind, "--tls-cert", certificate, "--tls-key", key])
            .current_dir(self.path())
            .env("HARN_SERVE_API_KEY", KEY);
        command
    }

    /// What a server says that must not start. One that does would never end by itself.
    fn refusal(&self, certificate: &str, key: &str) -> Output {
        let mut command = self.serve("127.0.0.1:0", certificate, key);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        if !first.is_empty() {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it started with {certificate} and {key}");
        }
        child.wait_with_output().unwrap()
    }

    fn start(&self, bind: &str) -> Server {
        let mut child = self.serve(bind, "cert.pem", "key.pem").stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let url = first.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(url.starts_with("https://"), "the server said: {first}");
        Server { url, child }
    }

    fn client(&self, server: &Server) -> Client {
        let pem = std::fs::read(self.path().join("ca.pem")).unwrap();
        Client::to_url(&server.url, Some(KEY)).unwrap().with_ca(&pem).unwrap()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(HARN);
        // Whatever keys the environment has, no test talks to a provider.
        command.env("HARN_LLM_MODEL", "offline");
        command.args(args).current_dir(self.path()).env_remove("HARN_URL").env("HARN_API_KEY", KEY);
        command.output().unwrap()
    }
}

struct Server {
    url: String,
    child: Child,
}

impl Server {
    fn address(&self) -> &str {
        self.url.strip_prefix("https://").unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn requests_and_streams_go_over_tls() {
    let certificates = Certificates::new();
    let server = certificates.start("127.0.0.1:0");
    let client = certificates.client(&server);
    let workspaces = client.request(Method::GET, "/v1/workspaces").send().await.unwrap().ok().unwrap();
    let workspace = workspaces.value().unwrap()["data"][0]["id"].clone();
    let session = client.request(Method::POST, "/v1/sessions").json(&json!({ "workspace_id": workspace }));
    let session = session.send().await.unwrap().ok().unwrap().value().unwrap();
    let part = json!({ "type": "text", "text": "list files", "visibility": "public" });
    let path = format!("/v1/sessions/{}/tasks", session["id"].as_str().unwrap());
    let task =
        client.request(Method::POST, &path).json(&json!({ "input": { "role": "user", "parts": [part] } }));
    let task = task.send().await.unwrap().ok().unwrap().value().unwrap();

    let path = format!("/v1/tasks/{}/stream", task["id"].as_str().unwrap());
    let mut events = client.request(Method::GET, &path).events().await.unwrap();
    let mut kinds = Vec::new();
    while let Some(frame) = events.next().await.unwrap() {
        let event: serde_json::Value = serde_json::from_str(&frame.data).unwrap();
        kinds.push(event["event"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds.first().map(String::as_str), Some("task.submitted"));
    assert_eq!(kinds.last().map(String::as_str), Some("task.completed"));
}

#[test]
fn the_command_line_speaks_tls_and_says_what_it_does_not_trust() {
    let certificates = Certificates::new();
    let server = certificates.start("127.0.0.1:0");
    let list = ["workspaces", "list", "--url", &server.url];
    let trusted = certificates.run(&[&list[..], &["--ca", "ca.pem"]].concat());
    assert!(trusted.status.success(), "{trusted:?}");
    let told = |args: &[&str]| String::from_utf8(certificates.run(args).stderr).unwrap();
    let unknown = told(&list);
    assert!(unknown.starts_with(&format!("error: no TLS connection to {}\n", server.url)), "{unknown}");
    assert!(unknown.contains("--ca FILE"), "{unknown}");
    assert!(told(&[&list[..], &["--ca", "text.pem"]].concat()).contains("it holds no certificate"));
}

/// Sockets of scripts, whose beginning is a request: the server has none, and says so over TLS.
#[test]
fn sockets_of_scripts_speak_tls_and_trust_the_ca_file() {
    let certificates = Certificates::new();
    let server = certificates.start("127.0.0.1:0");
    let script = format!("websocket_connect(\"wss://{}/\")\n", server.address());
    std::fs::write(certificates.path().join("socket.harn"), script).unwrap();
    let told = |ca_file: &str| {
        let mut command = Command::new(HARN);
        command.args(["run", "socket.harn"]).current_dir(certificates.path()).env("HARN_CA_FILE", ca_file);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let trusted = told("ca.pem");
    assert!(trusted.contains("the server did not agree to it, but answered with HTTP 4"), "{trusted}");
    let unknown = told("");
    assert!(unknown.contains("certificate"), "{unknown}");
}

#[tokio::test]
async fn plain_http_on_the_tls_port_is_told_to_use_https() {
    let certificates = Certificates::new();
    let server = certificates.start("127.0.0.1:0");
    let plain = Client::to_url(&server.url.replace("https", "http"), Some(KEY)).unwrap();
    let answer = plain.request(Method::GET, "/v1/tasks").send().await.unwrap();
    assert_eq!(answer.status, 400);
    let Err(ClientError::Refused { code, message, .. }) = answer.ok() else { panic!("accepted") };
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("invalid_request", "This port speaks TLS. Use an https:// address.")
    );
}

#[tokio::test]
async fn silent_and_hostile_clients_keep_nobody_waiting() {
    use std::io::Write;
    let certificates = Certificates::new();
    let server = certificates.start("127.0.0.1:0");
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for (n, mut stream) in silent.iter().enumerate() {
        // The beginning of a handshake, a record that claims more than it has, nonsense, or nothing.
        let said: &[u8] = match n % 4 {
            0 => &[0x16, 0x03, 0x01],
            1 => &[0x16, 0x03, 0x01, 0xff, 0xff, 0x01, 0xff, 0xff, 0xff],
            2 => &[0x00, 0xff, 0x80],
            _ => &[],
        };
        stream.write_all(said).unwrap();
    }
    for _ in 0..3 {
        let client = certificates.client(&server);
        assert_eq!(client.request(Method::GET, "/health").send().await.unwrap().status, 200);
    }
    drop(silent);
}

#[test]
fn problems_of_certificates_are_said_precisely() {
    let good = Certificates::new();
    let expired = Certificates::made(|params| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 3);
    });
    let early = Certificates::made(|params| params.not_before = date_time_ymd(2999, 1, 1));
    let late = Certificates::made(|params| params.not_after = date_time_ymd(2051, 1, 1));
    let cases = [
        (&good, "absent.pem", "key.pem", "the file absent.pem cannot be read: No such file"),
        (&good, "cert.pem", "absent.pem", "the file absent.pem cannot be read: No such file"),
        (&good, "text.pem", "key.pem", "text.pem holds no BEGIN CERTIFICATE block"),
        (&good, "cert.pem", "text.pem", "text.pem holds no BEGIN PRIVATE KEY block"),
        (&good, "key.pem", "cert.pem", "key.pem holds no BEGIN CERTIFICATE block"),
        (&good, "cert.pem", "other.pem", "the key other.pem is not that of the certificate cert.pem"),
        (&expired, "cert.pem", "key.pem", "the certificate cert.pem expired at 2020-02-03T00:00:00.000Z"),
        (
            &early,
            "cert.pem",
            "key.pem",
            "the certificate cert.pem is valid only from 2999-01-01T00:00:00.000Z",
        ),
    ];
    for (certificates, certificate, key, wanted) in cases {
        let output = certificates.refusal(certificate, key);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.starts_with("error: TLS cannot be set up\n") && told.contains(wanted), "{told}");
        assert!(
            !certificates.path().join(".harn").exists(),
            "nothing is opened before the certificate is good"
        );
    }
    late.start("127.0.0.1:0");
}

#[test]
fn beyond_loopback_there_is_tls_or_the_word_for_plain_text() {
    let certificates = Certificates::new();
    let plain = certificates.run(&["serve", "--bind", "0.0.0.0:0"]);
    let told = String::from_utf8(plain.stderr).unwrap();
    assert!(told.contains("--tls-cert FILE --tls-key FILE, or say --plain-text"), "{told}");
    let half = certificates.run(&["serve", "--tls-cert", "cert.pem"]);
    assert_eq!(half.status.code(), Some(2));
    let server = certificates.start("0.0.0.0:0");
    let port = server.address().rsplit(':').next().unwrap();
    let url = format!("https://127.0.0.1:{port}");
    let listed = certificates.run(&["workspaces", "list", "--url", &url, "--ca", "ca.pem"]);
    assert!(listed.status.success(), "{listed:?}");
}
