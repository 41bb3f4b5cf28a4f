// The outputs of a cell: text, images, tables and errors, each bounded in size.

import { t } from '../../../language/translate'
import { fieldsOf, textOf, type MimeBundle } from './read_notebook'
import { buildSafeHtml } from './safe_html'

/** How many outputs of a cell are shown, and of each how much, in UTF-16 code units. */
const MAX_OUTPUTS = 50
const MAX_TEXT = 20_000
const MAX_HTML = 500_000
const MAX_IMAGE = 8_000_000

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

// Colors of terminals, cursor moves and titles.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g

function makeText(text: string, className: string): HTMLElement {
  const shown = document.createElement('pre')
  shown.className = className
  const plain = text.replace(ESCAPES, '')
  shown.textContent = plain.slice(0, MAX_TEXT)
  if (plain.length > MAX_TEXT) shown.append(makeNote(plain.length - MAX_TEXT))
  return shown
}

function makeNote(n: number): HTMLElement {
  const note = document.createElement('span')
  note.className = 'notebook-note'
  note.textContent = t('… {n} more characters are in the source.', { n })
  return note
}

/** Returns the address of an image in a bundle; null if it has none that can be shown. */
export function imageIn(bundle: MimeBundle): string | null {
  for (const type of IMAGES) {
    const data = textOf(bundle[type]).replace(/\s/g, '')
    const isData = data !== '' && data.length <= MAX_IMAGE && /^[A-Za-z0-9+/]+=*$/.test(data)
    if (isData) return `data:${type};base64,${data}`
  }
  const svg = textOf(bundle['image/svg+xml'])
  // As an image, it runs no script and loads nothing.
  const isSvg = svg !== '' && svg.length <= MAX_IMAGE
  return isSvg ? `data:image/svg+xml,${encodeURIComponent(svg)}` : null
}

function makeImage(source: string, alternative: string): HTMLElement {
  const image = document.createElement('img')
  image.src = source
  image.alt = alternative === '' ? t('Image of the output') : alternative
  return image
}

/** Shows the form of a result that says most. */
function makeResult(bundle: MimeBundle, markdown: (text: string) => Node): Node {
  const plain = textOf(bundle['text/plain'])
  const image = imageIn(bundle)
  if (image !== null) return makeImage(image, plain)
  const html = textOf(bundle['text/html'])
  if (html !== '' && html.length <= MAX_HTML) {
    const shown = document.createElement('div')
    shown.className = 'notebook-html'
    shown.append(buildSafeHtml(html))
    // What only a script would draw leaves nothing behind.
    if (shown.textContent.trim() !== '' || shown.querySelector('img') !== null) return shown
  }
  const written = textOf(bundle['text/markdown'])
  if (written !== '' && written.length <= MAX_TEXT) return markdown(written)
  if (plain !== '') return makeText(plain, 'notebook-text')
  const json = bundle['application/json']
  if (json !== undefined) return makeText(JSON.stringify(json, null, 2), 'notebook-text')
  const types = Object.keys(bundle).slice(0, 5).join(', ')
  return makeText(t('An output that is not shown here: {types}', { types }), 'notebook-note')
}

function makeOutput(value: unknown, markdown: (text: string) => Node): Node {
  const output = fieldsOf(value)
  switch (output['output_type']) {
    case 'stream': {
      const isError = output['name'] === 'stderr'
      return makeText(
        textOf(output['text']),
        isError ? 'notebook-text is-warning' : 'notebook-text',
      )
    }
    case 'error': {
      const traceback = Array.isArray(output['traceback']) ? output['traceback'] : []
      const lines = traceback.filter((line) => typeof line === 'string')
      const short = `${textOf(output['ename'])}: ${textOf(output['evalue'])}`
      const shown = makeText(lines.length > 0 ? lines.join('\n') : short, 'notebook-text is-error')
      shown.setAttribute('role', 'group')
      shown.ariaLabel = t('Error')
      return shown
    }
    default:
      return makeResult(fieldsOf(output['data']), markdown)
  }
}

/** Shows the outputs of a cell. */
export function makeOutputs(outputs: unknown[], markdown: (text: string) => Node): HTMLElement {
  const shown = document.createElement('div')
  shown.className = 'notebook-outputs'
  shown.setAttribute('role', 'group')
  shown.ariaLabel = t('Output')
  // Long ones scroll, by keys too.
  shown.tabIndex = 0
  for (const output of outputs.slice(0, MAX_OUTPUTS)) shown.append(makeOutput(output, markdown))
  if (outputs.length > MAX_OUTPUTS) {
    const n = outputs.length - MAX_OUTPUTS
    const note = document.createElement('p')
    note.className = 'notebook-note'
    note.textContent = t('… {n} more outputs are in the source.', { n })
    shown.append(note)
  }
  return shown
}
