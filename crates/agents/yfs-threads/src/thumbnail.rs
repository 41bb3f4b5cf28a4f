//! Thumbnails of images.
//!
//! The header of an image is checked before anything is decoded: an image of too many pixels is
//! refused, whatever its bytes are. Decoding runs on a thread of its own, with a limit on what the
//! decoder may allocate; a decoder that panics ends that thread only, and one that does not end in
//! time is left behind. At most [`MAX_WORKERS`] run at once, those left behind included.

use std::{
    collections::VecDeque,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use thiserror::Error;

#[cfg(feature = "thumbnails")]
use self::decode::decode;

#[cfg(feature = "thumbnails")]
mod decode;

/// The number of images that are decoded at once.
const MAX_WORKERS: usize = 2;

/// The largest side of a thumbnail.
const MAX_SIDE: u32 = 2_048;

/// The bytes of thumbnails that are kept in memory.
const MEMORY_BUDGET: usize = 8 << 20;

/// The bytes of thumbnails that are kept beside a store, and how many remain when some go.
const DISK_BUDGET: u64 = 64 << 20;
const DISK_REST: u64 = 48 << 20;

/// A small picture of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageThumbnail {
    /// The bytes of the picture.
    pub data: Bytes,
    /// Its media type: `image/jpeg`, or `image/png` if it is not opaque.
    pub mime_type: &'static str,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

/// The greatest size of a thumbnail. The picture keeps the proportions of its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThumbnailBox {
    /// The greatest width in pixels.
    pub max_width: u32,
    /// The greatest height in pixels.
    pub max_height: u32,
}

/// The limits of making a thumbnail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThumbnailLimits {
    /// The most pixels of the image.
    pub max_pixels: u64,
    /// The most bytes that the decoder may allocate.
    pub max_memory: u64,
    /// The longest time to decode, wait for a free worker included.
    pub max_time: Duration,
}

/// The reason why there is no thumbnail of a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ThumbnailError {
    /// The bytes are not of an image that can be decoded here.
    #[error("not an image in PNG, JPEG, GIF, WebP or BMP")]
    NotAnImage,
    /// The image is larger than the limit.
    #[error("the image states {width} by {height} pixels, more than the limit of {limit}")]
    TooManyPixels {
        /// The width that its header states.
        width: u32,
        /// The height that its header states.
        height: u32,
        /// The limit.
        limit: u64,
    },
    /// The image needs more memory than the limit.
    #[error("the image needs more memory than the limit")]
    TooMuchMemory,
    /// The image is damaged.
    #[error("the image is damaged: {0}")]
    Damaged(String),
    /// The image was not decoded in time.
    #[error("the image was not decoded within {0:?}")]
    Timeout(Duration),
    /// This build has no decoders, because it lacks the feature `thumbnails`.
    #[error(
        "this build makes no thumbnails: they need `--features full`, which released builds have"
    )]
    NotBuilt,
    /// The decoder failed in a way that is a fault of its own.
    #[error("the decoder failed")]
    Decoder,
}

impl ThumbnailBox {
    /// Makes a box with equal sides.
    pub fn square(max_side: u32) -> Self {
        Self { max_width: max_side, max_height: max_side }
    }

    /// Parses `200x100`, or `200` for a square box.
    pub fn parse(text: &str) -> Option<Self> {
        let side = |text: &str| text.parse::<u32>().ok().filter(|side| *side > 0);
        match text.split_once('x') {
            Some((width, height)) => {
                Some(Self { max_width: side(width)?, max_height: side(height)? })
            }
            None => side(text).map(Self::square),
        }
    }

    fn limited(self) -> Self {
        let limited = |side: u32| side.clamp(1, MAX_SIDE);
        Self { max_width: limited(self.max_width), max_height: limited(self.max_height) }
    }
}

impl Default for ThumbnailLimits {
    fn default() -> Self {
        Self { max_pixels: 64 << 20, max_memory: 320 << 20, max_time: Duration::from_secs(20) }
    }
}

/// The workers that run.
static WORKERS: LazyLock<Arc<(Mutex<usize>, Condvar)>> = LazyLock::new(Arc::default);

/// A free place for a worker, taken until it is dropped.
struct WorkerPlace;

impl WorkerPlace {
    fn take(deadline: Instant) -> Option<Self> {
        let (running, freed) = &**WORKERS;
        let mut n_running = running.lock();
        while *n_running >= MAX_WORKERS {
            if freed.wait_until(&mut n_running, deadline).timed_out() {
                return None;
            }
        }
        *n_running += 1;
        Some(Self)
    }
}

impl Drop for WorkerPlace {
    fn drop(&mut self) {
        let (running, freed) = &**WORKERS;
        *running.lock() -= 1;
        freed.notify_one();
    }
}

/// Makes a thumbnail of an image that fits a box (2,048 pixels wide and high at most). The call
/// blocks.
///
/// # Errors
///
/// See [`ThumbnailError`]; none takes longer than the limit.
pub(crate) fn make_thumbnail(
    data: Bytes,
    size: ThumbnailBox,
    limits: ThumbnailLimits,
) -> Result<ImageThumbnail, ThumbnailError> {
    let timeout = || ThumbnailError::Timeout(limits.max_time);
    let deadline = Instant::now() + limits.max_time;
    let place = WorkerPlace::take(deadline).ok_or_else(timeout)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let worker = thread::Builder::new().name("yfs-thumbnail".to_owned());
    let started = worker.spawn(move || {
        let made = decode(&data, size.limited(), limits);
        drop(place);
        // The caller may have stopped waiting.
        sender.send(made).ok();
    });
    if started.is_err() {
        return Err(ThumbnailError::Decoder);
    }
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(made) => made,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(timeout()),
        // The thread panicked.
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(ThumbnailError::Decoder),
    }
}

#[cfg(not(feature = "thumbnails"))]
fn decode(
    _data: &[u8],
    _size: ThumbnailBox,
    _limits: ThumbnailLimits,
) -> Result<ImageThumbnail, ThumbnailError> {
    Err(ThumbnailError::NotBuilt)
}

/// The thumbnails that were made last, by the hash of the image and the size.
static IN_MEMORY: Mutex<VecDeque<(ThumbnailKey, ImageThumbnail)>> = Mutex::new(VecDeque::new());

/// The content of an image, and the size of its thumbnail.
type ThumbnailKey = (blake3::Hash, ThumbnailBox);

/// Returns the thumbnail of an image, made once for each content and size. It is kept in memory,
/// and in `directory` for other processes; see
/// [`WorkspaceFs::thumbnail_directory`](yfs::WorkspaceFs::thumbnail_directory). The call blocks.
///
/// # Errors
///
/// See [`ThumbnailError`]; none takes longer than 20 seconds.
pub fn cached_thumbnail(
    directory: Option<PathBuf>,
    data: Bytes,
    size: ThumbnailBox,
) -> Result<ImageThumbnail, ThumbnailError> {
    let size = size.limited();
    let key = (blake3::hash(&data), size);
    let found = IN_MEMORY.lock().iter().find(|(known, _)| *known == key).cloned();
    if let Some((_, known)) = found {
        return Ok(known);
    }
    let file = directory.as_ref().map(|directory| directory.join(file_name(key)));
    let stored = file.as_ref().and_then(|file| read_stored(file));
    let made = match stored {
        Some(stored) => stored,
        None => {
            let made = make_thumbnail(data, size, ThumbnailLimits::default())?;
            if let Some((directory, file)) = directory.zip(file) {
                // It is made again if it cannot be kept.
                store(&directory, &file, &made).ok();
            }
            made
        }
    };
    let mut known = IN_MEMORY.lock();
    known.push_back((key, made.clone()));
    while known.iter().map(|(_, one)| one.data.len()).sum::<usize>() > MEMORY_BUDGET {
        known.pop_front();
    }
    Ok(made)
}

fn file_name((hash, size): ThumbnailKey) -> String {
    let ThumbnailBox { max_width, max_height } = size;
    match max_width == max_height {
        true => format!("{}-{max_width}", hash.to_hex()),
        false => format!("{}-{max_width}x{max_height}", hash.to_hex()),
    }
}

/// Reads a thumbnail that was kept: the hash of what follows, the type, width, height, data.
fn read_stored(file: &Path) -> Option<ImageThumbnail> {
    let bytes = Bytes::from(fs::read(file).ok()?);
    let (hash, rest) = (bytes.get(..32)?, bytes.slice(32..));
    if blake3::hash(&rest) != *<&[u8; 32]>::try_from(hash).ok()? {
        return None;
    }
    let number = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    let mime_type = match rest.first()? {
        0 => "image/png",
        _ => "image/jpeg",
    };
    let (width, height) = (number(1)?, number(5)?);
    Some(ImageThumbnail { data: rest.slice(9..), mime_type, width, height })
}

fn store(directory: &Path, file: &Path, made: &ImageThumbnail) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut bytes = vec![u8::from(made.mime_type != "image/png")];
    bytes.extend(made.width.to_le_bytes());
    bytes.extend(made.height.to_le_bytes());
    bytes.extend(&made.data[..]);
    // A reader sees the file before or after, never a part.
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(blake3::hash(&bytes).as_bytes())?;
    new.write_all(&bytes)?;
    new.persist(file)?;
    remove_oldest(directory)
}

/// Removes the thumbnails that were made first, if there are too many.
fn remove_oldest(directory: &Path) -> std::io::Result<()> {
    let mut files: Vec<(std::time::SystemTime, PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        files.push((metadata.modified()?, entry.path(), metadata.len()));
    }
    let mut n_bytes: u64 = files.iter().map(|(.., len)| len).sum();
    if n_bytes <= DISK_BUDGET {
        return Ok(());
    }
    files.sort();
    for (_, file, len) in files {
        if n_bytes <= DISK_REST {
            break;
        }
        fs::remove_file(file)?;
        n_bytes -= len;
    }
    Ok(())
}
