//! Decodes images and encodes thumbnails.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits,
    codecs::{jpeg::JpegEncoder, png::PngEncoder},
    metadata::Orientation,
};

use super::{ImageThumbnail, ThumbnailBox, ThumbnailError, ThumbnailLimits};

/// The quality of thumbnails in JPEG, of 100.
const JPEG_QUALITY: u8 = 82;

/// Decodes an image and makes a picture of it that fits a box.
pub(super) fn decode(
    data: &[u8],
    size: ThumbnailBox,
    limits: ThumbnailLimits,
) -> Result<ImageThumbnail, ThumbnailError> {
    let format = image::guess_format(data).map_err(|_| ThumbnailError::NotAnImage)?;
    let known = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
        ImageFormat::Bmp,
    ];
    if !known.contains(&format) {
        return Err(ThumbnailError::NotAnImage);
    }
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    let mut of_decoder = Limits::default();
    of_decoder.max_alloc = Some(limits.max_memory);
    reader.limits(of_decoder);
    let mut decoder = reader.into_decoder().map_err(convert_error)?;
    let (width, height) = decoder.dimensions();
    let limit = limits.max_pixels;
    if u64::from(width) * u64::from(height) > limit {
        return Err(ThumbnailError::TooManyPixels { width, height, limit });
    }
    if decoder.total_bytes() > limits.max_memory {
        return Err(ThumbnailError::TooMuchMemory);
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(convert_error)?;
    let ThumbnailBox { max_width, max_height } = before_turn(size, orientation);
    if image.width() > max_width || image.height() > max_height {
        image = image.thumbnail(max_width, max_height);
    }
    image.apply_orientation(orientation);
    encode(&image)
}

fn encode(image: &DynamicImage) -> Result<ImageThumbnail, ThumbnailError> {
    let (width, height) = (image.width(), image.height());
    let mut data = Vec::new();
    let (written, mime_type) = if image.color().has_alpha() {
        let rgba = DynamicImage::ImageRgba8(image.to_rgba8());
        (rgba.write_with_encoder(PngEncoder::new(&mut data)), "image/png")
    } else {
        let rgb = DynamicImage::ImageRgb8(image.to_rgb8());
        let encoder = JpegEncoder::new_with_quality(&mut data, JPEG_QUALITY);
        (rgb.write_with_encoder(encoder), "image/jpeg")
    };
    written.map_err(|_| ThumbnailError::Decoder)?;
    Ok(ImageThumbnail { data: data.into(), mime_type, width, height })
}

fn convert_error(error: ImageError) -> ThumbnailError {
    match error {
        ImageError::Limits(_) => ThumbnailError::TooMuchMemory,
        ImageError::Unsupported(_) => ThumbnailError::NotAnImage,
        error => ThumbnailError::Damaged(error.to_string()),
    }
}

/// Returns the box of an image before it is turned.
fn before_turn(size: ThumbnailBox, orientation: Orientation) -> ThumbnailBox {
    match orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => {
            ThumbnailBox { max_width: size.max_height, max_height: size.max_width }
        }
        _ => size,
    }
}
