//! The server on standard input and output.

use std::io;

use rmcp::{ServiceExt, service::ServerInitializeError, transport::io::stdio_pipes};

use crate::{line_transport::LineTransport, server::McpServer};

/// Serves one client on standard input and output until the input ends.
///
/// Each request that has an id is answered. A message that is not JSON, that is no request, or that
/// is above 16 MiB gets an error; the connection stays.
///
/// # Errors
///
/// Fails if the first message begins no session.
pub async fn serve_stdio(server: McpServer) -> io::Result<()> {
    serve_stdio_reporting(server, |_| ()).await
}

/// Does the same, and passes the reason to `report` for each message that is not JSON.
///
/// # Errors
///
/// Fails if the first message begins no session.
pub async fn serve_stdio_reporting(server: McpServer, report: fn(&str)) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let transport = LineTransport::new(input, output, report);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map_err(io::Error::other)?;
    Ok(())
}
