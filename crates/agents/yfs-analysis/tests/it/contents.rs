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
