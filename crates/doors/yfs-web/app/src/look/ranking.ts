// Which labels match the letters of a query, the best first.

/** Ranks a path: letters in order, better in the name, together and at beginnings. */
export function score(path: string, query: string): number | null {
  const [text, letters] = [path.toLowerCase(), query.toLowerCase()]
  const name = text.slice(text.lastIndexOf('/') + 1)
  if (name.startsWith(letters)) return 3000 - path.length
  if (name.includes(letters)) return 2000 - path.length
  if (text.includes(letters)) return 1000 - path.length
  let at = -1
  for (const letter of letters) {
    at = text.indexOf(letter, at + 1)
    if (at === -1) return null
  }
  return -path.length
}

export function best<T>(
  items: T[],
  labelOf: (item: T) => string,
  query: string,
  limit: number,
): T[] {
  const scored = items.flatMap((item) => {
    const rank = score(labelOf(item), query)
    return rank === null ? [] : [{ item, rank }]
  })
  scored.sort((a, b) => b.rank - a.rank || (labelOf(a.item) < labelOf(b.item) ? -1 : 1))
  return scored.slice(0, limit).map(({ item }) => item)
}
