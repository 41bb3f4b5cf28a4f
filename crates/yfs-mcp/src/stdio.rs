//! The server on standard input and output.

use std::io;

use rmcp::{
    ServiceExt,
    service::ServerInitializeError,
    transport::{async_rw::AsyncRwTransport, io::stdio_pipes},
};

use crate::{malformed_messages::CheckedLines, server::McpServer};

/// The most bytes of one message.
const MAX_MESSAGE_LEN: usize = 16 << 20;

/// Serves one client on standard input and output until the input ends.
///
/// A message above 16 MiB is discarded, and one that is not JSON is skipped; the connection stays.
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
    let input = CheckedLines::new(input, report);
    let transport = AsyncRwTransport::new_server(input, output);
    let transport = transport.with_max_line_length(MAX_MESSAGE_LEN);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map_err(io::Error::other)?;
    Ok(())
}
