// The settings of this browser.

import type { Signal } from '@preact/signals'
import { chooseLanguage, language, LANGUAGES, t, type Language } from '../language/translate'
import { Dialog } from '../look/dialog'
import type { PanelProps } from '../shell/panels'
import { bracketColors, density, layoutDirection, textSize, theme, vimKeys } from './settings'
import './settings_panel.css'

export function SettingsPanel({ onClose }: PanelProps) {
  return (
    <Dialog title={t('Settings')} onClose={onClose}>
      <div class="settings">
        <Choice
          label={t('Colors')}
          of={theme}
          values={{ system: t('As the system'), light: t('Light'), dark: t('Dark') }}
        />
        <Choice
          label={t('Density')}
          of={density}
          values={{ comfortable: t('Comfortable'), compact: t('Compact') }}
        />
        <Choice
          label={t('Layout direction')}
          of={layoutDirection}
          values={{
            language: t('As the language'),
            ltr: t('Left to right'),
            rtl: t('Right to left'),
          }}
        />
        <Choice
          label={t('Text size')}
          of={textSize}
          values={{ small: t('Small'), normal: t('Normal'), large: t('Large') }}
        />
        <Choice
          label={t('Keys of Vim in texts')}
          of={vimKeys}
          values={{ off: t('Off'), on: t('On') }}
        />
        <Choice
          label={t('Colors of brackets in code')}
          of={bracketColors}
          values={{ off: t('Off'), on: t('On') }}
        />
        <label class="setting">
          <span>{t('Language')}</span>
          <select
            class="field"
            value={language.value}
            onChange={(event) => {
              chooseLanguage(event.currentTarget.value as Language)
              location.reload()
            }}
          >
            {Object.entries(LANGUAGES).map(([code, name]) => (
              <option key={code} value={code} lang={code}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <p class="faint">{t('Settings are kept in this browser.')}</p>
      </div>
    </Dialog>
  )
}

interface ChoiceProps<T extends string> {
  label: string
  of: Signal<T>
  values: Record<T, string>
}

function Choice<T extends string>({ label, of, values }: ChoiceProps<T>) {
  return (
    <fieldset class="setting">
      <legend>{label}</legend>
      <div class="segments" role="group" aria-label={label}>
        {(Object.entries(values) as [T, string][]).map(([value, name]) => (
          <button
            key={value}
            type="button"
            aria-pressed={of.value === value}
            onClick={() => (of.value = value)}
          >
            {name}
          </button>
        ))}
      </div>
    </fieldset>
  )
}
