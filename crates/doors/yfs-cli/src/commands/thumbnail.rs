//! `yfs thumbnail`: makes small pictures of images.

use std::{fs, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use yfs_threads::{ImageThumbnail, ThumbnailBox, cached_thumbnail};

use crate::prelude::*;

const HELP: &str = "\
The picture keeps the proportions of the image, and is JPEG, or PNG if the image is not opaque. It
is made once for each content and size. Images are PNG, JPEG, GIF, WebP and BMP, of at most 64
million pixels; decoding is limited to 320 MiB of memory and 20 seconds.

Examples:
  yfs thumbnail images/pier.png > small.jpg
  yfs thumbnail images/pier.png --size 200x100 --output small.jpg

JSON: {path, mime, width, height, size, base64}.";

/// Print a small picture of an image
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ThumbnailArgs {
    /// The image
    #[arg(value_name = "PATH")]
    path: String,
    /// Which picture.
    #[command(flatten)]
    picture: PictureArgs,
}

/// Which picture, and where it is written.
#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// The greatest width and height in pixels: 200x100, or one number for both
    #[arg(long, value_name = "SIZE", default_value = "256", value_parser = parse_size)]
    pub(crate) size: ThumbnailBox,
    /// A file on this machine for the picture; default: standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Prints the picture.
pub(crate) async fn run(args: ThumbnailArgs, context: &mut CommandContext) -> Result {
    let path = context.path(&args.path)?.path;
    let directory = match context.past() {
        Some(_) => None,
        None => context.readable()?.fs_for(context.actor()).thumbnail_directory(),
    };
    let content = context.reader()?.read(&path).await?;
    let made = cached_thumbnail(directory, content.data, args.picture.size);
    let made = made.map_err(|error| CommandError::other(format!("{path}: {error}")))?;
    args.picture.print(context, path.as_str(), &made)
}

impl PictureArgs {
    /// Prints a picture, or writes it to the file.
    pub(crate) fn print(
        &self,
        context: &mut CommandContext,
        path: &str,
        made: &ImageThumbnail,
    ) -> Result {
        if let Some(file) = &self.output {
            fs::write(file, &made.data).map_err(|error| CommandError::host(file, &error))?;
        }
        if context.out.json {
            let base64 = self.output.is_none().then(|| STANDARD.encode(&made.data));
            return context.out.json_line(&json!({
                "path": path,
                "mime": made.mime_type,
                "width": made.width,
                "height": made.height,
                "size": made.data.len(),
                "base64": base64,
            }));
        }
        match &self.output {
            Some(_) => Ok(()),
            None if context.out.is_terminal => {
                Err(CommandError::usage("the picture is no text: use --output, or a pipe"))
            }
            None => context.out.raw(&made.data),
        }
    }
}

fn parse_size(text: &str) -> Result<ThumbnailBox, String> {
    let parsed = ThumbnailBox::parse(text);
    parsed.ok_or_else(|| "expected a size such as 200x100, or one number".to_owned())
}
