// The lints of all TypeScript and JavaScript in this repository. `npm run lint` runs them from the
// repository's root.

import eslint from '@eslint/js'
import tseslint from 'typescript-eslint'

const GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Blob',
  'Buffer',
  'CSS',
  'ClipboardEvent',
  'DataTransfer',
  'File',
  'MessageChannel',
  'MutationObserver',
  'OffscreenCanvas',
  'ReadableStream',
  'Response',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'URLSearchParams',
  'WebSocket',
  'addEventListener',
  'atob',
  'clearTimeout',
  'console',
  'createImageBitmap',
  'crypto',
  'document',
  'fetch',
  'getComputedStyle',
  'getSelection',
  'globalThis',
  'innerHeight',
  'innerWidth',
  'localStorage',
  'location',
  'navigator',
  'performance',
  'process',
  'queueMicrotask',
  'requestAnimationFrame',
  'sessionStorage',
  'setImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'structuredClone',
  'window',
]

export default tseslint.config(
  { ignores: ['**/node_modules/', '**/dist/', '**/wire.ts', '**/*.d.ts', '**/upstream/'] },
  eslint.configs.recommended,
  {
    languageOptions: { globals: Object.fromEntries(GLOBALS.map((name) => [name, 'readonly'])) },
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
    },
  },
  {
    files: ['crates/doors/yfs-node/ts/**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: './crates/doors/yfs-node/tsconfig.json',
        tsconfigRootDir: new URL('../../..', import.meta.url).pathname,
      },
    },
    rules: {
      'no-undef': 'off',
      'no-unused-vars': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // The JSON of the native half is typed where a function returns it (wire.ts).
      '@typescript-eslint/no-unsafe-return': 'off',
      // An async function without await turns what it throws into a rejection.
      '@typescript-eslint/require-await': 'off',
      // A step that never waits is a generator all the same, so that callers need not know.
      'require-yield': 'off',
    },
  },
)
