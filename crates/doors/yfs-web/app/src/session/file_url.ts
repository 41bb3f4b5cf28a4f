/** Returns the address of a file in the HTTP interface. */
export const fileUrl = (path: string): string =>
  `/api/files/${path.split('/').slice(1).map(encodeURIComponent).join('/')}`
