// The form of a file's front matter, and its YAML.

import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type * as Y from 'yjs'
import { t } from '../../language/translate'
import type { MountOptions } from '../mounted_editor'
import { FieldRow, NewField } from './field_row'
import { fieldsOf, linesOf, storedYaml, type FrontMatterField } from './front_matter_model'
import { YamlView } from './yaml_view'

interface PanelProps {
  options: MountOptions
  map: Y.Map<unknown>
  source: Y.Map<unknown>
  readOnly: boolean
}

interface FrontMatter {
  fields: FrontMatterField[]
  /** Whether there is front matter that is not a plain mapping. */
  isRaw: boolean
  /** The number of properties that have no field. */
  nOthers: number
}

function read(map: Y.Map<unknown>, source: Y.Map<unknown>): FrontMatter {
  const fields = fieldsOf(map, source)
  const yaml = storedYaml(source)
  const isRaw = fields.length === 0 && yaml !== null && yaml.trim() !== ''
  return { fields, isRaw, nOthers: isRaw ? 0 : linesOf(source) }
}

function useFrontMatter(map: Y.Map<unknown>, source: Y.Map<unknown>): FrontMatter {
  const [state, setState] = useState(() => read(map, source))
  useEffect(() => {
    const update = () => setState(read(map, source))
    map.observe(update)
    source.observe(update)
    update()
    return () => {
      map.unobserve(update)
      source.unobserve(update)
    }
  }, [map, source])
  return state
}

function FrontMatterPanel({ options, map, source, readOnly }: PanelProps) {
  const { fields, isRaw, nOthers } = useFrontMatter(map, source)
  const [showsYaml, setShowsYaml] = useState(false)
  const [isAdding, setIsAdding] = useState(false)
  const isEmpty = fields.length === 0 && !isRaw
  if (isEmpty && !isAdding) {
    if (readOnly) return null
    return (
      <button type="button" class="front-matter-add" onClick={() => setIsAdding(true)}>
        {t('Add properties')}
      </button>
    )
  }
  const isYaml = isRaw || showsYaml
  return (
    <section class="front-matter" aria-label={t('Front matter')}>
      <header>
        <h2>{t('Properties')}</h2>
        {nOthers > 0 && (
          <span class="front-matter-note">{t('{n} more in YAML', { n: nOthers })}</span>
        )}
        {isRaw ? (
          <span class="front-matter-note">{t('no fields: shown as it is')}</span>
        ) : (
          <button type="button" aria-pressed={isYaml} onClick={() => setShowsYaml(!showsYaml)}>
            {isYaml ? t('Form') : 'YAML'}
          </button>
        )}
      </header>
      {isYaml ? (
        <YamlView options={options} readOnly={readOnly} hasFrontMatter={!isEmpty} />
      ) : (
        <>
          {fields.map((field) => (
            <FieldRow key={field.key} field={field} map={map} readOnly={readOnly} />
          ))}
          {!readOnly && <NewField map={map} startsOpen={isAdding} />}
        </>
      )}
    </section>
  )
}

export interface MountedFrontMatter {
  setReadOnly(readOnly: boolean): void
  destroy(): void
}

export function mountFrontMatter(root: HTMLElement, options: MountOptions): MountedFrontMatter {
  const map = options.document.doc.getMap('frontmatter')
  const source = options.document.doc.getMap('markdown-source')
  const draw = (readOnly: boolean) =>
    render(
      <FrontMatterPanel options={options} map={map} source={source} readOnly={readOnly} />,
      root,
    )
  draw(options.readOnly)
  return { setReadOnly: draw, destroy: () => render(null, root) }
}
