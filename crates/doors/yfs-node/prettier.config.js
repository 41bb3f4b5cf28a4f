// The format of all TypeScript and JavaScript in this repository.
export default { printWidth: 100, semi: false, singleQuote: true }
