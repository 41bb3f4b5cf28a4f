export { readBase } from './changed_base'
export { changedLinesExtension, showHere, stepChange } from './changed_lines'
export { chunksOf, comparison, setBase } from './changed_places'
