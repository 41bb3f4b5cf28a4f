//! The socket through which a server gets the presence of peers from the process that connects
//! them, which may be another one (`docs/format/peers.md`).
//!
//! It lies beside the store, with mode 0600, and is of the process that has the lock. Both sides
//! send the editors at one document in a message, which replaces what they sent of it before. What
//! a side sent ends with the connection.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use futures::{Stream, StreamExt, stream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use yfs_engine::{
    id::{FileId, WorkspaceId},
    lib0::{Lib0Error, Lib0Reader},
};
use yfs_sync::{
    checked_state,
    presence::{PresenceEntry, decode, encode},
    wire::{MaybeAs, Usual, WireCodec},
};

use crate::{
    peer_key::PeerId,
    presence::signed_presence::{MAX_STATES_LEN, encode_states},
};

/// The name of the socket.
pub(super) const SOCKET: &str = "peers.sock";

/// The longest path that a socket can have everywhere, in bytes.
const MAX_PATH_LEN: usize = 100;

/// The greatest length of a message, in bytes.
const MAX_LEN: usize = MAX_STATES_LEN + 256;

/// The message of a server that asks for the end of what is known now, and the answer.
pub(super) const ALL_SENT: &[u8] = &[2];

/// The most documents that are listed: as many as the connections of a process have room for.
const MAX_LISTED: usize = 64 * 256;

/// The connection of a server to the process that connects the peers.
#[derive(Debug)]
pub struct LocalPresence {
    stream: UnixStream,
}

/// The side of a [`LocalPresence`] that sends the editors of this server.
#[derive(Debug)]
pub struct PresenceSender {
    half: OwnedWriteHalf,
}

/// The editors at a document on the servers of another peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePresence {
    /// The peer.
    pub peer: PeerId,
    /// The document.
    pub doc: FileId,
    /// All editors, as an awareness update.
    pub states: Vec<u8>,
}

impl LocalPresence {
    /// Connects a server with the process that connects the peers of the workspace in a store's
    /// directory.
    ///
    /// # Errors
    ///
    /// If there is no such process.
    pub async fn connect(dir: &Path, workspace: &WorkspaceId) -> io::Result<Self> {
        let address = SocketAddress::of(dir, SOCKET)?;
        let mut stream = UnixStream::connect(address.path()).await?;
        write(&mut stream, workspace.as_str().as_bytes()).await?;
        Ok(Self { stream })
    }

    /// Returns the editors at the servers of other peers, as they are known now.
    ///
    /// # Errors
    ///
    /// If the other process ends, or sends what cannot be decoded.
    pub async fn read_all(self) -> io::Result<Vec<RemotePresence>> {
        let (mut read_half, mut half) = self.stream.into_split();
        write(&mut half, ALL_SENT).await?;
        let mut editors = BTreeMap::new();
        loop {
            let frame = read(&mut read_half).await?;
            if frame == ALL_SENT {
                return Ok(editors.into_values().collect());
            }
            let known = RemotePresence::decode(&frame)?;
            let key = (known.peer, known.doc.clone());
            if known.editor_states().is_empty() {
                editors.remove(&key);
            } else if editors.len() < MAX_LISTED {
                editors.insert(key, known);
            }
        }
    }

    /// Splits the connection into its two directions. The stream ends with an error, or when the
    /// other process does.
    pub fn split(
        self,
    ) -> (PresenceSender, impl Stream<Item = io::Result<RemotePresence>> + Send + 'static) {
        let (read, half) = self.stream.into_split();
        let received = frames(read).map(|frame| RemotePresence::decode(&frame?));
        (PresenceSender { half }, received)
    }
}

impl RemotePresence {
    fn decode(frame: &[u8]) -> io::Result<Self> {
        let (peer, doc, states) = decode_frame(frame).map_err(io::Error::other)?;
        let peer = peer.ok_or_else(|| io::Error::other("no peer"))?;
        // The signature of a peer covers states as it sent them.
        let entries = decode(&states).map_err(io::Error::other)?;
        let shown = entries.iter().filter_map(|entry| Some((entry, checked_state(entry.state)?)));
        let shown: Vec<_> = shown.collect();
        let entries =
            shown.iter().map(|(entry, state)| PresenceEntry { state: state.as_ref(), ..**entry });
        let states = encode(&entries.collect::<Vec<_>>());
        Ok(Self { peer, doc, states })
    }

    /// Returns the state of each editor, which is JSON.
    pub fn editor_states(&self) -> Vec<String> {
        let entries = decode(&self.states).unwrap_or_default();
        entries.iter().map(|entry| entry.state.to_owned()).collect()
    }
}

impl PresenceSender {
    /// Sends all editors of this server at a document: at most 256 with 64 KiB, the others are
    /// omitted. Returns the length in bytes.
    ///
    /// # Errors
    ///
    /// If the other process has ended.
    pub async fn send<'a>(
        &mut self,
        doc: &FileId,
        editors: impl IntoIterator<Item = PresenceEntry<'a>>,
    ) -> io::Result<usize> {
        let frame = encode_frame(None, doc, &encode_states(editors));
        write(&mut self.half, &frame).await?;
        Ok(frame.len())
    }
}

/// The address of a socket that is a file. A directory that is too deep for a socket is opened, and
/// named by its descriptor where the system can do that.
#[derive(Debug)]
pub struct SocketAddress {
    path: PathBuf,
    _dir: Option<File>,
}

impl SocketAddress {
    /// Returns the address of a socket in a directory.
    ///
    /// # Errors
    ///
    /// If the directory is too deep, and cannot be opened.
    pub fn of(dir: &Path, name: &str) -> io::Result<Self> {
        let path = dir.join(name);
        if path.as_os_str().len() <= MAX_PATH_LEN {
            return Ok(Self { path, _dir: None });
        }
        let dir = File::open(dir)?;
        let number = std::os::fd::AsRawFd::as_raw_fd(&dir);
        Ok(Self { path: format!("/proc/self/fd/{number}/{name}").into(), _dir: Some(dir) })
    }

    /// Returns the path to connect with, or to listen at, while the address exists.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Encodes a message of a server, or of a peer to a server.
pub(super) fn encode_frame(peer: Option<PeerId>, doc: &FileId, states: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    MaybeAs::<Usual>::write(&peer, &mut out);
    Usual::write(doc, &mut out);
    Usual::write(&states, &mut out);
    out
}

/// Decodes a message.
pub(super) fn decode_frame(frame: &[u8]) -> Result<(Option<PeerId>, FileId, Vec<u8>), Lib0Error> {
    let mut reader = Lib0Reader::new(frame);
    let (peer, doc) = (MaybeAs::<Usual>::read(&mut reader)?, Usual::read(&mut reader)?);
    let states = reader.buffer()?;
    decode(states)?;
    if reader.is_empty() { Ok((peer, doc, states.to_vec())) } else { Err(Lib0Error::Parts) }
}

/// Writes a message with its length before it.
pub(super) async fn write(
    stream: &mut (impl AsyncWriteExt + Unpin),
    frame: &[u8],
) -> io::Result<()> {
    let len = u32::try_from(frame.len()).map_err(io::Error::other)?;
    let mut message = len.to_be_bytes().to_vec();
    message.extend_from_slice(frame);
    stream.write_all(&message).await
}

/// Returns the messages of the other side. It is not lost work to drop the next one.
pub(super) fn frames(half: OwnedReadHalf) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    stream::unfold(Some(half), async |half| {
        let mut half = half?;
        match read(&mut half).await {
            Ok(frame) => Some((Ok(frame), Some(half))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

async fn read(half: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    half.read_exact(&mut len).await?;
    let len = u32::from_be_bytes(len) as usize;
    if len > MAX_LEN {
        return Err(io::Error::other("a message that is too long"));
    }
    let mut frame = vec![0; len];
    half.read_exact(&mut frame).await?;
    Ok(frame)
}
