// The caret of a person stays where they put it, also if a change of another one arrives just then.

/**
 * Lets the editors read the selection of the page now.
 *
 * A click or an arrow key moves the caret at once, and the browser reports that in a later task. A
 * change that an editor applies in between is drawn with the selection that the editor knows, and
 * the caret goes back to its former place. ProseMirror and CodeMirror read the selection at this
 * event, so they know the new one before they apply anything. The same holds for a key that comes
 * before the report of the one before it.
 */
export function readSelection(): void {
  document.dispatchEvent(new Event('selectionchange'))
}
