//! Looks at ports of TCP.

use std::net::TcpListener;

/// True if a program of this host listens at a port, on any of the usual addresses.
pub fn listens(port: u16) -> bool {
    TcpListener::bind(("0.0.0.0", port)).is_err()
}
