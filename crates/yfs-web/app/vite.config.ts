import preact from '@preact/preset-vite'
import { defineConfig } from 'vite'

// The mode `harness` builds the page that shows one file, for tests of the editors.
export default defineConfig(({ mode }) => ({
  root: mode === 'harness' ? 'harness' : '.',
  plugins: [preact()],
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    outDir: mode === 'harness' ? '../dist-harness' : 'dist',
    emptyOutDir: true,
  },
}))
