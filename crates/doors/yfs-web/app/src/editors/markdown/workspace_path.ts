// Paths of files that a document refers to.

/** Returns the path in the workspace that a link of a file means; null if it leads elsewhere. */
export function resolveReference(filePath: string, reference: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(reference) || reference.startsWith('//')) return null
  const bare = reference.replace(/[?#].*$/, '')
  if (bare === '') return null
  let decoded = bare
  try {
    decoded = decodeURIComponent(bare)
  } catch {
    // A lone percent sign stands for itself.
  }
  const segments = decoded.startsWith('/') ? [] : filePath.split('/').slice(1, -1)
  for (const segment of decoded.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '.' && segment !== '') segments.push(segment)
  }
  return `/${segments.join('/')}`
}
