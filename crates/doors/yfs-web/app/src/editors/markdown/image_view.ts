// Images of a document: those of the workspace are loaded with the token.

import type { Node } from 'prosemirror-model'
import type { NodeView } from 'prosemirror-view'
import type { EditorWorkspace } from '../../documents'
import { fileUrl } from '../../session/file_url'
import { resolveReference } from './workspace_path'

/** Loads the images of one editor, each once. */
export class ImageLoader {
  private readonly urls = new Map<string, Promise<string>>()

  constructor(
    private readonly workspace: EditorWorkspace,
    private readonly filePath: () => string,
  ) {}

  /** Returns an address that an `img` can show. */
  async load(source: string): Promise<string> {
    const path = resolveReference(this.filePath(), source)
    if (path === null) return source
    let url = this.urls.get(path)
    if (url === undefined) {
      url = this.fetch(path)
      this.urls.set(path, url)
      url.catch(() => this.urls.delete(path))
    }
    return url
  }

  destroy(): void {
    for (const url of this.urls.values()) void url.then(URL.revokeObjectURL, () => {})
    this.urls.clear()
  }

  private async fetch(path: string): Promise<string> {
    const response = await this.workspace.fetch(fileUrl(path))
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return URL.createObjectURL(await response.blob())
  }
}

export class ImageView implements NodeView {
  readonly dom = document.createElement('span')
  private readonly image = document.createElement('img')
  private source: string | null = null

  constructor(
    private node: Node,
    private readonly loader: ImageLoader,
  ) {
    this.dom.className = 'rich-image'
    this.dom.append(this.image)
    this.render()
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type) return false
    this.node = node
    this.render()
    return true
  }

  ignoreMutation(): boolean {
    return true
  }

  private render(): void {
    const { src, alt, title } = this.node.attrs as Record<string, string | null>
    this.image.alt = alt ?? ''
    this.image.title = title ?? ''
    if (src === this.source) return
    this.source = src ?? ''
    this.dom.classList.remove('is-missing')
    void this.show(this.source)
  }

  private async show(source: string): Promise<void> {
    try {
      const url = await this.loader.load(source)
      if (this.source === source) this.image.src = url
    } catch {
      this.dom.classList.add('is-missing')
      this.dom.dataset['source'] = source
    }
  }
}
