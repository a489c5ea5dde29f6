//! `nats-server.conf`: one server.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::book::Book;
use crate::{certificates, users_conf};

/// The file's name.
pub const FILE: &str = "nats-server.conf";

/// The text for the server on one of the book's hosts.
pub fn render(book: &Book, host: &str) -> String {
    let (cluster, dir, store) = (&book.cluster, &book.server_dir, &book.store_dir);
    let listen = address(&listen_host(host), book.client_port);
    let monitor = address(&monitor_host(host), book.monitor_port);
    let mut text = format!(
        "# The log of Daybook's cluster {cluster}: the nats-server (2.12 or newer) on {host}.\n\
         # Made by `daybook keys`.\n\n\
         server_name: \"{host}\"\n\
         listen: \"{listen}\"\n\
         # Its state for people and monitoring, without a key: on this machine only.\n\
         http: \"{monitor}\"\n\n\
         # The longest message; a commit of the log is one.\n\
         max_payload: 8MB\n\n\
         jetstream {{\n\
         \x20 store_dir: \"{store}\"\n\
         \x20 # An acknowledged message is on the disk. Daybook refuses a server that is set otherwise.\n\
         \x20 sync_interval: always\n\
         \x20 # Without max_file_store the streams get three quarters of the space that is free in store_dir at the start.\n\
         }}\n\n"
    );
    text.push_str(
        "# Clients prove who they are by their nkey (users.conf), and the server by its certificate.\n",
    );
    write_tls(&mut text, "", dir, false);
    if book.hosts.len() > 1 {
        let routes = address(&listen_host(host), book.route_port);
        let _ = write!(
            text,
            "\ncluster {{\n  name: \"{cluster}\"\n  listen: \"{routes}\"\n  # Only who has a certificate of this cluster's \
             authority is let in.\n"
        );
        write_tls(&mut text, "  ", dir, true);
        text.push_str("  routes: [\n");
        for other in book.hosts.iter().filter(|other| *other != host) {
            let _ = writeln!(text, "    \"tls://{}\"", address(other, book.route_port));
        }
        text.push_str("  ]\n}\n");
    }
    let _ = write!(text, "\ninclude \"{}\"\n", users_conf::FILE);
    text
}

fn write_tls(text: &mut String, indent: &str, dir: &str, verify: bool) {
    let (certificate, key) = (certificates::SERVER_FILE, certificates::SERVER_KEY_FILE);
    let _ = write!(
        text,
        "{indent}tls {{\n\
         {indent}  cert_file: \"{dir}/{certificate}\"\n\
         {indent}  key_file: \"{dir}/{key}\"\n\
         {indent}  ca_file: \"{dir}/{}\"\n\
         {indent}  verify: {verify}\n\
         {indent}  min_version: \"1.3\"\n\
         {indent}  timeout: 5\n\
         {indent}}}\n",
        certificates::AUTHORITY_FILE
    );
}

/// A host that is given by its address listens there, one that is given by name listens everywhere.
fn listen_host(host: &str) -> String {
    if host.parse::<IpAddr>().is_ok() { host.to_string() } else { "0.0.0.0".to_string() }
}

/// An address that reaches only the machine itself.
fn monitor_host(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => host.to_string(),
        _ => "127.0.0.1".to_string(),
    }
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
