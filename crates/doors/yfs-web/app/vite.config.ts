import preact from '@preact/preset-vite'
import { defineConfig, type Plugin } from 'vite'

/** Leaves out formats of KaTeX's fonts that no browser of today asks for. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform: (code, id) =>
    id.includes('katex.min.css')
      ? code.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, '')
      : undefined,
}

// The mode `harness` builds the page that shows one file, for tests of the editors.
export default defineConfig(({ mode }) => {
  const isHarness = mode === 'harness'
  return {
    root: isHarness ? 'harness' : '.',
    plugins: [preact(), oneFontFormat],
    build: {
      target: 'es2022',
      modulePreload: { polyfill: false },
      outDir: isHarness ? '../dist-harness' : 'dist',
      emptyOutDir: true,
      // `list_files.mjs` reads what leads to which file.
      manifest: !isHarness,
      rolldownOptions: {
        input: isHarness
          ? 'harness/index.html'
          : { index: 'index.html', sw: 'worker/service_worker.ts' },
        output: {
          // The browser compares the worker with the one that it has by its address.
          entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
          // What each page needs at once is one file: small ones compress worse.
          codeSplitting: { groups: [{ name: 'base', test: /src\/(?:session|look)\/.*\.tsx?$/ }] },
        },
      },
    },
  }
})
