// What files contain: statistics in the shapes of document 004, previews, contexts, queries. The
// names in statistics are those of the document, so they are the same in Rust, in the JSON of the
// `yfs` command and here.

import type { Members } from './given.js'

/** The length of a preview: one of these. A token is estimated as four characters. */
export type PreviewLimit = { characters: number } | { bytes: number } | { tokens: number }

/** The type of a JSON value, or the types that the values of one field have. */
export type JsonType =
  | 'Null'
  | 'Boolean'
  | 'Integer'
  | 'Number'
  | 'String'
  | 'Array'
  | 'Object'
  | { Nullable: JsonType }
  | { Union: JsonType[] }

/** The types of an object's members. */
export interface JsonSchema {
  properties: Record<string, JsonType>
}

/** Of a JSON document. A path names the keys from the root, with `*` for any element. */
export interface JsonStats {
  is_array: boolean
  array_length: number | null
  schema: JsonSchema | null
  top_level_keys: string[]
  nested_depth: number
  /** By path, the values of fields with few different ones. */
  unique_values_sample: Record<string, string[]>
  /** By path, the estimated number of different values. */
  cardinality_estimates: Record<string, number>
}

/** Of a JSON array of objects, or of JSON lines. */
export interface JsonArrayStats {
  length: number
  element_schema: JsonSchema | null
  sample_elements: unknown[]
  cardinality_per_field: Record<string, number>
  data_types_distribution: Record<string, Record<string, number>>
}

export type CsvDataType = 'Empty' | 'Boolean' | 'Integer' | 'Float' | 'Date' | 'DateTime' | 'String'

/** Of a table of delimited text. */
export interface CsvStats {
  /** Without the headers. */
  rows: number
  columns: number
  headers: string[]
  data_types: CsvDataType[]
  cardinality_per_column: number[]
  sample_values: string[][]
  null_counts: number[]
}

/** Of an HTML page. A heading is its text and its level. */
export interface HtmlStats {
  title: string | null
  meta_description: string | null
  headings: [string, number][]
  link_count: number
  image_count: number
  script_tags: number
  main_content_length: number
  language: string | null
}

/** Of a markdown document. */
export interface MarkdownStats {
  headings: [string, number][]
  word_count: number
  code_blocks: number
  links: number
  images: number
  tables: number
  lists: number
  front_matter: string | null
}

export type TextStructure =
  | 'PlainText'
  | { LogFile: { log_level_counts: Record<string, number> } }
  | { ConfigFile: { format: string } }
  | { CodeFile: { language: string; functions: string[] } }

/** Of any other text. */
export interface TextStats {
  lines: number
  words: number
  characters: number
  encoding: string
  language: string | null
  structure_hints: TextStructure
}

/** Of a file that is not text. */
export interface BinaryStats {
  format: string
  metadata: Record<string, string>
}

/** The statistics of a content, by its kind. */
export type ContentStats =
  | { Json: JsonStats }
  | { JsonArray: JsonArrayStats }
  | { Csv: CsvStats }
  | { Html: HtmlStats }
  | { Markdown: MarkdownStats }
  | { Text: TextStats }
  | { Binary: BinaryStats }

/** What a file contains. */
export interface FileAnalysis {
  path: string
  /** The version of the content. */
  version: string | null
  mime: string
  /** Bytes. */
  size: number
  stats: ContentStats
  /** The statistics in a few lines, for a model. */
  description: string
  /** What the statistics leave out, and what is wrong with the content. */
  notes: string[]
  /** The beginning of the content, or its structure; null if none was asked for. */
  preview: string | null
}

export interface StatsOptions {
  /** The length of a preview. There is none by default. */
  preview?: PreviewLimit
  signal?: AbortSignal
}

export interface PreviewOptions {
  signal?: AbortSignal
}

/** The files of a context, and its length. */
export interface ContextOptions {
  /** Files and directories; `/` by default. */
  paths?: string[]
  /** Patterns as in `.gitignore`: a file must match one. */
  include?: string[]
  /** Patterns as in `.gitignore` of files and directories that are left out. */
  exclude?: string[]
  /** Whether names that begin with a dot are included. */
  hidden?: boolean
  /** Whether files that `.gitignore` and `.yfsignore` name are included. */
  ignored?: boolean
  /** The size above which a file is only listed, in bytes; 64 MiB by default. */
  maxFileSize?: number
  /** The greatest length of the text, in tokens of four characters; 8,000 by default. */
  maxTokens?: number
  /** The length of each preview; 300 characters by default. */
  preview?: PreviewLimit
  /** A template of Handlebars, in place of the default one. */
  template?: string
  signal?: AbortSignal
}

/** A context for a model. */
export interface RenderedContext {
  text: string
  /** Its estimated number of tokens. */
  tokens: number
  /** How many files were selected. */
  files: number
  /** How many of them the text lists. */
  listed: number
  /** How many of those have a preview. */
  previewed: number
}

export interface QueryOptions {
  /** `jq` by default. SQL is that of SQLite, over a table `data`. */
  dialect?: 'jq' | 'jql' | 'sql'
  /** What the file is; by default what its name says, or else JSON. */
  format?: 'json' | 'csv' | 'tsv' | 'yaml' | 'parquet'
  /** Whether all values of the file are one array. */
  slurp?: boolean
  /** Whether texts are returned line by line, and not parsed as JSON. */
  raw?: boolean
  /** The processor time of the query, in milliseconds, rounded up to seconds; 10 s by default. */
  cpuTimeMs?: number
  /** The memory of the query, in bytes; 1 GiB by default. */
  maxMemory?: number
  /** The length of the results as JSON, in bytes; 64 MiB by default. */
  maxOutputLen?: number
  /** The program of Node that runs the query; by default the one of this process. */
  nodePath?: string
  signal?: AbortSignal
}

export interface QueryResults<T = unknown> {
  results: T[]
  /** Whether there were more than `maxOutputLen` allows. The last one may be cut. */
  truncated: boolean
}

export const STATS: Members<StatsOptions> = { preview: 'PreviewLimit', signal: 'AbortSignal' }

export const PREVIEW: Members<PreviewOptions> = { signal: 'AbortSignal' }

export const CONTEXT: Members<ContextOptions> = {
  paths: 'string[]',
  include: 'string[]',
  exclude: 'string[]',
  hidden: 'boolean',
  ignored: 'boolean',
  maxFileSize: 'count',
  maxTokens: 'count',
  preview: 'PreviewLimit',
  template: 'string',
  signal: 'AbortSignal',
}

export const QUERY: Members<QueryOptions> = {
  dialect: ['jq', 'jql', 'sql'],
  format: ['json', 'csv', 'tsv', 'yaml', 'parquet'],
  slurp: 'boolean',
  raw: 'boolean',
  cpuTimeMs: 'count',
  maxMemory: 'count',
  maxOutputLen: 'count',
  nodePath: 'string',
  signal: 'AbortSignal',
}

/** The limits of a query that the caller does not set. */
export const QUERY_LIMITS = { cpuTimeMs: 10_000, maxMemory: 2 ** 30, maxOutputLen: 2 ** 26 }
