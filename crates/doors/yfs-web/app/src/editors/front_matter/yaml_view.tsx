// The front matter as YAML, or as TOML if the file has that. Saving writes the file through the
// server, which merges the least edit and keeps comments, quotes and the order of keys.

import { useEffect, useState } from 'preact/hooks'
import { parseDocument } from 'yaml'
import { t } from '../../language/translate'
import { readSource } from '../markdown/read_source'
import { mergeFile } from '../../session/merge_file'
import { accepted } from '../../session/refusal_words'
import type { MountOptions } from '../mounted_editor'
import { isToml, withFrontMatter, yamlOf } from './front_matter_model'

interface YamlViewProps {
  options: MountOptions
  readOnly: boolean
  hasFrontMatter: boolean
}

async function save(options: MountOptions, hasFrontMatter: boolean, yaml: string): Promise<void> {
  const { workspace, path } = options
  const { text, etag } = (await readSource(workspace, path()))!
  const changed = withFrontMatter(text, hasFrontMatter, yaml)
  await accepted(await mergeFile(workspace, path(), changed, etag), path())
}

/** Returns why a text is no YAML, unless the file was none before. */
function problemOf(yaml: string, stored: string): string | undefined {
  const [problem] = parseDocument(yaml).errors
  return parseDocument(stored).errors.length > 0 ? undefined : problem?.message
}

export function YamlView({ options, readOnly, hasFrontMatter }: YamlViewProps) {
  const [stored, setStored] = useState<string | null>(null)
  const [language, setLanguage] = useState<'YAML' | 'TOML'>('YAML')
  const [draft, setDraft] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const { document: opened, workspace, path } = options

  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = async () => {
      try {
        const { text } = (await readSource(workspace, path()))!
        if (isGone) return
        setStored(yamlOf(text) ?? '')
        setLanguage(isToml(text) ? 'TOML' : 'YAML')
      } catch (failure) {
        if (!isGone) setError((failure as Error).message)
      }
    }
    const schedule = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void refresh(), 200)
    }
    const stop = opened.savedState.subscribe(schedule)
    opened.doc.on('update', schedule)
    return () => {
      isGone = true
      clearTimeout(timer)
      stop()
      opened.doc.off('update', schedule)
    }
  }, [options])

  const shown = draft ?? stored ?? ''
  const apply = async () => {
    const problem = language === 'YAML' ? problemOf(shown, stored ?? '') : undefined
    if (problem !== undefined) return setError(problem)
    try {
      await save(options, hasFrontMatter, shown)
      setStored(shown)
      setDraft(null)
      setError(null)
    } catch (failure) {
      setError((failure as Error).message)
    }
  }
  return (
    <div class="front-matter-yaml">
      <textarea
        aria-label={language}
        spellcheck={false}
        readOnly={readOnly}
        rows={Math.min(20, Math.max(3, shown.split('\n').length))}
        value={shown}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void apply()
        }}
      />
      {error !== null && (
        <p class="front-matter-error" role="alert">
          {error}
        </p>
      )}
      {draft !== null && (
        <p class="front-matter-actions">
          <button type="button" onClick={() => void apply()}>
            {t('Apply')}
          </button>
          <button type="button" onClick={() => setDraft(null)}>
            {t('Discard')}
          </button>
        </p>
      )}
    </div>
  )
}
