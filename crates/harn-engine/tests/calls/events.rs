//! Streams of events from a real server, and responses in pieces.

use std::io::Write;
use std::net::TcpStream;

use crate::kit::Scene;
use crate::server::{Server, head, until_gone};

const BEGIN: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

/// What each path does.
fn serve(mut stream: TcpStream) {
    let head = head(&mut stream);
    let said =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let mut say = |text: &str| stream.write_all(text.as_bytes()).unwrap();
    match head.split(' ').nth(1).unwrap() {
        "/feed" => {
            let last = said("last-event-id: ");
            say(&format!("{BEGIN}\r\n: hello\n\n"));
            match last.as_str() {
                "" => say("retry: 20\nid: 7\nevent: tick\ndata: one\ndata: two\n\ndata: cut off"),
                last => say(&format!("data: after {last}\n\n")),
            }
        }
        "/quiet" => {
            say(&format!("{BEGIN}\r\ndata: first\n\n"));
            until_gone(&mut stream);
        }
        "/vanishing" => say(&format!("{BEGIN}content-length: 100\r\n\r\ndata: first\n\ndata: sec")),
        "/large" => {
            say(&format!("{BEGIN}\r\ndata: {}\n\n", "x".repeat(500)));
            // Many lines are one event, too.
            (0..100).for_each(|_| say(&format!("data: {}\n", "y".repeat(20))));
            until_gone(&mut stream);
        }
        "/silent" => until_gone(&mut stream),
        "/moved" => {
            say("HTTP/1.1 302 Found\r\nlocation: /feed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
        "/astray" => {
            say(
                "HTTP/1.1 302 Found\r\nlocation: http://elsewhere.test/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
        "/echo" => {
            let key = said("authorization: ");
            let (half, rest) = key.split_at(key.len() / 2);
            say(&format!("{BEGIN}x-echo: {key}\r\n\r\ndata: you said {half}"));
            say(&format!("{rest}\ndata: so\n\n"));
        }
        _ => say("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
    }
}

/// What a script prints that connects to a path as `URL`.
fn prints(path: &str, script: &str) -> String {
    let server = Server::start(serve);
    Scene::new().run(&script.replace("URL", &format!("\"{}\"", server.url("http", path))))
}

#[test]
fn events_are_received_to_the_end_and_gone_on_with_after_the_last() {
    let output = prints(
        "/feed",
        r#"
        let stream = sse_connect("GET", URL)
        let event = sse_receive(stream)
        println("${event.event} ${event.id} ${event.retry} ${event.data}")
        println("${sse_receive(stream)} ${sse_receive(stream, 10)}")
        println("${sse_close(stream)} ${sse_close(stream)}")
        println(try { sse_receive(stream) } catch (e) { e.contains("there is no open") })
        let again = sse_connect("GET", URL, {headers: {"Last-Event-ID": event.id}})
        println(sse_receive(again).data)
        "#,
    );
    assert_eq!(output, "tick 7 20 one\ntwo\nnil nil\ntrue false\ntrue\nafter 7\n");
}

#[test]
fn who_waits_for_an_event_stops_when_time_is_up_or_the_stream_is_closed() {
    let output = prints(
        "/quiet",
        r#"
        let stream = sse_connect("GET", URL)
        println(sse_receive(stream, 10000).data)
        println(sse_receive(stream, 20))
        let waiting = spawn { sse_receive(stream) }
        sleep(20)
        println(sse_close(stream))
        println(await(waiting))
        let other = sse_connect("GET", URL)
        sse_receive(other)
        println(try { deadline 50ms { sse_receive(other) } } catch (e) { error_category(e) })
        "#,
    );
    assert_eq!(output, "first\nnil\ntrue\nnil\ntimeout\n");
}

#[test]
fn a_server_that_vanishes_is_an_error_that_may_pass() {
    let output = prints(
        "/vanishing",
        r#"
        let stream = sse_connect("GET", URL)
        println(sse_receive(stream).data)
        println(try { sse_receive(stream) } catch (e) { error_category(e) })
        "#,
    );
    assert_eq!(output, "first\ntransient_network\n");
}

#[test]
fn an_event_has_a_largest_size() {
    let output = prints(
        "/large",
        r#"
        let stream = sse_connect("GET", URL, {max_bytes: 1000})
        println(len(sse_receive(stream).data))
        println(try { sse_receive(stream) } catch (e) { to_string(e) })
        "#,
    );
    assert_eq!(output, "500\nAn event of the stream has more than 1000 bytes; `max_bytes` allows more.\n");
}

#[test]
fn a_stream_that_cannot_be_opened_says_why() {
    let opened =
        r#"println(try { sse_connect("GET", URL, {timeout_ms: 100}) } catch (e) { error_category(e) })"#;
    assert_eq!(prints("/silent", opened), "timeout\n");
    assert_eq!(prints("/none", opened), "not_found\n");
    let message =
        r#"println(try { sse_connect("GET", URL) } catch (e) { to_string(e).contains("HTTP 404 from") })"#;
    assert_eq!(prints("/none", message), "true\n");
    let nobody = Scene::new()
        .run(r#"println(try { sse_connect("GET", "http://127.0.0.1:1/") } catch (e) { error_category(e) })"#);
    assert_eq!(nobody, "transient_network\n");
}

#[test]
fn redirects_are_followed_and_each_address_is_checked() {
    let followed = prints("/moved", r#"println(sse_receive(sse_connect("GET", URL)).id)"#);
    assert_eq!(followed, "7\n");
    let refused = prints(
        "/moved",
        r#"println(try { sse_connect("GET", URL, {follow_redirects: false}) } catch (e) { to_string(e) })"#,
    );
    assert!(refused.contains("more than 0 redirects"), "{refused}");
    let astray = prints(
        "/astray",
        r#"
        egress_policy({allow: ["127.0.0.1"]})
        println(try { sse_connect("GET", URL) } catch (e) { e.category + " " + e.host })
        "#,
    );
    assert_eq!(astray, "egress_blocked elsewhere.test\n");
}

#[test]
fn rules_of_the_script_and_of_the_owner_keep_it_from_an_address() {
    let denied = prints(
        "/feed",
        r#"
        egress_policy({deny: ["127.0.0.1"]})
        println(try { sse_connect("GET", URL) } catch (e) { e.category })
        "#,
    );
    assert_eq!(denied, "egress_blocked\n");
    let server = Server::start(|_| panic!("nobody may come here"));
    let mut scene = Scene::new();
    let rule = "[[permissions.rules]]\nid = \"no\"\naction = \"deny\"\nmatch = { host = \"127.0.0.1\" }\n";
    scene.permissions = rule.to_owned();
    for opens in [
        format!("sse_connect(\"GET\", \"{}\")", server.url("http", "/feed")),
        format!("websocket_connect(\"{}\")", server.url("ws", "/echo")),
    ] {
        let output = scene.run(&format!("println(try {{ {opens} }} catch (e) {{ error_category(e) }})"));
        assert_eq!(output, "permission_denied\n", "{opens}");
    }
}

#[test]
fn a_secret_that_comes_back_in_a_stream_is_taken_out() {
    let server = Server::start(serve);
    let scene = Scene::new();
    scene.secret("key", "s3cr3t-v4lue", &["127.0.0.1"], &[]);
    let url = server.url("http", "/echo");
    let output = scene.run(&format!(
        r#"
        let options = {{headers: {{Authorization: secret_get("key")}}}}
        println(sse_receive(sse_connect("GET", "{url}", options)).data)
        let stream = http_stream_open("{url}", options)
        println(http_header(http_stream_info(stream).headers, "x-echo"))
        var all = ""
        var piece = http_stream_read(stream, 5)
        while piece != nil {{
          all = all + bytes_to_string(piece)
          piece = http_stream_read(stream, 5)
        }}
        println(all)
        "#
    ));
    let name = "{{harn:secret:key}}";
    assert_eq!(output, format!("you said {name}\nso\n{name}\ndata: you said {name}\ndata: so\n\n\n"));
}
