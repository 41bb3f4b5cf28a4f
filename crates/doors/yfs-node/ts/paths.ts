// Paths as just-bash spells them: absolute, and normalised by their text alone.

/** Resolves `.` and `..`, which stop at the root; drops slashes that say nothing. */
export function normalize(path: string): string {
  if (isNormal(path)) return path
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return '/' + names.join('/')
}

/** Resolves a path that counts from `base` unless it is absolute. */
export function resolve(base: string, path: string): string {
  return normalize(path.startsWith('/') ? path : `${base}/${path}`)
}

/** Returns the directory that a normalised path lies in. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Returns the last name of a normalised path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the path of a name in a directory. */
export function join(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`
}

/** Tells whether a normalised path is another one, or lies below it. */
export function isWithin(path: string, above: string): boolean {
  return path === above || above === '/' || path.startsWith(`${above}/`)
}

/** Most paths are as they should be; looking is cheaper than splitting. */
function isNormal(path: string): boolean {
  return (
    path.startsWith('/') &&
    (path === '/' || !path.endsWith('/')) &&
    !path.includes('//') &&
    !path.includes('/.')
  )
}
