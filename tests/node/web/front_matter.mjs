// The form of the front matter and the YAML of the file agree, in both directions.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const FILE = `---
title: The plan # shown in lists
rating: 4
draft: true
tags: [tides, "2026"]
owner:
  team: water
---

# Plan
`

/** Replaces a part of the text of front matter, and saves it. */
async function change(box, old, text) {
  await until(async () => (await box.inputValue()).includes(old), old)
  await box.fill((await box.inputValue()).replace(old, text))
  await box.press('Control+Enter')
}

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), FILE)
    writeFileSync(join(directory, 'post.md'), '---\ntitle: A\ndate: {{ .Date }}\n---\n\nBody.\n')
    writeFileSync(join(directory, 'toml.md'), '+++\ntitle = "A" # short\n+++\n\nBody.\n')
    writeFileSync(join(directory, 'raw.md'), '---\n!thing {a: 1}\n---\n\nBody.\n')
  },
  async (stage) => {
    const ana = await stage.open('/plan.md')
    const ben = await stage.open('/plan.md', { name: 'Ben' })
    for (const page of [ana, ben]) await shows(page, 'richtext')
    const field = (page, key) => page.locator(`[data-key="${key}"]`)
    const keys = await ana
      .locator('.front-matter-row')
      .evaluateAll((rows) => rows.map(({ dataset }) => `${dataset.key} ${dataset.kind}`))
    assertEqual(
      keys,
      ['title text', 'rating number', 'draft boolean', 'tags list', 'owner yaml'],
      'the fields',
    )

    // The form writes the file, and keeps comments, types and the other fields.
    await field(ana, 'rating').locator('input').fill('5')
    await ana.keyboard.press('Enter')
    await field(ana, 'draft').locator('input').uncheck()
    await saved(ana)
    const changed = FILE.replace('rating: 4', 'rating: 5').replace('draft: true', 'draft: false')
    assertEqual(await stage.yfs('cat', '/plan.md'), changed, 'the file after the form')
    const value = (page, key) => field(page, key).locator('input, textarea').inputValue()
    await until(async () => (await value(ben, 'rating')) === '5', 'the rating at Ben')

    // A text that is no number is refused and written nowhere.
    await field(ana, 'rating').locator('input').fill('many')
    await ana.keyboard.press('Enter')
    await until(() => field(ana, 'rating').locator('[role=alert]').count(), 'the refusal')
    await ana.keyboard.press('Escape')
    assertEqual(await value(ana, 'rating'), '5', 'the rating after Escape')

    // The file writes the form.
    await stage.yfs('edit', '/plan.md', '--old', 'title: The plan', '--new', 'title: Our plan')
    await until(async () => (await value(ana, 'title')) === 'Our plan', 'the title in the form')

    // The YAML view shows the file, and its edits reach the form and the disk.
    await ana.getByRole('button', { name: 'YAML' }).click()
    const yaml = ana.getByRole('textbox', { name: 'YAML' })
    await until(async () => (await yaml.inputValue()).startsWith('title: Our plan #'), 'the YAML')
    await yaml.fill((await yaml.inputValue()).replace('team: water', 'team: air'))
    await ana.getByRole('button', { name: 'Apply' }).click()
    await until(async () => (await value(ben, 'owner')) === 'team: air', 'the owner at Ben')
    const file = await stage.yfs('cat', '/plan.md')
    if (!file.includes('team: air') || !file.includes('# shown in lists')) throw new Error(file)
    await until(
      () => readFileSync(join(stage.directory, 'plan.md'), 'utf8') === file,
      'the file on disk',
    )

    // A new field, and one that goes.
    await ana.getByRole('button', { name: 'Form' }).click()
    await ana.getByRole('button', { name: 'Add a property' }).click()
    await ana.getByRole('textbox', { name: 'Name of the property' }).fill('status')
    await ana.getByRole('button', { name: 'Add', exact: true }).click()
    await field(ana, 'status').locator('input').fill('open')
    await ana.keyboard.press('Enter')
    await field(ana, 'owner').hover()
    await ana.getByRole('button', { name: 'Remove owner' }).click()
    await until(async () => {
      const text = await stage.yfs('cat', '/plan.md')
      return text.includes('status: open') && !text.includes('owner')
    }, 'the new field and the removal in the file')

    // Front matter that is not a plain mapping is YAML only, and stays as it is.
    const raw = await stage.open('/raw.md')
    await shows(raw, 'richtext')
    const rawYaml = raw.getByRole('textbox', { name: 'YAML' })
    await until(async () => (await rawYaml.inputValue()) === '!thing {a: 1}', 'the raw YAML')
    assertEqual(await raw.locator('.front-matter-row').count(), 0, 'fields of raw YAML')

    // A property that has no field is in the YAML, which can be changed around it.
    const post = await stage.open('/post.md')
    await until(() => post.getByText('1 more in YAML').count(), 'the note')
    assertEqual(await post.locator('.front-matter-row').count(), 1, 'fields beside a template')
    await post.getByRole('button', { name: 'YAML' }).click()
    await change(post.getByRole('textbox', { name: 'YAML' }), 'title: A', 'title: B')
    await until(
      async () =>
        (await stage.yfs('cat', '/post.md')).startsWith('---\ntitle: B\ndate: {{ .Date }}\n'),
      'the file around the template',
    )

    // TOML is shown as it is, between its own fences.
    const toml = await stage.open('/toml.md')
    await change(toml.getByRole('textbox', { name: 'TOML', exact: true }), '"A"', '"B"')
    await until(
      async () =>
        (await stage.yfs('cat', '/toml.md')).startsWith('+++\ntitle = "B" # short\n+++\n'),
      'the file of TOML',
    )
  },
)
