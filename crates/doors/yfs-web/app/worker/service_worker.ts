// Serves the page and its assets while the server does not answer.
//
// The page comes from the server whenever it answers, so an upgrade is never hidden; assets whose
// names contain a hash come from the cache. Nothing below `/api` is answered here. Each build has
// a cache of its own, which is filled before this worker becomes active, so that a page and its
// assets are always of one build.

interface Build {
  version: string
  /** The script of the page. */
  entry: string
  files: string[]
}

/** `list_files.mjs` writes `build` above this code. */
const worker = self as unknown as ServiceWorkerGlobalScope & { build: Build }

const PREFIX = 'yfs-app-'
const CACHE = PREFIX + worker.build.version
/** How long a server that is silent is waited for. */
const PATIENCE_MS = 4000
/** How many files are fetched at once: the page, which is open, comes first. */
const N_FETCHES = 3
/** A proxy answers so for a server that is away. */
const GATEWAY_ERRORS = [502, 504]
/** The server varies answers by the accepted media types and codings. */
const ANY = { ignoreVary: true }

const hasHash = (path: string) => /-[\w-]{8}\.\w+$/.test(path)

worker.addEventListener('install', (event) => {
  event.waitUntil(fillCache().then(() => worker.skipWaiting()))
})

worker.addEventListener('activate', (event) => {
  event.waitUntil(removeOldCaches().then(() => worker.clients.claim()))
})

worker.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== worker.location.origin) return
  if (request.mode === 'navigate') {
    if (pathname === '/') event.respondWith(answerPage(request))
  } else if (pathname.startsWith('/assets/')) {
    event.respondWith(answerAsset(request, pathname))
  }
})

async function fillCache(): Promise<void> {
  const cache = await caches.open(CACHE)
  const waiting = ['/', ...worker.build.files]
  const fetchNext = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      await cache.put(path, await fetchFile(path))
    }
  }
  await Promise.all(Array.from({ length: N_FETCHES }, fetchNext))
}

async function fetchFile(path: string): Promise<Response> {
  const known = hasHash(path) ? await caches.match(path, ANY) : undefined
  if (known !== undefined) return known
  const response = await fetch(path, {
    headers: path === '/' ? { Accept: 'text/html' } : {},
    cache: hasHash(path) ? 'default' : 'no-cache',
    credentials: 'same-origin',
  })
  if (!response.ok) throw new Error(`${path}: status ${response.status}`)
  if (path === '/' && !(await response.clone().text()).includes(worker.build.entry)) {
    throw new Error('the server has another build by now')
  }
  return response
}

/** Keeps one older cache: pages of that build may still be open, and load more of it. */
async function removeOldCaches(): Promise<void> {
  const ours = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE)
  await Promise.all(ours.slice(0, -1).map((name) => caches.delete(name)))
}

async function answerPage(request: Request): Promise<Response> {
  const kept = async () => (await caches.open(CACHE)).match('/', ANY)
  const answer = fetch(request)
  answer.catch(() => {
    // It may fail later, when the page that was kept is already shown.
  })
  try {
    const response = await Promise.race([answer, after(PATIENCE_MS)])
    if (response !== null && !GATEWAY_ERRORS.includes(response.status)) return response
  } catch {
    // The server is away.
  }
  return (await kept()) ?? answer
}

async function answerAsset(request: Request, pathname: string): Promise<Response> {
  if (hasHash(pathname)) return (await caches.match(request, ANY)) ?? fetch(request)
  try {
    return await fetch(request)
  } catch (failure) {
    const kept = await caches.match(request, ANY)
    if (kept === undefined) throw failure
    return kept
  }
}

const after = (ms: number) => new Promise<null>((resolve) => setTimeout(resolve, ms, null))
