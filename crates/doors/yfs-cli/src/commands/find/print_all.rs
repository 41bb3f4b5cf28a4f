//! Prints the paths of a whole tree: a search without tests.

use futures::StreamExt;
use yfs_vfs::{DirectoryListing, WalkOptions};

use crate::prelude::*;

/// A directory whose entries are being printed.
struct OpenListing {
    listing: DirectoryListing,
    /// The number of the next entry.
    next: usize,
    /// The directory as it is shown, with a slash at its end; then the last entry.
    shown: String,
    /// The length of the directory in `shown`.
    prefix_len: usize,
}

/// Prints a directory and everything below it.
pub(super) async fn print_all(context: &mut CommandContext, fs: &Fs, root: &TypedPath) -> Result {
    let name = context.out.name(FileKind::Directory, &root.typed).into_owned();
    context.out.line(&name)?;
    let options = WalkOptions::default();
    let mut listings = fs.walk_directories(&root.path, &options);
    let mut open: Vec<OpenListing> = Vec::new();
    while let Some(listing) = listings.next().await {
        open.push(OpenListing::new(listing?, root));
        // The listing that follows is that of the directory that was printed last.
        while let Some(last) = open.last_mut() {
            if last.print_to_next_directory(context)? {
                break;
            }
            open.pop();
        }
    }
    Ok(())
}

impl OpenListing {
    fn new(listing: DirectoryListing, root: &TypedPath) -> Self {
        let shown = [root.below(listing.path()).trim_end_matches('/'), "/"].concat();
        Self { prefix_len: shown.len(), shown, next: 0, listing }
    }

    /// Prints the next entries, to the first directory among them; reports whether there is one.
    fn print_to_next_directory(&mut self, context: &mut CommandContext) -> Result<bool> {
        while let Some((name, kind)) = self.listing.get(self.next) {
            let shown = match self.listing.other_path(self.next) {
                Some(other) => other.as_str(),
                None => {
                    self.shown.truncate(self.prefix_len);
                    self.shown.push_str(name);
                    &self.shown
                }
            };
            let line = context.out.name(kind, shown);
            context.out.line(&line)?;
            self.next += 1;
            if kind == FileKind::Directory {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
