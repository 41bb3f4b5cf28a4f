// Strings to bytes and back in the encodings that shells use.

import { bytesOf } from './given.js'

/** The encodings of just-bash. */
export type Encoding = 'utf8' | 'utf-8' | 'ascii' | 'binary' | 'base64' | 'hex' | 'latin1'

/** How an encoding is given: by itself, or as a member of options. */
export type EncodingOption = Encoding | { encoding?: Encoding | null } | null | undefined

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Returns the encoding that was given, if any. */
export function encodingOf(option: EncodingOption): Encoding | undefined {
  if (typeof option === 'string') return option
  return option?.encoding ?? undefined
}

/**
 * Returns the bytes of content, possibly the caller's own. Throws if it is neither text nor bytes.
 */
export function encode(content: string | Uint8Array, encoding: Encoding | undefined): Uint8Array {
  if (typeof content !== 'string') return bytesOf(content, 'content')
  switch (encoding) {
    case 'base64':
    case 'hex':
    case 'binary':
    case 'latin1':
      return new Uint8Array(Buffer.from(content, encoding))
    default:
      return encoder.encode(content)
  }
}

/** Returns bytes as text. */
export function decode(bytes: Uint8Array, encoding: Encoding | undefined): string {
  switch (encoding) {
    case 'base64':
    case 'hex':
    case 'binary':
    case 'latin1':
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
    default:
      return decoder.decode(bytes)
  }
}
