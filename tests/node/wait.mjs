// Waiting for what a test expects of a client.

/** Waits until `isMet` holds; fails after the command's `within_ms`, or 30 seconds. */
export async function waitFor(isMet, command) {
  const deadline = Date.now() + (command.within_ms ?? 30_000)
  while (!isMet()) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${JSON.stringify(command)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
