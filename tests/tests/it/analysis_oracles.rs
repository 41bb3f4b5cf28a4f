//! Statistics of files beside those of Python's own modules: `json`, `csv` and `html.parser`.
//!
//! The JSON files are those of the installed npm packages; tables and pages are made by Python from
//! a seed. Where there is no python3, the tests say that they are skipped.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, which is what it is for")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use yfs_analysis::{ContentAnalyzer, FileStats, RELATIVE_ERROR, analyze};

/// The number of keys of an object that the statistics name.
const MAX_KEYS: usize = 1_024;

/// Prints a line of JSON for each file: its path, and what the statistics are.
const JSON_ORACLE: &str = r#"
import json, os, sys
def depth(value):
    if isinstance(value, dict): return 1 + max([0, *map(depth, value.values())])
    if isinstance(value, list): return 1 + max([0, *map(depth, value)])
    return 0
n = 0
for folder, names, files in os.walk(sys.argv[1], followlinks=False):
    names.sort()
    for name in sorted(files):
        path = os.path.join(folder, name)
        if not name.endswith('.json') or os.path.islink(path): continue
        try: value = json.load(open(path, encoding='utf-8'))
        except ValueError: continue
        n += 1
        if n > 300: sys.exit()
        keys = list(value) if isinstance(value, dict) else []
        length = len(value) if isinstance(value, list) else None
        print(json.dumps({'path': path, 'keys': keys, 'length': length, 'depth': depth(value)}))
"#;

/// Writes tables to a directory, and prints what Python reads back from each.
const CSV_ORACLE: &str = r#"
import csv, json, os, random, sys
random.seed(11)
cells = ['calm', 'storm, heavy', 'said "no"', 'two\nlines', '', ' spaced ', 'ünïcode', '7', '-3.5',
         '2026-11-26', 'true', '0', 'a;b', "it's", '\tx']
for n in range(100):
    path = os.path.join(sys.argv[1], f'{n}.csv')
    delimiter = ',;\t|'[n % 4]
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC][n % 3]
    n_columns = random.randint(2, 12)
    with open(path, 'w', newline='', encoding='utf-8') as file:
        end = ['\n', '\r\n'][n % 2]
        table = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
        table.writerow([f'column {at}' for at in range(n_columns)])
        for at in range(random.randint(2, 400)):
            cell = lambda column: random.choice(cells) if column % 3 else f'r{at % 97}'
            table.writerow([cell(column) for column in range(n_columns)])
    with open(path, newline='', encoding='utf-8') as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    header, rows = rows[0], rows[1:]
    columns = list(zip(*rows))
    print(json.dumps({'path': path, 'rows': len(rows), 'headers': header,
        'empty': [sum(cell == '' for cell in column) for column in columns],
        'different': [len(set(column) - {''}) for column in columns]}))
"#;

/// Writes pages to a directory, and prints what Python's parser finds in each.
const HTML_ORACLE: &str = r#"
import html, html.parser, json, os, random, sys
random.seed(13)
words = ['tide', 'Æther', 'a < b', 'R&D', '"quoted"', 'x>y', "l'eau", '  ', '\n']
class Counter(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found = {'links': 0, 'images': 0, 'scripts': 0, 'headings': [], 'title': None}
        self.open = None
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == 'a' and 'href' in attributes: self.found['links'] += 1
        if tag == 'img': self.found['images'] += 1
        if tag == 'script': self.found['scripts'] += 1
        if tag == 'title' or (len(tag) == 2 and tag[0] == 'h' and tag[1] in '123456'):
            self.open = [tag, '']
    def handle_endtag(self, tag):
        if self.open and tag == self.open[0]:
            text = ' '.join(self.open[1].split())
            if tag == 'title': self.found['title'] = text
            else: self.found['headings'].append([text, int(tag[1])])
            self.open = None
    def handle_data(self, data):
        if self.open: self.open[1] += data
def text():
    return html.escape(' '.join(random.choices(words, k=random.randint(1, 6))), quote=False)
def piece():
    kind = random.randrange(9)
    quote = random.choice(['"', "'"])
    if kind == 0: return f'<h{random.randint(1, 6)} class={quote}a > b{quote}>T {text()}'
    if kind == 1: return f'<a href={quote}/x?a=1&amp;b=<2>{quote}>{text()}</a>'
    if kind == 2: return f'<img src={quote}i.png{quote} alt={quote}<a href=x>{quote}>'
    if kind == 3: return '<script>if (a < b) { "<a href=x>" }</script>'
    if kind == 4: return f'<!-- <a href="no"> {text()} -->'
    if kind == 5: return f'<A HREF=/plain>{text()}</A>'
    if kind == 6: return '<style>a > b { content: "<img>" }</style>'
    if kind == 7: return f'<img\nsrc=x\n/>'
    return f'<p>{text()}</p>'
def whole(one): return one + f'</h{one[2]}>' if one.startswith('<h') else one
for n in range(100):
    path = os.path.join(sys.argv[1], f'{n}.html')
    body = '\n'.join(whole(piece()) for _ in range(random.randint(1, 80)))
    page = f'<!DOCTYPE html><html><head><title>Page {n} {text()}</title></head>'
    page += f'<body>{body}</body></html>'
    open(path, 'w', encoding='utf-8').write(page)
    counter = Counter()
    counter.feed(page)
    counter.close()
    print(json.dumps({'path': path, **counter.found}))
"#;

/// Runs an oracle; returns a value for each line, or nothing if there is no Python.
fn ask(oracle: &str, directory: &Path) -> Vec<Value> {
    let ran = Command::new("python3").arg("-c").arg(oracle).arg(directory).output();
    let Ok(output) = ran else {
        println!("skipped: there is no python3");
        return Vec::new();
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.len() >= 100, "{} answers", answers.len());
    answers
}

/// Analyzes a file as a whole, and in pieces of a length that no format has.
fn stats_of(answer: &Value) -> FileStats {
    let path = Path::new(answer["path"].as_str().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    let content = fs::read(path).unwrap();
    let whole = analyze(name, &content);
    let mut analyzer = ContentAnalyzer::new(name);
    for piece in content.chunks(7) {
        analyzer.push(piece);
    }
    let streamed = analyzer.finish();
    assert_eq!(
        (&whole.media_type, &whole.stats),
        (&streamed.media_type, &streamed.stats),
        "{name}"
    );
    whole.stats
}

#[test]
fn json_has_the_keys_and_depth_that_python_reads() {
    yfs_tests::node::ensure_installed("");
    for answer in ask(JSON_ORACLE, &yfs_tests::node::dir().join("node_modules")) {
        match stats_of(&answer) {
            FileStats::Json(stats) => {
                assert_eq!(stats.nested_depth, answer["depth"], "{answer}");
                assert_eq!(
                    stats.array_length.map(Value::from).unwrap_or_default(),
                    answer["length"]
                );
                let keys = answer["keys"].as_array().unwrap();
                let kept = &keys[..keys.len().min(MAX_KEYS)];
                assert_eq!(Value::from(stats.top_level_keys), Value::from(kept), "{answer}");
            }
            FileStats::JsonArray(stats) => assert_eq!(stats.length, answer["length"], "{answer}"),
            other => panic!("{answer}: {other:?}"),
        }
    }
}

#[test]
fn tables_have_the_cells_that_python_reads() {
    let directory = tempfile::tempdir().unwrap();
    for answer in ask(CSV_ORACLE, directory.path()) {
        let FileStats::Csv(stats) = stats_of(&answer) else { panic!("{answer}") };
        assert_eq!(stats.rows, answer["rows"], "{answer}");
        assert_eq!(Value::from(stats.headers), answer["headers"]);
        assert_eq!(Value::from(stats.null_counts), answer["empty"], "{answer}");
        for (estimate, exact) in
            stats.cardinality_per_column.iter().zip(answer["different"].as_array().unwrap())
        {
            let exact = exact.as_u64().unwrap() as f64;
            let bound = (exact * 4.0 * RELATIVE_ERROR).max(0.5);
            assert!((*estimate as f64 - exact).abs() <= bound, "{estimate} of {exact}: {answer}");
        }
    }
}

#[test]
fn pages_have_the_elements_that_python_finds() {
    let directory = tempfile::tempdir().unwrap();
    for answer in ask(HTML_ORACLE, directory.path()) {
        let FileStats::Html(stats) = stats_of(&answer) else { panic!("{answer}") };
        assert_eq!(stats.title.map(Value::from).unwrap_or_default(), answer["title"], "{answer}");
        assert_eq!(stats.link_count, answer["links"], "{answer}");
        assert_eq!(stats.image_count, answer["images"], "{answer}");
        assert_eq!(stats.script_tags, answer["scripts"], "{answer}");
        let headings = stats.headings.iter();
        let headings: Value =
            headings.map(|(text, level)| serde_json::json!([text, level])).collect();
        assert_eq!(headings, answer["headings"], "{answer}");
    }
}
