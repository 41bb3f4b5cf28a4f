// Keys in code: Tab indents, Shift+Tab takes an indentation back, Enter keeps it.

import { Plugin, type Command } from 'prosemirror-state'

const inCode: Command = ({ selection: { $from, $to } }) =>
  $from.parent.type.spec.code === true && $from.sameParent($to)

/** Returns one indentation in the style of a text. */
const indentationOf = (text: string): string => {
  if (/^\t/m.test(text)) return '\t'
  return /^( +)\S/m.exec(text)?.[1]?.length === 4 ? '    ' : '  '
}

/** Changes the starts of the selected lines of code. */
const indentLines = (isBack: boolean): Command => {
  return (state, dispatch) => {
    if (!inCode(state)) return false
    const { $from, $to, empty } = state.selection
    const text = $from.parent.textContent
    const unit = indentationOf(text)
    const tr = state.tr
    if (empty && !isBack) {
      dispatch?.(tr.insertText(unit).scrollIntoView())
      return true
    }
    const first = text.lastIndexOf('\n', $from.parentOffset - 1) + 1
    const starts = [first]
    for (let at = text.indexOf('\n', first); at >= 0 && at < $to.parentOffset;) {
      starts.push(at + 1)
      at = text.indexOf('\n', at + 1)
    }
    for (const start of starts.reverse()) {
      const place = $from.start() + start
      if (!isBack) tr.insertText(unit, place)
      else {
        const indented = /^(\t| {1,4})/.exec(text.slice(start))?.[0] ?? ''
        tr.delete(place, place + Math.min(indented.length, unit.length))
      }
    }
    dispatch?.(tr.scrollIntoView())
    return true
  }
}

const breakLine: Command = (state, dispatch) => {
  if (!inCode(state)) return false
  const { $from } = state.selection
  const before = $from.parent.textContent.slice(0, $from.parentOffset)
  const indentation = /(?:^|\n)([ \t]*)[^\n]*$/.exec(before)?.[1] ?? ''
  if (indentation === '') return false
  dispatch?.(state.tr.insertText(`\n${indentation}`).scrollIntoView())
  return true
}

export function codeKeys(): Plugin {
  return new Plugin({
    props: {
      handleKeyDown: (view, event) => {
        if (!view.editable || event.ctrlKey || event.altKey || event.metaKey) return false
        const command = {
          Tab: indentLines(event.shiftKey),
          Enter: event.shiftKey ? undefined : breakLine,
        }[event.key]
        return command?.(view.state, view.dispatch, view) ?? false
      },
    },
  })
}
