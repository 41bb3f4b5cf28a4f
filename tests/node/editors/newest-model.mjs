// A module hook: whoever imports prosemirror-model gets the newest one.

export const resolve = (specifier, context, next) =>
  next(specifier === 'prosemirror-model' ? 'prosemirror-model-newest' : specifier, context)
