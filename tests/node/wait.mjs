// Waiting for what a test expects of a client.

/** Waits until `isMet` holds; fails after the command's `within_ms`, or ten minutes. */
export async function waitFor(isMet, command) {
  // A clock that no one sets, unlike that of Date.
  const deadline = performance.now() + (command.within_ms ?? 600_000)
  while (!isMet()) {
    if (performance.now() > deadline) throw new Error(`waited in vain: ${JSON.stringify(command)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
