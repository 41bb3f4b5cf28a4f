// The list of the symbols of a document: typing filters, Enter goes there.

import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { t } from '../../language/translate'
import { ChoiceDialog, type Choice } from '../../look/choice_dialog'
import { best } from '../../look/ranking'
import type { DocumentSymbols, EditorSymbol } from '../mounted_editor'

/** How many symbols are shown. */
const LIMIT = 500

const kindNames = (): Record<EditorSymbol['kind'], string> => ({
  heading: t('heading'),
  function: t('function'),
  class: t('class'),
  type: t('type'),
  module: t('module'),
  variable: t('variable'),
  key: t('key'),
  rule: t('rule'),
  element: t('element'),
})

/** Returns the symbols to be shown, and which of them is the one at the caret. */
function shownSymbols(all: DocumentSymbols, query: string): DocumentSymbols {
  const { symbols, current } = all
  if (query !== '') {
    return { symbols: best(symbols, ({ name }) => name, query, LIMIT), current: 0 }
  }
  const from = symbols.length <= LIMIT ? 0 : Math.max(0, current - LIMIT / 2)
  return { symbols: symbols.slice(from, from + LIMIT), current: Math.max(0, current - from) }
}

function SymbolList(props: { read: Promise<DocumentSymbols>; onClose: () => void }) {
  const { read, onClose } = props
  const [query, setQuery] = useState('')
  const [all, setAll] = useState<DocumentSymbols | null>(null)
  useEffect(() => {
    read.then(setAll, () => setAll({ symbols: [], current: -1 }))
  }, [])
  const typed = query.trim()
  const shown = useMemo(() => (all === null ? null : shownSymbols(all, typed)), [all, typed])
  const choices = useMemo(() => {
    const kinds = kindNames()
    const choiceOf = ({ name, kind, depth, go }: EditorSymbol): Choice => ({
      label: name,
      note: kinds[kind],
      depth: typed === '' ? depth : 0,
      // The dialog gives the focus back before.
      run: () => {
        onClose()
        go()
      },
    })
    return shown?.symbols.map(choiceOf) ?? null
  }, [shown])
  return (
    <ChoiceDialog
      title={t('Go to a symbol')}
      field={t('Symbol')}
      list={t('Symbols')}
      placeholder={t('Heading, function or key')}
      query={query}
      onQuery={setQuery}
      choices={choices}
      selected={shown?.current ?? 0}
      onClose={onClose}
    />
  )
}

/** Opens the list at once, so that it gets what is typed; its symbols may come later. */
export function openSymbolList(read: Promise<DocumentSymbols>): void {
  const host = document.createElement('div')
  document.body.append(host)
  const close = () => {
    render(null, host)
    host.remove()
  }
  render(<SymbolList read={read} onClose={close} />, host)
}
