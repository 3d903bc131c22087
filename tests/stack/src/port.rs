//! Free ports for servers that must be told theirs.
//!
//! Invariant: no port is fixed. Another process may take one between the asking and the server's start, so a
//! server that ends with "address already in use" is started again on others.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

const ATTEMPTS: usize = 5;

/// Calls `start` with ports that nobody has, again when somebody was quicker.
pub(crate) async fn with_free_ports<const N: usize, T>(mut start: impl AsyncFnMut([u16; N]) -> Result<T>) -> Result<T> {
    let mut attempt = 1;
    loop {
        let ports = free_ports()?;
        match start(ports).await {
            Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") => attempt += 1,
            outcome => return outcome,
        }
    }
}

fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held until all are known, so that they differ.
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("The system gives no free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}
