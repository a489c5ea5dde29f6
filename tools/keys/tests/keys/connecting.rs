//! Who is not let in at all.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use async_nats::{ConnectErrorKind, ConnectOptions};

use super::client::foreign_authority;
use super::servers::{Keys, PATIENCE};

#[tokio::test]
async fn without_a_key_nobody_is_let_in() {
    let keys = Keys::init(1);
    let _servers = keys.start();
    let options =
        ConnectOptions::new().add_root_certificates(keys.directory().join("ca/ca.pem")).require_tls(true);
    let error = options.connect(keys.url(&keys.hosts[0])).await.expect_err("no key");
    assert_eq!(error.kind(), ConnectErrorKind::AuthorizationViolation, "{error:?}");
}

#[tokio::test]
async fn the_key_of_another_cluster_does_not_let_in() {
    let (keys, other) = (Keys::init(1), Keys::init(1));
    let _servers = keys.start();
    let options =
        other.options("service", "_INBOX").add_root_certificates(keys.directory().join("ca/ca.pem"));
    let error = options.connect(keys.url(&keys.hosts[0])).await.expect_err("a foreign key");
    assert_eq!(error.kind(), ConnectErrorKind::AuthorizationViolation, "{error:?}");
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_believed() {
    let keys = Keys::init(1);
    let _servers = keys.start();
    let options = keys.options("service", "_INBOX").add_root_certificates(foreign_authority(&keys));
    let error = options.connect(keys.url(&keys.hosts[0])).await.expect_err("a foreign authority");
    assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
}

#[test]
fn without_tls_no_word_is_exchanged() {
    let keys = Keys::init(1);
    let _servers = keys.start();
    let mut stream = TcpStream::connect((keys.hosts[0].as_str(), keys.client_port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("the server's first line");
    assert!(line.starts_with("INFO ") && line.contains("\"tls_required\":true"), "{line}");
    stream.write_all(b"CONNECT {\"verbose\":true}\r\nPING\r\n").expect("sent");
    let mut answer = Vec::new();
    // However the server ends it: what matters is what it said before.
    let _ = reader.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains("PONG") && !answer.contains("+OK"), "{answer}");
}
