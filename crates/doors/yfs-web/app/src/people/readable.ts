// Letters on the color of a person, which others choose: black or white, whichever is easier to
// read (WCAG 2.2, relative luminance). One of them always has the contrast of 4.5 that text needs.

const DARK = '#000000'

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = parseInt(color.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Returns the color of letters on a ground, which is `#rrggbb`. */
export function readableOn(ground: string): string {
  const own = luminance(ground)
  const onWhite = 1.05 / (own + 0.05)
  const onDark = (own + 0.05) / (luminance(DARK) + 0.05)
  return onWhite >= onDark ? '#fff' : DARK
}
