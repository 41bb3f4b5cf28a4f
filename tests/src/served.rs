//! A directory that the command serves, with tokens for its clients.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    command::{Server, ok},
    http::{Answer, Client},
};

/// A served directory.
#[derive(Debug)]
pub struct Served {
    dir: tempfile::TempDir,
    /// The server.
    pub server: Server,
    /// The owner, who has all rights.
    pub client: Client,
}

impl Served {
    /// Serves a directory with these files.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn start(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a directory for temporary files");
        for (name, text) in files {
            let path = dir.path().join(name);
            let parent = path.parent().expect("a file is in a directory");
            fs::create_dir_all(parent).expect("a directory that can be written");
            fs::write(path, text).expect("a directory that can be written");
        }
        let server = Server::start_with_tokens(dir.path(), 0);
        let token = ok(dir.path(), &["--quiet", "token", "owner"]).trim().to_owned();
        let client = Client { port: server.port(), token: Some(token) };
        Self { dir, server, client }
    }

    /// Returns a client with a token of `yfs token new` and these arguments.
    pub fn with_token(&self, args: &[&str]) -> Client {
        let args = [&["--quiet", "token", "new"], args].concat();
        let token = ok(self.dir.path(), &args).trim().to_owned();
        Client { token: Some(token), ..self.client.clone() }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

/// Sends JSON.
pub fn send_json(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let json = [("Content-Type", "application/json")];
    client.send(method, path, &json, body.to_string().as_bytes())
}
