// A browser's globals out of jsdom, as far as ProseMirror asks for them. Importing this sets them.

import { JSDOM } from 'jsdom'

const { window } = new JSDOM('<!doctype html><body></body>', { pretendToBeVisual: true })

const NAMES = [
  'CustomEvent',
  'DOMParser',
  'Document',
  'DocumentFragment',
  'Element',
  'Event',
  'HTMLElement',
  'MutationObserver',
  'Node',
  'Range',
  'Text',
  'Window',
  'addEventListener',
  'cancelAnimationFrame',
  'dispatchEvent',
  'document',
  'getComputedStyle',
  'getSelection',
  'navigator',
  'removeEventListener',
  'requestAnimationFrame',
]
const isFunction = (value, name) => typeof value === 'function' && /^[a-z]/.test(name)
const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
define('window', window)
for (const name of NAMES) {
  define(name, isFunction(window[name], name) ? window[name].bind(window) : window[name])
}

// jsdom lays nothing out: everything is nowhere.
const nowhere = () => ({ top: 0, bottom: 0, left: 0, right: 0, width: 0, height: 0 })
for (const { prototype } of [window.Range, window.HTMLElement]) {
  prototype.getClientRects = () => []
  prototype.getBoundingClientRect = nowhere
}
window.document.elementFromPoint = () => null
