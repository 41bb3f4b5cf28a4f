// Diagrams of mermaid as images: a document cannot run anything in the page.

import mermaid from 'mermaid'
import { t } from '../../../language/translate'

let nDiagrams = 0

/** Whether the text around is light, so that the page is dark. */
function isDark(): boolean {
  const [red = 0, green = 0, blue = 0] = (
    getComputedStyle(document.querySelector('.file-editor') ?? document.body).color.match(
      /[\d.]+/g,
    ) ?? []
  ).map(Number)
  return red + green + blue > 382
}

/** Gives an image the size that its picture has of itself. */
function setSize(image: HTMLImageElement, svg: SVGSVGElement): void {
  const { width, height } = svg.viewBox.baseVal
  svg.setAttribute('width', String(Math.ceil(width)))
  svg.setAttribute('height', String(Math.ceil(height)))
  svg.style.removeProperty('max-width')
  image.width = Math.ceil(width)
}

/** Shows a diagram; rejects with what is wrong in its source. */
export async function showDiagram(target: HTMLElement, source: string): Promise<void> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    theme: isDark() ? 'dark' : 'default',
    htmlLabels: false,
    suppressErrorRendering: true,
    fontFamily: 'system-ui, sans-serif',
  })
  nDiagrams += 1
  const { svg } = await mermaid.render(`mermaid-${nDiagrams}`, source)
  const parsed = new DOMParser().parseFromString(svg, 'text/html').querySelector('svg')
  if (parsed === null) throw new Error(t('The diagram is empty.'))
  const image = document.createElement('img')
  image.alt = t('Diagram: {source}', { source: source.slice(0, 200) })
  setSize(image, parsed)
  const text = new XMLSerializer().serializeToString(parsed)
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`
  target.replaceChildren(image)
}
