// Short messages above the content of an editor.

export interface NoticeAction {
  label: string
  run: () => void
}

/** Returns an element with a message, which screen readers announce. */
export function makeNotice(message: string, ...actions: NoticeAction[]): HTMLElement {
  const notice = document.createElement('div')
  notice.className = 'editor-notice'
  notice.setAttribute('role', 'status')
  const text = document.createElement('span')
  text.textContent = message
  notice.append(text)
  for (const { label, run } of actions) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = label
    button.addEventListener('click', run)
    notice.append(button)
  }
  return notice
}

/** Shows a message for some seconds. */
export function showBriefly(parent: HTMLElement, message: string, seconds = 6): void {
  const notice = makeNotice(message)
  notice.classList.add('is-brief')
  parent.append(notice)
  setTimeout(() => notice.remove(), seconds * 1000)
}
