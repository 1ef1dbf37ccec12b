//! WebSockets of scripts with a real server.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept_hdr};

use crate::kit::Scene;
use crate::server::{Server, head, until_gone};

/// What each path does. What the server hears is told.
fn serve(mut stream: TcpStream, heard: &Sender<Message>) {
    let mut start = [0; 64];
    let start = stream.peek(&mut start).map(|read| start[..read].to_vec()).unwrap();
    if start.starts_with(b"GET /silent") {
        return until_gone(&mut stream);
    }
    let mut path = String::new();
    #[allow(clippy::result_large_err)]
    let shake = |request: &Request, mut response: Response| {
        path = request.uri().path().to_owned();
        if let Some(protocol) = request.headers().get("sec-websocket-protocol") {
            let offered = protocol.to_str().unwrap();
            assert!(path != "/guarded" || offered == "token.s3cr3t-v4lue", "{offered}");
            let first = offered.split(',').next().unwrap().parse().unwrap();
            response.headers_mut().insert("sec-websocket-protocol", first);
        }
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr(stream, shake) else { return };
    match path.as_str() {
        "/bye" => {
            socket.send("last words".into()).unwrap();
            let frame = CloseFrame { code: 4001.into(), reason: "enough".into() };
            socket.close(Some(frame)).unwrap();
            listen(&mut socket, heard);
        }
        "/vanishing" => {
            socket.send("first".into()).unwrap();
            socket.get_ref().shutdown(Shutdown::Both).unwrap();
        }
        "/large" => {
            let _ = socket.send("x".repeat(5000).into());
            listen(&mut socket, heard);
        }
        _ => listen(&mut socket, heard),
    }
}

/// Echoes to the end.
fn listen(socket: &mut WebSocket<TcpStream>, heard: &Sender<Message>) {
    while let Ok(message) = socket.read() {
        let _ = heard.send(message.clone());
        if message.is_text() || message.is_binary() {
            socket.send(message).unwrap();
        }
    }
}

/// What a script prints that connects to a path as `URL`, and what the server heard.
fn both(scene: &Scene, path: &str, script: &str) -> (String, Vec<Message>) {
    let (told, heard) = channel();
    let told = Mutex::new(told);
    let server = Server::start(move |stream| {
        let told = told.lock().clone();
        serve(stream, &told);
    });
    let output = scene.run(&script.replace("URL", &format!("\"{}\"", server.url("ws", path))));
    let heard = std::iter::from_fn(|| heard.recv_timeout(Duration::from_millis(300)).ok()).collect();
    (output, heard)
}

fn prints(path: &str, script: &str) -> String {
    both(&Scene::new(), path, script).0
}

#[test]
fn messages_go_both_ways_and_a_closed_socket_says_goodbye() {
    let (output, heard) = both(
        &Scene::new(),
        "/echo",
        r#"
        let socket = websocket_connect(URL)
        println(websocket_send(socket, "hello"))
        println(websocket_receive(socket))
        websocket_send(socket, bytes_from_string("raw"))
        let raw = websocket_receive(socket, 5000)
        println("${raw.type} ${bytes_to_string(raw.data)}")
        websocket_send(socket, {n: 1})
        println(websocket_receive(socket).data)
        websocket_send(socket, "there?", {type: "ping"})
        println(bytes_to_string(websocket_receive(socket).data))
        println("${websocket_close(socket)} ${websocket_close(socket)} ${websocket_send(socket, "late")}")
        "#,
    );
    let shown = "true\n{data: hello, type: text}\nbinary raw\n{\"n\":1}\nthere?\ntrue false false\n";
    assert_eq!(output, shown);
    let expected = [
        Message::Text("hello".into()),
        Message::Binary("raw".into()),
        Message::Text("{\"n\":1}".into()),
        Message::Ping("there?".into()),
        Message::Close(None),
    ];
    assert_eq!(heard, expected);
}

#[test]
fn who_waits_for_a_message_does_not_hold_up_who_sends_one() {
    let output = prints(
        "/echo",
        r#"
        let socket = websocket_connect(URL)
        println(websocket_receive(socket, 20))
        let waiting = spawn { websocket_receive(socket) }
        sleep(20)
        websocket_send(socket, "now")
        println(await(waiting).data)
        let other = spawn { websocket_receive(socket) }
        sleep(20)
        websocket_close(socket)
        println(await(other).type)
        "#,
    );
    assert_eq!(output, "nil\nnow\nclose\n");
}

#[test]
fn a_server_may_close_with_a_reason() {
    let output = prints(
        "/bye",
        r#"
        let socket = websocket_connect(URL)
        println(websocket_receive(socket).data)
        println(websocket_receive(socket))
        println(websocket_receive(socket))
        println(websocket_send(socket, "too late"))
        "#,
    );
    let closed = "{code: 4001, reason: enough, type: close}\n{code: nil, reason: , type: close}\n";
    assert_eq!(output, format!("last words\n{closed}false\n"));
}

#[test]
fn a_server_that_vanishes_is_an_error_that_may_pass() {
    let output = prints(
        "/vanishing",
        r#"
        let socket = websocket_connect(URL)
        println(websocket_receive(socket).data)
        println(try { websocket_receive(socket) } catch (e) { error_category(e) })
        "#,
    );
    assert_eq!(output, "first\ntransient_network\n");
}

#[test]
fn a_message_has_a_largest_size() {
    let script = r#"
        let socket = websocket_connect(URL, {max_bytes: MOST})
        println(try { len(websocket_receive(socket).data) } catch (e) { to_string(e) })
        "#;
    let refused = prints("/large", &script.replace("MOST", "4000"));
    assert!(refused.contains("5000 > 4000") && refused.contains("`max_bytes` allows more"), "{refused}");
    assert_eq!(prints("/large", &script.replace("MOST", "5000")), "5000\n");
}

#[test]
fn a_socket_that_cannot_be_opened_says_why() {
    let opens = "println(try { websocket_connect(URL, {timeout_ms: 100}) } catch (e) { error_category(e) })";
    assert_eq!(prints("/silent", opens), "timeout\n");
    let plain = Server::start(|mut stream| {
        head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
    });
    let output = Scene::new().run(&format!("websocket_connect(\"{}\")", plain.url("ws", "/")));
    assert!(
        output.contains("WebSocket: the server did not agree to it, but answered with HTTP 404."),
        "{output}"
    );
    let denied = r#"
        egress_policy({deny: ["127.0.0.1"]})
        println(try { websocket_connect(URL) } catch (e) { e.category })
        "#;
    assert_eq!(prints("/echo", denied), "egress_blocked\n");
}

#[test]
fn a_proxy_may_stand_between() {
    let (output, heard) = both(
        &Scene::new(),
        "/",
        r#"
        let socket = websocket_connect("ws://nowhere.test/echo", {proxy: replace(URL, "ws://", "http://")})
        websocket_send(socket, "through")
        println(websocket_receive(socket).data)
        "#,
    );
    assert_eq!((output.as_str(), &heard[..]), ("through\n", [Message::Text("through".into())].as_slice()));
}

#[test]
fn a_protocol_is_agreed_on() {
    let output =
        prints("/echo", r#"println(type_of(websocket_connect(URL, {protocols: ["chat.v2", "chat"]})))"#);
    assert_eq!(output, "string\n");
}

#[test]
fn a_secret_is_sent_to_its_host_and_comes_back_as_its_name() {
    let scene = Scene::new();
    scene.secret("key", "s3cr3t-v4lue", &["127.0.0.1"], &[]);
    let script = r#"
        let socket = websocket_connect(URL)
        websocket_send(socket, {token: secret_get("key")})
        println(websocket_receive(socket).data)
        websocket_send(socket, bytes_from_string("raw " + secret_get("key")))
        println(bytes_to_string(websocket_receive(socket).data))
        "#;
    let offered =
        both(&scene, "/guarded", "websocket_connect(URL, {protocols: [\"token.\" + secret_get(\"key\")]})").0;
    assert_eq!(offered, "");
    let (output, heard) = both(&scene, "/echo", script);
    assert_eq!(output, "{\"token\":\"{{harn:secret:key}}\"}\nraw {{harn:secret:key}}\n");
    assert_eq!(heard[0], Message::Text("{\"token\":\"s3cr3t-v4lue\"}".into()));
    assert_eq!(heard[1], Message::Binary("raw s3cr3t-v4lue".into()));
    scene.secret("key", "s3cr3t-v4lue", &["other.test"], &[]);
    let (output, heard) = both(&scene, "/echo", script);
    assert!(output.contains("the secret `key` may not go to 127.0.0.1"), "{output}");
    assert_eq!(heard, []);
}
