// A module hook: an import of prosemirror-model resolves to the newest version.

export const resolve = (specifier, context, next) =>
  next(specifier === 'prosemirror-model' ? 'prosemirror-model-newest' : specifier, context)
