// Components of their own chunks.

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { report } from './message'

/** Returns a component that shows nothing until its code is here. */
export function lazily<P extends object>(
  load: () => Promise<ComponentType<P>>,
): (props: P) => preact.JSX.Element | null {
  return function Lazy(props: P) {
    const [Loaded, setLoaded] = useState<{ of: ComponentType<P> } | null>(null)
    useEffect(() => void report(load().then((of) => setLoaded({ of }))), [])
    return Loaded === null ? null : <Loaded.of {...props} />
  }
}
