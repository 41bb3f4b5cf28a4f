// The difference of two texts: in one column, side by side, or by the blocks of a document.

import { useMemo, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { diffBlocks, type BlockRow } from './block_diff'
import { diffRows, pairRows, type DiffPart, type DiffRow } from './text_diff'
import './diff_view.css'

export type DiffForm = 'inline' | 'beside' | 'blocks'

const KEY = 'yfs:diff-form'
const SIGNS: Record<DiffRow['kind'], string> = { same: ' ', added: '+', removed: '−', skipped: '' }

/** Returns the form that the person chose last, of those that a file has. */
function preferredForm(forms: DiffForm[]): DiffForm {
  const chosen = localStorage.getItem(KEY) as DiffForm | null
  return chosen !== null && forms.includes(chosen) ? chosen : forms[0]!
}

function Parts({ parts }: { parts: DiffPart[] }) {
  return (
    <>
      {parts.map(({ text, isChanged, isGone }, n) => {
        if (!isChanged) return <span key={n}>{text}</span>
        return isGone === true ? <del key={n}>{text}</del> : <mark key={n}>{text}</mark>
      })}
    </>
  )
}

function InlineRow({ row }: { row: DiffRow }) {
  if (row.kind === 'skipped') {
    return (
      <tr class="diff-skipped">
        <td colSpan={4}>⋯</td>
      </tr>
    )
  }
  return (
    <tr class={`diff-${row.kind}`}>
      <td class="diff-number">{row.oldLine}</td>
      <td class="diff-number">{row.newLine}</td>
      <td class="diff-sign">{SIGNS[row.kind]}</td>
      <td class="diff-text">
        <Parts parts={row.parts} />
      </td>
    </tr>
  )
}

function Side({ row, isOld }: { row: DiffRow | null; isOld: boolean }) {
  const className = row === null ? 'diff-nothing' : `diff-${row.kind}`
  return (
    <>
      <td class={`diff-number ${className}`}>{isOld ? row?.oldLine : row?.newLine}</td>
      <td class={`diff-text ${className}`}>{row !== null && <Parts parts={row.parts} />}</td>
    </>
  )
}

function BesideRow({ pair: [old, now] }: { pair: [DiffRow | null, DiffRow | null] }) {
  if (old?.kind === 'skipped') {
    return (
      <tr class="diff-skipped">
        <td colSpan={4}>⋯</td>
      </tr>
    )
  }
  return (
    <tr>
      <Side row={old} isOld />
      <Side row={now} isOld={false} />
    </tr>
  )
}

function BlockRowView({ row }: { row: BlockRow }) {
  if (row.kind === 'skipped') return <p class="diff-skipped">⋯</p>
  const classes = `diff-block is-${row.form} diff-${row.kind}`
  return (
    <div class={classes} data-level={row.level}>
      <Parts parts={row.parts} />
    </div>
  )
}

/** The lines of a difference in one column. */
export function DiffLines({ before, after }: { before: string; after: string }) {
  const rows = useMemo(() => diffRows(before, after), [before, after])
  return (
    <div class="diff-scroll" tabIndex={0} role="region" aria-label={t('Difference')}>
      <table class="diff is-inline">
        <tbody>
          {rows.map((row, n) => (
            <InlineRow key={n} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

export interface DiffViewProps {
  before: string
  after: string
  /** Whether the texts are documents with blocks. */
  hasBlocks: boolean
}

export function DiffView({ before, after, hasBlocks }: DiffViewProps) {
  const forms: DiffForm[] = hasBlocks ? ['inline', 'beside', 'blocks'] : ['inline', 'beside']
  const labels: Record<DiffForm, string> = {
    inline: t('Lines'),
    beside: t('Side by side'),
    blocks: t('Blocks'),
  }
  const [form, setForm] = useState(() => preferredForm(forms))
  const rows = useMemo(() => diffRows(before, after), [before, after])
  const choose = (chosen: DiffForm) => {
    localStorage.setItem(KEY, chosen)
    setForm(chosen)
  }
  if (before === after) return <p class="empty">{t('No difference.')}</p>
  return (
    <>
      <div class="segments" role="group" aria-label={t('Form of the difference')}>
        {forms.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === form}
            onClick={() => choose(each)}
          >
            {labels[each]}
          </button>
        ))}
      </div>
      <div class="diff-scroll" tabIndex={0} role="region" aria-label={t('Difference')}>
        {form === 'blocks' ? (
          <div class="diff-blocks" dir="auto">
            {diffBlocks(before, after).map((row, n) => (
              <BlockRowView key={n} row={row} />
            ))}
          </div>
        ) : (
          <table class={`diff is-${form}`}>
            {form === 'beside' && (
              <colgroup>
                <col class="diff-numbers" />
                <col />
                <col class="diff-numbers" />
                <col />
              </colgroup>
            )}
            <tbody>
              {form === 'inline'
                ? rows.map((row, n) => <InlineRow key={n} row={row} />)
                : pairRows(rows).map((pair, n) => <BesideRow key={n} pair={pair} />)}
            </tbody>
          </table>
        )}
      </div>
    </>
  )
}
