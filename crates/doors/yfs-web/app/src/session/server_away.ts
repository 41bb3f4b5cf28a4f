// The failure of a request that no server answered.

export class ServerAway extends Error {
  override readonly name = 'ServerAway'

  constructor() {
    super('The server does not answer.')
  }
}

/** Why files are not created, renamed, moved or removed without a server. */
export const NEEDS_SERVER =
  'The server does not answer, and only it can create, rename, move or remove files. ' +
  'Try again when it is back.'

/** A proxy answers so for a server that is away. */
const GATEWAY_ERRORS = [502, 504]

/** Requests an address; rejects with `ServerAway` if the server does not answer. */
export async function requestServer(path: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, init)
  } catch (failure) {
    if (init.signal?.aborted === true) throw failure
    throw new ServerAway()
  }
  if (GATEWAY_ERRORS.includes(response.status)) throw new ServerAway()
  return response
}
