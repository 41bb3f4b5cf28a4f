//! Lists the names in directories, one on each line.

use futures::StreamExt;
use yfs_vfs::{DirectoryListing, WalkOptions};

use super::LsArgs;
use crate::prelude::*;

/// The state of a listing of names.
pub(super) struct PlainListing<'a> {
    pub(super) args: &'a LsArgs,
    pub(super) with_headings: bool,
    /// Whether nothing was printed yet.
    pub(super) first: bool,
}

impl PlainListing<'_> {
    /// Lists a directory; with `-R` also those below it.
    pub(super) async fn print(
        &mut self,
        context: &mut CommandContext,
        fs: &Fs,
        dir: TypedPath,
    ) -> Result {
        let max_depth = if self.args.recursive { usize::MAX } else { 1 };
        let hidden = self.args.almost_all;
        let options = WalkOptions { max_depth, hidden, ..WalkOptions::default() };
        let root = dir.path.clone();
        let mut listings = fs.walk_directories(&root, &options);
        // The directories whose listings follow, the next one last, as they are shown.
        let mut pending = vec![dir.typed];
        while let Some(listing) = listings.next().await {
            let listing = match listing {
                Ok(listing) => listing,
                Err(error) => {
                    context.fail(&error.during(Op::Scandir).into());
                    break;
                }
            };
            let shown = pending.pop().unwrap_or_default();
            if self.with_headings {
                let line = [if self.first { "" } else { "\n" }, &shown, ":"].concat();
                context.out.line(&line)?;
            }
            self.first = false;
            print_names(context, &listing)?;
            if self.args.recursive {
                let shown = shown.trim_end_matches('/');
                let below = directories_in(&listing).map(|name| [shown, "/", name].concat());
                let n_pending = pending.len();
                pending.extend(below);
                pending[n_pending..].reverse();
            }
        }
        Ok(())
    }
}

fn print_names(context: &mut CommandContext, listing: &DirectoryListing) -> Result {
    listing.iter().try_for_each(|(name, _)| context.out.line(name))
}

fn directories_in(listing: &DirectoryListing) -> impl Iterator<Item = &str> {
    let directories = listing.iter().filter(|(_, kind)| *kind == FileKind::Directory);
    directories.map(|(name, _)| name)
}
