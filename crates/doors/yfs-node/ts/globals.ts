// Globals that a sandbox around a running shell blocks (just-bash's does), captured when the
// package is loaded.

export const {
  WeakRef: Weak,
  setTimeout: later,
  clearTimeout: never,
  setImmediate: soon,
  performance: clock,
} = globalThis
