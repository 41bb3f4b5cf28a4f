//! Contents of all kinds: their types, statistics, previews.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use yfs_analysis::{
    ContentAnalysis, ContentAnalyzer, ContentPreview, FileStats, HtmlStats, PreviewLimit, analyze,
    describe_stats,
};

fn check(name: &str, content: impl AsRef<[u8]>, expected: Expect) {
    let analysis = analyze(name, content.as_ref());
    let stats = serde_json::to_string(&analysis.stats).expect("statistics are plain data");
    let mut shown = format!("{} {stats}\n", analysis.media_type);
    for note in &analysis.notes {
        shown.push_str(&format!("note: {note}\n"));
    }
    shown.push_str(&format!("{}\n", describe_stats(&analysis.stats)));
    shown.push_str(&format!("> {}\n", analysis.preview(PreviewLimit::Characters(120))));
    expected.assert_eq(&shown);
}

#[test]
fn json_documents() {
    check(
        "a.json",
        r#"{"results": [{"title": "First", "type": "article", "n": 1}, {"title": "Second", "type": "video", "n": 2.5, "by": null}], "metadata": {"took": 3}, "pagination": {}}"#,
        expect![[r#"
            application/json {"Json":{"is_array":false,"array_length":null,"schema":{"properties":{"metadata":"Object","pagination":"Object","results":"Array"}},"top_level_keys":["results","metadata","pagination"],"nested_depth":3,"unique_values_sample":{"results.*.n":["1","2.5"],"results.*.title":["First","Second"],"results.*.type":["article","video"]},"cardinality_estimates":{"results.*.by":1,"results.*.n":2,"results.*.title":2,"results.*.type":2}}}
            JSON file: 3 keys
            > {"metadata": {"took": 3}, "pagination": {}, "results": [{"n": 1, "title": "First", "type": "article"}, "… 1 more"]}
        "#]],
    );
    check(
        "",
        "[1, 2, \"a\", null]",
        expect![[r#"
        application/json {"Json":{"is_array":true,"array_length":4,"schema":null,"top_level_keys":[],"nested_depth":1,"unique_values_sample":{"*":["1","2","a"]},"cardinality_estimates":{"*":4}}}
        JSON file: 0 keys (array with 4 elements)
        > 4 elements
        1
        2
        "a"
        null
    "#]],
    );
    check(
        "",
        r#"[{"a": 1, "b": "x"}, {"a": null, "b": 2}, {"b": []}]"#,
        expect![[r#"
        application/json {"JsonArray":{"length":3,"element_schema":{"properties":{"a":{"Nullable":"Integer"},"b":{"Union":["Integer","String","Array"]}}},"sample_elements":[{"a":1,"b":"x"},{"a":null,"b":2},{"b":[]}],"cardinality_per_field":{"a":2,"b":2},"data_types_distribution":{"a":{"integer":1,"null":1},"b":{"array":1,"integer":1,"string":1}}}}
        JSON array: 3 elements
        Fields: {a: integer?, b: integer | string | array}
        High-cardinality fields: a, b
        > 3 elements {a: integer?, b: integer | string | array}
        {"a": 1, "b": "x"}
        {"a": null, "b": 2}
        {"b": []}
    "#]],
    );
    check(
        "a.txt",
        "{\"a\": 1}\n{\"a\": 2}\n",
        expect![[r#"
        application/x-ndjson {"JsonArray":{"length":2,"element_schema":{"properties":{"a":"Integer"}},"sample_elements":[{"a":1},{"a":2}],"cardinality_per_field":{"a":2},"data_types_distribution":{"a":{"integer":2}}}}
        JSON array: 2 elements
        Fields: {a: integer}
        High-cardinality fields: a
        > 2 elements {a: integer}
        {"a": 1}
        {"a": 2}
    "#]],
    );
}

#[test]
fn json_that_is_strange() {
    check(
        "a.json",
        r#"{"a": [1, 2"#,
        expect![[r#"
        application/json {"Json":{"is_array":false,"array_length":null,"schema":{"properties":{"a":"Array"}},"top_level_keys":["a"],"nested_depth":2,"unique_values_sample":{"a.*":["1","2"]},"cardinality_estimates":{"a.*":2}}}
        note: not JSON at line 1, column 12: the text ends early; the statistics are of what comes before
        JSON file: 1 keys
        > {"a": [1, 2]}
    "#]],
    );
    check(
        "a.json",
        r#"{"a": "\ud83d\ude00\ud800x"}"#,
        expect![[r#"
        application/json {"Json":{"is_array":false,"array_length":null,"schema":{"properties":{"a":"String"}},"top_level_keys":["a"],"nested_depth":1,"unique_values_sample":{},"cardinality_estimates":{}}}
        JSON file: 1 keys
        > {"a": "😀�x"}
    "#]],
    );
    check(
        "tsconfig.json",
        "{\n  // comment\n  \"a\": 1\n}\n",
        expect![[r#"
        text/plain {"Text":{"lines":4,"words":6,"characters":26,"encoding":"UTF-8","language":null,"structure_hints":{"ConfigFile":{"format":"Json"}}}}
        note: not JSON at line 2, column 3: a key is missing; described as text
        Text file: 4 lines, 6 words
        Config file: Json
        > {
          // comment
          "a": 1
        }

    "#]],
    );
}

#[test]
fn csv() {
    check(
        "",
        "name,born,height,alive,seen\n\
        \"Ada, Countess\",1815-12-10,1.65,false,2026-01-01T10:00Z\n\
        Alan,1912-06-23,,false,\nGrace,1906-12-09,1.7,false,\n",
        expect![[r#"
            text/csv {"Csv":{"rows":3,"columns":5,"headers":["name","born","height","alive","seen"],"data_types":["String","Date","Float","Boolean","DateTime"],"cardinality_per_column":[3,3,2,1,1],"sample_values":[["Ada, Countess","1815-12-10","1.65","false","2026-01-01T10:00Z"],["Alan","1912-06-23","","false",""],["Grace","1906-12-09","1.7","false",""]],"null_counts":[0,0,1,0,2]}}
            CSV: 3 rows × 5 columns
            Headers: name, born, height, alive, seen
            Data types: [String, Date, Float, Boolean, DateTime]
            High-cardinality columns: name, born, height
            > name,born,height,alive,seen
            "Ada, Countess",1815-12-10,1.65,false,2026-01-01T10:00Z
            … 2 more rows
        "#]],
    );
    check(
        "a.csv",
        "1;2;3\n4;5;6\n7;8\n",
        expect![[r#"
            text/csv {"Csv":{"rows":3,"columns":3,"headers":["column_1","column_2","column_3"],"data_types":["Integer","Integer","Integer"],"cardinality_per_column":[3,3,2],"sample_values":[["1","2","3"],["4","5","6"],["7","8"]],"null_counts":[0,0,1]}}
            note: 1 records have another number of fields than the first
            CSV: 3 rows × 3 columns
            Headers: column_1, column_2, column_3
            Data types: [Integer, Integer, Integer]
            High-cardinality columns: column_1, column_2, column_3
            > column_1,column_2,column_3
            1,2,3
            4,5,6
            7,8
        "#]],
    );
    check(
        "a.csv",
        "",
        expect![[r#"
        text/csv {"Csv":{"rows":0,"columns":0,"headers":[],"data_types":[],"cardinality_per_column":[],"sample_values":[],"null_counts":[]}}
        CSV: 0 rows × 0 columns
        Headers: 
        Data types: []
        > 
    "#]],
    );
    check(
        "a.tsv",
        "a\tb\n1\t\"x\ny\"\n",
        expect![[r#"
        text/tab-separated-values {"Csv":{"rows":1,"columns":2,"headers":["a","b"],"data_types":["Integer","String"],"cardinality_per_column":[1,1],"sample_values":[["1","x\ny"]],"null_counts":[0,0]}}
        CSV: 1 rows × 2 columns
        Headers: a, b
        Data types: [Integer, String]
        High-cardinality columns: a, b
        > a,b
        1,"x
        y"
    "#]],
    );
    check(
        "prose.txt",
        "It was cold, wet, and dark.\nThen, at last, it was warm.\n",
        expect![[r#"
        text/plain {"Text":{"lines":2,"words":12,"characters":56,"encoding":"UTF-8","language":null,"structure_hints":"PlainText"}}
        Text file: 2 lines, 12 words
        > It was cold, wet, and dark.
        Then, at last, it was warm.

    "#]],
    );
}

/// A reference to an artifact has statistics that a caller may have made up.
#[test]
fn a_description_does_not_grow_with_the_numbers_that_it_describes() {
    let headings = vec![("x".to_owned(), usize::MAX)];
    let stats = FileStats::Html(HtmlStats { headings, ..HtmlStats::default() });
    let described = describe_stats(&stats);
    assert!(described.ends_with("\n  HHHHHH: x"), "{described}");
}

#[test]
fn html() {
    check(
        "",
        "<!DOCTYPE html><html lang=en><head><title>A &amp; B</title>\
        <meta name=description content='About A'>\
        <script>if (a < b) { '<a href=x>' }</script></head><body><h1>One <b>two</b></h1>\
        <p>Text &eacute; &hellip; <a href=\"/x\">link</a> <img src=a.png> <a name=y>none</a>\
        <!-- <img> --></p><h2>Three</body></html>",
        expect![[r#"
            text/html {"Html":{"title":"A & B","meta_description":"About A","headings":[["One two",1],["Three",2]],"link_count":1,"image_count":1,"script_tags":1,"main_content_length":30,"language":"en"}}
            HTML document: A & B
            1 links, 1 images, 2 headings
            Headings:
              H: One two
              HH: Three
            > A & B
            One twoText é … link noneThree
        "#]],
    );
}

#[test]
fn markdown() {
    check(
        "",
        "---\ntitle: x\n---\n# One\n\nSome **bold**ness [link](a.md) ![img](b.png).\n\n\
        - a\n  - b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn a() {}\n```\n",
        expect![[r#"
            text/markdown {"Markdown":{"headings":[["One",1]],"word_count":11,"code_blocks":1,"links":1,"images":1,"tables":1,"lists":2,"front_matter":"YAML"}}
            Markdown: 11 words, 1 headings, 1 code blocks, 1 tables
            > ---
            title: x
            ---
            # One

            Some **bold**ness [link](a.md) ![img](b.png).

            - a
              - b

            | a | b |
            |---|---|
            | 1 | 2 |

            ```rus…
        "#]],
    );
}

#[test]
fn text_and_logs() {
    check(
        "a.txt",
        "One two\nthree",
        expect![[r#"
        text/plain {"Text":{"lines":2,"words":3,"characters":13,"encoding":"UTF-8","language":null,"structure_hints":"PlainText"}}
        Text file: 2 lines, 3 words
        > One two
        three
    "#]],
    );
    check(
        "",
        "2026-11-25 06:10:00 INFO started\n2026-11-25 06:10:01 WARN slow\n  at trace\n\
        2026-11-25 06:10:02 ERROR failed\n2026-11-25 06:10:03 INFO done\n",
        expect![[r#"
            text/plain {"Text":{"lines":5,"words":18,"characters":137,"encoding":"UTF-8","language":null,"structure_hints":{"LogFile":{"log_level_counts":{"ERROR":1,"INFO":2,"WARN":1}}}}}
            Text file: 5 lines, 18 words
            Log levels: {"ERROR": 1, "INFO": 2, "WARN": 1}
            > 2026-11-25 06:10:00 INFO started
            2026-11-25 06:10:01 WARN slow
              at trace
            2026-11-25 06:10:02 ERROR failed
            2026-11-25 0…
        "#]],
    );
    check(
        "",
        "[server]\nport = 80\nhost = localhost\n",
        expect![[r#"
        text/plain {"Text":{"lines":3,"words":7,"characters":36,"encoding":"UTF-8","language":null,"structure_hints":{"ConfigFile":{"format":"Ini"}}}}
        Text file: 3 lines, 7 words
        Config file: Ini
        > [server]
        port = 80
        host = localhost

    "#]],
    );
    check(
        "",
        "name: x\non:\n  push: {}\njobs: 3\n",
        expect![[r#"
        text/plain {"Text":{"lines":4,"words":7,"characters":31,"encoding":"UTF-8","language":null,"structure_hints":{"ConfigFile":{"format":"Yaml"}}}}
        Text file: 4 lines, 7 words
        Config file: Yaml
        > name: x
        on:
          push: {}
        jobs: 3

    "#]],
    );
}

#[test]
fn configurations() {
    check(
        "",
        "A=1\nB_C=2\nD=\n",
        expect![[r#"
        text/plain {"Text":{"lines":3,"words":3,"characters":13,"encoding":"UTF-8","language":null,"structure_hints":{"ConfigFile":{"format":"Env"}}}}
        Text file: 3 lines, 3 words
        Config file: Env
        > A=1
        B_C=2
        D=

    "#]],
    );
    check(
        "",
        "#!/usr/bin/env python3\nimport os\n\nasync def a(b):\n    def c(): pass\n",
        expect![[r#"
            text/plain {"Text":{"lines":5,"words":10,"characters":68,"encoding":"UTF-8","language":null,"structure_hints":{"CodeFile":{"language":"Python","functions":["a","c"]}}}}
            Text file: 5 lines, 10 words
            Python code: 2 functions
            > #!/usr/bin/env python3
            import os

            async def a(b):
                def c(): pass

        "#]],
    );
    check(
        "a.rs",
        "pub(crate) const fn a() {}\n    pub async fn b<T>() {}\n// fn c\n",
        expect![[r#"
            text/plain {"Text":{"lines":3,"words":13,"characters":62,"encoding":"UTF-8","language":null,"structure_hints":{"CodeFile":{"language":"Rust","functions":["a","b"]}}}}
            Text file: 3 lines, 13 words
            Rust code: 2 functions
            > pub(crate) const fn a() {}
                pub async fn b<T>() {}
            // fn c

        "#]],
    );
    check(
        "a.js",
        "export default function a() {}\nconst b = async (x) => x\nlet c = 3\n",
        expect![[r#"
            text/javascript {"Text":{"lines":3,"words":16,"characters":66,"encoding":"UTF-8","language":null,"structure_hints":{"CodeFile":{"language":"JavaScript","functions":["a","b"]}}}}
            Text file: 3 lines, 16 words
            JavaScript code: 2 functions
            > export default function a() {}
            const b = async (x) => x
            let c = 3

        "#]],
    );
}

#[test]
fn code_in_scripts() {
    check(
        "a.c",
        "static int a(int b) {\n  if (b) {\n  return c(b);\n}\nvoid *d(void)\n",
        expect![[r#"
            text/plain {"Text":{"lines":5,"words":13,"characters":64,"encoding":"UTF-8","language":null,"structure_hints":{"CodeFile":{"language":"C","functions":["a","d"]}}}}
            Text file: 5 lines, 13 words
            C code: 2 functions
            > static int a(int b) {
              if (b) {
              return c(b);
            }
            void *d(void)

        "#]],
    );
    check(
        "a.go",
        "func (s *T) A() {\nfunc B() {\n",
        expect![[r#"
        text/plain {"Text":{"lines":2,"words":8,"characters":29,"encoding":"UTF-8","language":null,"structure_hints":{"CodeFile":{"language":"Go","functions":["A","B"]}}}}
        Text file: 2 lines, 8 words
        Go code: 2 functions
        > func (s *T) A() {
        func B() {

    "#]],
    );
    check(
        "",
        b"\xff\xfeh\0i\0\n\0",
        expect![[r#"
        text/plain {"Text":{"lines":1,"words":1,"characters":3,"encoding":"UTF-16LE","language":null,"structure_hints":"PlainText"}}
        Text file: 1 lines, 1 words
        > hi

    "#]],
    );
    check(
        "",
        b"caf\xe9 cr\xe8me br\xfbl\xe9e\n",
        expect![[r#"
        text/plain {"Text":{"lines":1,"words":3,"characters":18,"encoding":"windows-1252","language":null,"structure_hints":"PlainText"}}
        Text file: 1 lines, 3 words
        > café crème brûlée

    "#]],
    );
    check(
        "a.xml",
        "<?xml version=\"1.0\"?><a/>",
        expect![[r#"
        text/xml {"Text":{"lines":1,"words":2,"characters":25,"encoding":"UTF-8","language":null,"structure_hints":{"ConfigFile":{"format":"Xml"}}}}
        Text file: 1 lines, 2 words
        Config file: Xml
        > <?xml version="1.0"?><a/>
    "#]],
    );
}

#[test]
fn code_by_name() {
    check(
        "",
        "The quick brown fox jumps over the lazy dog, and the dog does not mind it at all today.\n",
        expect![[r#"
            text/plain {"Text":{"lines":1,"words":19,"characters":88,"encoding":"UTF-8","language":"eng","structure_hints":"PlainText"}}
            Text file: 1 lines, 19 words
            > The quick brown fox jumps over the lazy dog, and the dog does not mind it at all today.

        "#]],
    );
}

#[test]
fn images_and_modules() {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20\x08\x06\0\0\0".to_vec();
    png.extend([0; 8]);
    check(
        "a.png",
        &png,
        expect![[r#"
        image/png {"Binary":{"format":"PNG","metadata":{"animated":"false","bit_depth":"8","color_type":"RGB with alpha","height":"32","width":"16"}}}
        Binary file: PNG format
        Metadata: {"animated": "false", "bit_depth": "8", "color_type": "RGB with alpha", "height": "32", "width": "16"}
        > PNG: animated: false, bit_depth: 8, color_type: RGB with alpha, height: 32, width: 16
    "#]],
    );
    check(
        "",
        b"\0\x01\x02\x03 nothing",
        expect![[r#"
        application/octet-stream {"Binary":{"format":"unknown","metadata":{}}}
        Binary file: unknown format
        Metadata: {}
        > unknown
    "#]],
    );
    check(
        "a.png",
        b"\x89PNG\r\n\x1a\n",
        expect![[r#"
        image/png {"Binary":{"format":"PNG","metadata":{}}}
        note: the headers are not those of image/png
        Binary file: PNG format
        Metadata: {}
        > PNG
    "#]],
    );
    check(
        "",
        b"\0asm\x01\0\0\0\x01\x04abcd\x0a\x02ab\0\x01x\0\x01y",
        expect![[r#"
        application/wasm {"Binary":{"format":"WebAssembly","metadata":{"sections":"custom (2), type, code","version":"1"}}}
        Binary file: WebAssembly format
        Metadata: {"sections": "custom (2), type, code", "version": "1"}
        > WebAssembly: sections: custom (2), type, code, version: 1
    "#]],
    );
    check(
        "",
        b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0",
        expect![[r#"
        application/zip {"Binary":{"format":"ZIP","metadata":{}}}
        note: the headers are not those of application/zip
        Binary file: ZIP format
        Metadata: {}
        > ZIP
    "#]],
    );
    let mut gzip = b"\x1f\x8b\x08\x08\x10\0\0\0\0\x03name.txt\0xxxxxxxx".to_vec();
    gzip.extend(1_234_u32.to_le_bytes());
    check(
        "",
        &gzip,
        expect![[r#"
        application/gzip {"Binary":{"format":"gzip","metadata":{"modified":"16","name":"name.txt","uncompressed_size":"1234"}}}
        Binary file: gzip format
        Metadata: {"modified": "16", "name": "name.txt", "uncompressed_size": "1234"}
        > gzip: modified: 16, name: name.txt, uncompressed_size: 1234
    "#]],
    );
}

#[test]
fn archives_and_documents() {
    check(
        "",
        b"%PDF-1.7\n\
        1 0 obj << /Type /Pages >> 2 0 obj << /Type /Page >> << /Type/Page/X >> /Title (Report)",
        expect![[r#"
            application/pdf {"Binary":{"format":"PDF","metadata":{"encrypted":"false","linearized":"false","pages":"2","title":"Report","version":"1.7"}}}
            Binary file: PDF format
            Metadata: {"encrypted": "false", "linearized": "false", "pages": "2", "title": "Report", "version": "1.7"}
            > PDF: encrypted: false, linearized: false, pages: 2, title: Report, version: 1.7
        "#]],
    );
}

/// Compares two analyses, and reports only a part of a long difference.
fn assert_same(one: &ContentAnalysis, other: &ContentAnalysis) -> Result<(), TestCaseError> {
    let shown = |analysis: &ContentAnalysis| {
        let text = format!("{:?} {:?} {:?}", analysis.stats, analysis.notes, analysis.preview);
        text.chars().collect::<Vec<_>>()
    };
    if one == other {
        return Ok(());
    }
    let (one, other) = (shown(one), shown(other));
    let at = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let part =
        |text: &[char]| text.iter().skip(at.saturating_sub(100)).take(200).collect::<String>();
    Err(TestCaseError::fail(format!("{}\n{}", part(&one), part(&other))))
}

fn any_content() -> impl Strategy<Value = (String, Vec<u8>)> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\\u00e9",
        "\\ud83d",
        "\n",
        "a,b\n",
        "\"x, y\"",
        "1.5e3",
        "true",
        "null",
        "<p>",
        "<a href='x'>",
        "</a>",
        "&amp;",
        "&#233;",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "# H\n",
        "```\n",
        "é",
        "日本",
        "- ",
        "| a |\n",
        "\0",
        " ",
        "word",
        "2026-11-25 10:00 INFO x\n",
        "fn a() {\n",
        "k = 1\n",
        "\r\n",
        "\u{feff}",
    ]);
    let texts = prop::collection::vec(pieces, 0..80).prop_map(|parts| parts.concat().into_bytes());
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let magic = prop::sample::select(vec![
        &b""[..],
        b"\x89PNG\r\n\x1a\n",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"\0asm\x01\0\0\0",
        b"%PDF-1.4",
        b"PAR1",
        b"SQLite format 3\0",
        b"\x7fELF\x02\x01",
        b"RIFF\0\0\0\0WAVE",
        b"\xff\xfe",
        b"ID3",
    ]);
    let binary = (magic, bytes).prop_map(|(magic, rest)| [magic, &rest].concat());
    let names = ["", "a.json", "a.jsonl", "a.csv", "a.html", "a.md", "a.txt", "a.rs", "a.log"];
    let names = prop::sample::select(names.to_vec()).prop_map(ToOwned::to_owned);
    (names, prop_oneof![4 => texts, 1 => binary], 0_usize..3).prop_map(
        |(name, content, repeats)| {
            // Some are longer than the head from which the type is detected.
            let n_copies = [1, 40, 3_000][repeats];
            (name, content.repeat(n_copies))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn chunks_do_not_matter(
        (name, content) in any_content(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = analyze(&name, &content);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(content.len() + 1)).collect();
        cuts.push(content.len());
        cuts.sort_unstable();
        let mut analyzer = ContentAnalyzer::new(&name);
        let mut from = 0;
        for cut in cuts {
            analyzer.push(&content[from..cut]);
            from = cut;
        }
        assert_same(&analyzer.finish(), &whole)?;
        if content.len() < 2_000 {
            let mut analyzer = ContentAnalyzer::new(&name);
            for byte in &content {
                analyzer.push(std::slice::from_ref(byte));
            }
            assert_same(&analyzer.finish(), &whole)?;
        }
        let stored = serde_json::to_string(&(&whole.stats, &whole.preview)).unwrap();
        let read: (FileStats, ContentPreview) = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        for limit in [0, 1, 10, 300, 2_000] {
            prop_assert!(whole.preview(PreviewLimit::Characters(limit)).chars().count() <= limit);
            prop_assert!(whole.preview(PreviewLimit::Bytes(limit)).len() <= limit);
        }
    }
}

/// Returns the names and types of the columns, and the number of rows.
fn table_of(name: &str, content: &[u8]) -> String {
    match analyze(name, content).stats {
        FileStats::Csv(table) => {
            let columns = table.headers.iter().zip(&table.data_types);
            let columns: Vec<String> =
                columns.map(|(header, data_type)| format!("{header}:{data_type:?}")).collect();
            format!("{} rows, {}", table.rows, columns.join(" "))
        }
        _ => "no table".to_owned(),
    }
}

/// A first record with an empty name, a repeated name, a year or a yes was a row of data.
#[test]
fn the_first_record_of_a_table_names_its_columns() {
    let cases = [
        (",name,n\n0,Ann,1\n1,Bo,2\n", "2 rows, column_1:Integer name:String n:Integer"),
        ("day,open,open\n2020-01-01,1,2\n", "1 rows, day:Date open:Integer open_3:Integer"),
        ("name,age,\nann,3,\nbo,4,\n", "2 rows, name:String age:Integer column_3:Empty"),
        ("name,note,note\nann,x,y\nbo,z,\n", "2 rows, name:String note:String note_3:String"),
        ("country,2019,2020\nA,1,2\nB,3,4\n", "2 rows, country:String 2019:Integer 2020:Integer"),
        ("country,2019\nA,1\nB,3\n", "2 rows, country:String 2019:Integer"),
        ("id,yes,no\n1,3,4\n2,5,6\n", "2 rows, id:Integer yes:Integer no:Integer"),
        (",0,1\n0,5.5,6\n1,7,8\n", "2 rows, column_1:Integer 0:Float 1:Integer"),
        ("Musei,2011,2010\nA,23.8,17\n", "1 rows, Musei:String 2011:Float 2010:Integer"),
        ("id,1,2\nname,ann,bob\nage,4,5\n", "2 rows, id:String 1:String 2:String"),
        (
            "150,4,small,mid,large\n5.1,3,1.4,1,0\n4.9,3,1.4,2,1\n",
            "2 rows, 150:Float 4:Integer small:Float mid:Integer large:Integer",
        ),
        ("a,b\nx,y\na,b\nz,w\n", "3 rows, a:String b:String"),
        ("Rb,Na\n1.2,0.3\n1.1,0.2\n", "2 rows, Rb:Float Na:Float"),
        ("x,0,1\n0,5.5,6\n1,7,8\n", "2 rows, x:Integer 0:Float 1:Integer"),
        ("when,yes\n2020-01-01,1\n", "1 rows, when:Date yes:Integer"),
        // Data from the first record on.
        ("1,2,3\n4,5,6\n", "2 rows, column_1:Integer column_2:Integer column_3:Integer"),
        ("5.1,NA,3\n4.9,3.0,1\n", "2 rows, column_1:Float column_2:Float column_3:Integer"),
        ("CA,01,x\nNY,02,y\n", "2 rows, column_1:String column_2:String column_3:String"),
        (
            "ford,1999,2000\naudi,2001,2002\n",
            "2 rows, column_1:String column_2:Integer column_3:Integer",
        ),
        ("Adelie,Biscoe\nGentoo,Dream\nAdelie,Dream\n", "3 rows, column_1:String column_2:String"),
        ("Tom,1990\nBob,1985\n", "2 rows, column_1:String column_2:Integer"),
        ("2020-01-01,1\n2020-01-02,2\n", "2 rows, column_1:Date column_2:Integer"),
        ("ann,,x\nann,y,x\nann,,x\n", "3 rows, column_1:String column_2:String column_3:String"),
    ];
    for (content, expected) in cases {
        assert_eq!(table_of("a.csv", content.as_bytes()), expected, "{content:?}");
    }
}

/// Zip codes were integers, which lose their zeros.
#[test]
fn digits_with_leading_zeros_are_text() {
    let cases = [
        ("city,zip\nBoston,02108\nAustin,73301\n", "2 rows, city:String zip:String"),
        ("id,share\n0,0.5\n10,0\n", "2 rows, id:Integer share:Float"),
        ("id,code\n1,007.5\n", "1 rows, id:Integer code:String"),
        // Spaces around a number are no part of it, and a word for a missing value is no value.
        ("x,  y\n 1.5,  2\n10.0, 30\n", "2 rows, x:Float y:Integer"),
        ("n,d,s\n1,2020-01-01,NA\nNA,?,b\nnull,,c\n", "3 rows, n:Integer d:Date s:String"),
        ("n\nNA\nNA\n", "2 rows, n:String"),
        ("n\n.5\n-0\ninf\n1e-3\n", "4 rows, n:Float"),
    ];
    for (content, expected) in cases {
        assert_eq!(table_of("a.csv", content.as_bytes()), expected, "{content:?}");
    }
}

/// What stands before a table was its header, or the table was one column of text.
#[test]
fn tables_of_the_field_are_read_as_they_are() {
    let cases = [
        // Titles, remarks, and records that are empty but for delimiters.
        ("a.csv", "# a remark!\nid,name\n1,x\n2,y\n", "2 rows, id:Integer name:String"),
        ("a.csv", "\n\nid,name\n1,x\n", "1 rows, id:Integer name:String"),
        (
            "a.csv",
            ",,,\nBy State During FY 2010,,,\nState,Code,n,m\nOhio,OH,1,2\nIowa,IA,3,4\n",
            "2 rows, State:String Code:String n:Integer m:Integer",
        ),
        // A record with one value is no title if there are others.
        (
            "a.csv",
            "a.pyc,,\nb.py,x1,4\nRECORD,,\nc.py,x2,5\nd.py,x3,6\n",
            "5 rows, column_1:String column_2:String column_3:Integer",
        ),
        (
            "a.csv",
            "3,2,a\n1,2,3,4,5\n6,7,8,9,0\n",
            "2 rows, column_1:Integer column_2:Integer \
          column_3:Integer column_4:Integer column_5:Integer",
        ),
        // R writes names of rows without a name of their column.
        (
            "a.csv",
            "\"Weight\",\"Feed\"\n\"1\",26.5,NA\n\"2\",27.5,5.2\n",
            "2 rows, column_1:Integer Weight:Float Feed:Float",
        ),
        ("a.csv", "x\nr1,5\nr2,6\n", "2 rows, column_1:String x:Integer"),
        ("a.csv", "# x\n5,1\n6,2\n", "2 rows, column_1:Integer column_2:Integer"),
        // Spaces, tabs in a name that promises commas, single quotes.
        ("a.csv", "t status Rx\n35 0 1.5\n34 1 0\n", "2 rows, t:Integer status:Integer Rx:Float"),
        ("a.csv", "t s\nr1 35 0\nr2 34 1\n", "2 rows, column_1:String t:Integer s:Integer"),
        ("a.csv", "# by\nid,x\n1,5\n# by\n2,6\n", "3 rows, id:String x:Integer"),
        ("a.csv", "name\nAnn Lee\nBo Ray\n", "2 rows, name:String"),
        ("a.csv", "full name\nAnn Lee\nBo Ray\n", "2 rows, full name:String"),
        ("a.csv", "'a'\t'b'\n0\t7\n190\t1\n", "2 rows, a:Integer b:Integer"),
        ("a.tab", "a,x\tb\n1,5\t2\n", "1 rows, a,x:String b:Integer"),
        // Records of any length.
        (
            "a.csv",
            "id,name,,name\n1,x\n1,x\n2,y,1,2,3\n",
            "3 rows, id:Integer name:String \
          column_3:Integer name_4:Integer",
        ),
    ];
    for (name, content, expected) in cases {
        assert_eq!(table_of(name, content.as_bytes()), expected, "{content:?}");
    }
}

/// A file with a name of JSON that is none was text without a word.
#[test]
fn a_note_says_where_a_text_is_no_json() {
    let cases = [
        (
            "a.json",
            "{\"a\": 1,\n \"ä\": x}",
            "not JSON at line 2, column 7: a value is missing; described as text",
        ),
        (
            "a.ipynb",
            "{\"a\": 1,}",
            "not JSON at line 1, column 9: a key is missing; described as text",
        ),
        (
            "a.jsonl",
            "{}\n{}\n{]\n",
            "not JSON at line 3, column 2: a key is missing; described as text",
        ),
        (
            "a.json",
            "[1,\n2",
            "not JSON at line 2, column 2: the text ends early; the statistics are of what comes before",
        ),
        ("a.json", " \n", "not JSON: empty; described as text"),
    ];
    for (name, content, expected) in cases {
        assert_eq!(analyze(name, content.as_bytes()).notes, [expected], "{content:?}");
    }
    let long = format!("[{}\n1 2]", "\"é\",\n".repeat(50_000));
    let notes = analyze("a.json", long.as_bytes()).notes;
    assert!(notes[0].starts_with("not JSON at line 50002, column 3: "), "{notes:?}");
    for (name, content) in [("a.json", "{} {}"), ("a.jsonl", ""), ("a.txt", "{\"a\": 1,}")] {
        assert_eq!(analyze(name, content.as_bytes()).notes, [""; 0], "{content:?}");
    }
}

/// Lines that end with a delimiter were a table of two columns, one of them empty.
#[test]
fn verses_and_statements_are_no_table() {
    for (name, text) in [
        ("poem.txt", "Roses are red,\nViolets are blue,\nSugar is sweet,\n"),
        ("q.txt", "SELECT 1;\nSELECT 2;\n"),
        ("snippet", "const a = 1;\nlet b = 2;\n"),
    ] {
        assert_eq!(analyze(name, text.as_bytes()).media_type, "text/plain", "{name}");
    }
    // A table whose last column has gaps, or that has a delimiter behind its last column.
    for text in ["a,b\n1,\n2,3\n", "a,b,\n1,2,\n3,4,\n"] {
        assert_eq!(analyze("t", text.as_bytes()).media_type, "text/csv", "{text:?}");
    }
}
