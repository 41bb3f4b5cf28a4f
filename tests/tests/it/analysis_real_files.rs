//! Statistics of real files of installed packages, beside Python and the markdown parser of
//! prettier.
//!
//! Which files there are depends on the machine: the test says how many of each kind it compared.
//! The npm packages that the tests install have more than 100 of JSON (`analysis_oracles.rs`),
//! markdown and text. Tables, pages and binary files also come from the Python packages and
//! `/usr/share` of the machine.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]
#![expect(clippy::print_stdout, reason = "a test says how many files it compared")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use yfs_analysis::{FileStats, RELATIVE_ERROR, analyze};
use yfs_tests::{node, root};

/// The files of each kind that are compared at most.
const MAX_FILES: usize = 150;

/// The packages that the tests install have at least this many texts and documents.
const N_INSTALLED: usize = 100;

/// Prints a line of JSON for each file of a kind below some directories: its path, and what its
/// statistics are.
const ORACLE: &str = r##"
import csv, html.parser, json, os, re, struct, sys
kind, most, roots = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
csv.field_size_limit(1 << 30)

def text_of(path):
    with open(path, encoding='utf-8', newline='') as file: text = file.read()
    # What is white space in Python alone, and what is no character of text.
    if re.search('[\x00-\x08\x0b\x0e-\x1f\ufeff\x85]', text): raise ValueError
    return text

def text(path):
    text = text_of(path)
    lines = text.count('\n') + (not text.endswith('\n'))
    return {'lines': lines, 'words': len(text.split()), 'characters': len(text)}

def table(path):
    text_of(path)
    with open(path, encoding='utf-8', newline='') as file:
        delimiter = '\t' if path.endswith('.tsv') else ','
        rows = [row for row in csv.reader(file, delimiter=delimiter) if row]
    if len(rows) < 3 or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2: raise ValueError
    def counts(rows):
        columns = list(zip(*rows))
        return {'rows': len(rows), 'empty': [sum(cell == '' for cell in each) for each in columns],
                'different': [len(set(each) - {''}) for each in columns]}
    return {'first': rows[0], 'all': counts(rows), 'rest': counts(rows[1:])}

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found = {'links': 0, 'images': 0, 'scripts': 0, 'headings': 0, 'title': None}
        self.title = None
    def handle_starttag(self, tag, attributes):
        if tag == 'a' and 'href' in dict(attributes): self.found['links'] += 1
        if tag == 'img': self.found['images'] += 1
        if tag == 'script': self.found['scripts'] += 1
        if re.fullmatch('h[1-6]', tag): self.found['headings'] += 1
        if tag == 'title' and self.found['title'] is None: self.title = ''
    def handle_endtag(self, tag):
        if tag == 'title' and self.title is not None and self.found['title'] is None:
            self.found['title'] = ' '.join(self.title.split())
            self.title = None
    def handle_data(self, data):
        if self.title is not None: self.title += data

def page(path):
    text = text_of(path)
    if '<html' not in text[:2000].lower(): raise ValueError
    parser = Page()
    parser.feed(text)
    parser.close()
    return parser.found

def binary(path):
    with open(path, 'rb') as file: head = file.read(64)
    if head[:8] == b'\x89PNG\r\n\x1a\n':
        width, height = struct.unpack('>II', head[16:24])
        return {'format': 'PNG', 'width': width, 'height': height, 'bit_depth': head[24]}
    if head[:4] == b'\x7fELF' and head[5] == 1:
        return {'format': 'ELF', 'bits': {1: 32, 2: 64}[head[4]]}
    if head[:6] in (b'GIF87a', b'GIF89a'):
        width, height = struct.unpack('<HH', head[6:10])
        return {'format': 'GIF', 'width': width, 'height': height}
    raise ValueError

names = {
    'text': r'.*\.(js|mjs|cjs|ts|py|css|txt)|LICENSE',
    'table': r'.*\.(csv|tsv)|RECORD',
    'page': r'.*\.html?',
    'binary': r'.*\.(png|gif|so(\.\d+)*)',
}[kind]
n, per_folder = 0, {}
for root in roots:
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not re.fullmatch(names, name) or os.path.islink(path): continue
            if not 0 < os.path.getsize(path) < 2_000_000 or per_folder.get(folder, 0) > 20: continue
            try: answer = globals()[kind](path)
            except (ValueError, KeyError, struct.error, csv.Error, OSError): continue
            per_folder[folder] = per_folder.get(folder, 0) + 1
            print(json.dumps({'path': path, **answer}))
            n += 1
            if n == most: sys.exit()
"##;

/// Prints what the markdown parser of prettier finds in each README.
const MARKDOWN_ORACLE: &str = r#"
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
const { parsers } = await import(join(process.argv[1], 'prettier/plugins/markdown.mjs'))
const all = readdirSync(process.argv[1], { recursive: true })
const names = all.filter((name) => /\.md$/i.test(name))
let n = 0
for (const name of names.sort()) {
  const path = join(process.argv[1], name)
  const text = readFileSync(path, 'utf8')
  // Blocks of HTML are no part of what is counted, and parsers disagree where they end.
  if (text === '' || /^\s*<|^---/m.test(text)) continue
  const found = { headings: [], code: 0, tables: 0, lists: 0, images: 0 }
  const visit = (node) => {
    if (node.type === 'heading') found.headings.push(node.depth)
    if (node.type === 'code') found.code += 1
    if (node.type === 'table') found.tables += 1
    if (node.type === 'list') found.lists += 1
    if (node.type === 'image' || node.type === 'imageReference') found.images += 1
    for (const child of node.children ?? []) visit(child)
  }
  visit(parsers.markdown.parse(text, { originalText: text }))
  console.log(JSON.stringify({ path, ...found }))
  if ((n += 1) === Number(process.argv[2])) break
}
"#;

/// Returns the directories with packages: those that the tests install, and those of the machine.
fn packages() -> Vec<PathBuf> {
    node::ensure_installed("");
    node::ensure_installed_in(&root().join("crates/doors/yfs-node"));
    let installed = ["crates/doors/yfs-node/node_modules", "tests/node/node_modules"];
    let mut packages: Vec<PathBuf> = installed.iter().map(|path| root().join(path)).collect();
    let code = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    if let Ok(output) = Command::new("python3").args(["-c", code]).output() {
        packages.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    packages.extend(["/usr/share".into(), "/usr/lib".into()]);
    packages
}

/// Asks Python about the files of a kind; returns a value for each, or nothing if there is no
/// Python.
fn ask(kind: &str) -> Vec<Value> {
    let mut oracle = Command::new("python3");
    oracle.args(["-c", ORACLE, kind]).arg(MAX_FILES.to_string()).args(packages());
    answers_of(&mut oracle, kind)
}

fn answers_of(oracle: &mut Command, kind: &str) -> Vec<Value> {
    let Ok(output) = oracle.output() else {
        println!("skipped: cannot run {oracle:?}");
        return Vec::new();
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    println!("{kind}: {} files", answers.len());
    answers
}

fn stats_of(answer: &Value) -> FileStats {
    let path = Path::new(answer["path"].as_str().unwrap());
    analyze(path.file_name().unwrap().to_str().unwrap(), &fs::read(path).unwrap()).stats
}

#[test]
fn texts_have_the_lines_and_words_that_python_counts() {
    let mut n_compared = 0;
    for answer in ask("text") {
        // A text may be a table or a page by its content.
        let FileStats::Text(stats) = stats_of(&answer) else { continue };
        n_compared += 1;
        assert_eq!(stats.lines, answer["lines"], "{answer}");
        assert_eq!(stats.words, answer["words"], "{answer}");
        assert_eq!(stats.characters, answer["characters"], "{answer}");
    }
    assert!(n_compared >= N_INSTALLED, "{n_compared} texts");
}

#[test]
fn tables_have_the_rows_that_python_reads() {
    for answer in ask("table") {
        let FileStats::Csv(stats) = stats_of(&answer) else { panic!("{answer}") };
        let has_headers = stats.headers[0] != "column_1";
        let expected = if has_headers { &answer["rest"] } else { &answer["all"] };
        assert_eq!(stats.rows, expected["rows"], "{answer}");
        assert_eq!(Value::from(stats.null_counts), expected["empty"], "{answer}");
        let exact = expected["different"].as_array().unwrap();
        for (estimate, exact) in stats.cardinality_per_column.iter().zip(exact) {
            let exact = exact.as_u64().unwrap() as f64;
            let bound = (exact * 4.0 * RELATIVE_ERROR).max(0.5);
            assert!((*estimate as f64 - exact).abs() <= bound, "{estimate} of {exact}: {answer}");
        }
    }
}

#[test]
fn pages_have_the_elements_that_python_finds() {
    for answer in ask("page") {
        let FileStats::Html(stats) = stats_of(&answer) else { panic!("{answer}") };
        assert_eq!(stats.link_count, answer["links"], "{answer}");
        assert_eq!(stats.image_count, answer["images"], "{answer}");
        assert_eq!(stats.script_tags, answer["scripts"], "{answer}");
        assert_eq!(stats.headings.len(), answer["headings"], "{answer}");
        assert_eq!(stats.title.map(Value::from).unwrap_or_default(), answer["title"], "{answer}");
    }
}

#[test]
fn binary_files_have_the_facts_of_their_headers() {
    for answer in ask("binary") {
        let FileStats::Binary(stats) = stats_of(&answer) else { panic!("{answer}") };
        let format = answer["format"].as_str().unwrap();
        assert!(stats.format.eq_ignore_ascii_case(format), "{}: {answer}", stats.format);
        for name in ["width", "height", "bit_depth", "bits"] {
            if let Some(value) = answer.get(name) {
                let found = stats.metadata.get(name).map(String::as_str);
                assert_eq!(found, Some(value.to_string().as_str()), "{name}: {answer}");
            }
        }
    }
}

#[test]
fn documents_have_the_blocks_that_prettier_parses() {
    let modules = packages().swap_remove(0);
    let mut oracle = Command::new("node");
    oracle.args(["--input-type=module", "-e", MARKDOWN_ORACLE]).arg(modules);
    oracle.arg(MAX_FILES.to_string());
    let mut n_compared = 0;
    for answer in answers_of(&mut oracle, "markdown") {
        let FileStats::Markdown(stats) = stats_of(&answer) else { panic!("{answer}") };
        n_compared += 1;
        let levels: Vec<usize> = stats.headings.iter().map(|(_, level)| *level).collect();
        assert_eq!(Value::from(levels), answer["headings"], "{answer}");
        assert_eq!(stats.code_blocks, answer["code"], "{answer}");
        assert_eq!(stats.tables, answer["tables"], "{answer}");
        assert_eq!(stats.lists, answer["lists"], "{answer}");
        assert_eq!(stats.images, answer["images"], "{answer}");
    }
    assert!(n_compared >= N_INSTALLED, "{n_compared} documents");
}
