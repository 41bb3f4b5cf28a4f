// HTML of others as elements of this page: only known elements and attributes are built anew, so
// that no script, style or address of another host comes with it.

/** How many elements are built at most. */
const MAX_ELEMENTS = 5000

const KNOWN = new Set(
  (
    'a abbr b blockquote br caption code dd del details div dl dt em figcaption figure h1 h2 h3 ' +
    'h4 h5 h6 hr i img kbd li mark ol p pre q s samp small span strong sub summary sup table ' +
    'tbody td tfoot th thead tr u ul var'
  ).split(' '),
)
/** What is left out with all that is in it; of other elements, the content stays. */
const DROPPED =
  'script, style, template, noscript, iframe, object, embed, svg, math, head, title, form, ' +
  'input, button, select, textarea, link, meta, base, audio, video, canvas'
const SPANS = ['colspan', 'rowspan']
const MAX_SPAN = 100

const isLink = (href: string) => /^(?:https?|mailto):/i.test(href)
const isImage = (source: string) => /^data:image\/(?:png|jpeg|gif|webp|svg\+xml)[;,]/i.test(source)

function copyAttributes(from: Element, to: HTMLElement): void {
  for (const name of SPANS) {
    const span = Number(from.getAttribute(name))
    if (span > 1 && span <= MAX_SPAN) to.setAttribute(name, String(Math.floor(span)))
  }
  if (to instanceof HTMLAnchorElement) {
    const href = from.getAttribute('href') ?? ''
    if (!isLink(href)) return
    to.href = href
    to.target = '_blank'
    to.rel = 'noopener noreferrer'
  }
  if (to instanceof HTMLImageElement) to.alt = from.getAttribute('alt') ?? ''
}

/** Builds what HTML means; `imageOf` returns the address of an image, null for none. */
export function buildSafeHtml(
  html: string,
  imageOf: (source: string) => string | null = () => null,
): DocumentFragment {
  // A document of the parser runs nothing and loads nothing.
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of body.querySelectorAll(DROPPED)) element.remove()
  const made = document.createDocumentFragment()
  let nLeft = MAX_ELEMENTS
  const copy = (from: Node, to: Node) => {
    for (const child of from.childNodes) {
      if (nLeft <= 0) return
      if (child instanceof Text) to.appendChild(new Text(child.data))
      if (!(child instanceof Element)) continue
      const image = child.localName === 'img' ? addressOf(child, imageOf) : null
      const isBuilt = KNOWN.has(child.localName) && (child.localName !== 'img' || image !== null)
      const target = isBuilt ? document.createElement(child.localName) : to
      if (isBuilt) {
        nLeft -= 1
        copyAttributes(child, target as HTMLElement)
        if (image !== null) (target as HTMLImageElement).src = image
        to.appendChild(target)
      } else if (child.localName === 'img') {
        to.appendChild(new Text(child.getAttribute('alt') ?? ''))
      }
      copy(child, target)
    }
  }
  copy(body, made)
  if (nLeft <= 0) made.append('…')
  return made
}

function addressOf(image: Element, imageOf: (source: string) => string | null): string | null {
  const source = image.getAttribute('src') ?? ''
  return isImage(source) ? source : imageOf(source)
}
