//! Queries of JSON: results, and hostile programs that must not harm the caller.

use std::{env, process::ExitCode, sync::Arc, time::Duration};

use expect_test::expect;
use serde_json::json;
use yfs_agent::{
    AgentSession, CallContext, ToolCatalog, ToolVocabulary,
    json_query::{DocumentFormat, JsonQuery, JsonQueryLimits, JsonQueryRunner, QueryDialect},
};
use yfs_analysis::{FileStats, analyze};
use yfs_query_worker::{run_query_here, serve_json_query};
use yfs_types::actor::{Actor, ActorKind};
use yfs_vfs::{FileSystemExt, MemoryFs};

/// The argument with which this program runs a query, and does not test.
const SERVE: &str = "serve-json-query";

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(SERVE) {
        return ExitCode::from(serve_json_query());
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(check_results());
    runtime.block_on(check_hostile_queries());
    #[cfg(unix)]
    runtime.block_on(check_dropped_query());
    check_documents();
    check_jql();
    check_sql();
    #[cfg(feature = "parquet")]
    {
        check_parquet();
        runtime.block_on(check_damaged_parquet());
    }
    ExitCode::SUCCESS
}

/// The process of a query ends when its caller stops waiting: it holds a named pipe open, which
/// ends with it.
#[cfg(unix)]
async fn check_dropped_query() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let script = "exec 3> \"$1\"; echo begun >&3; while :; do :; done";
    let name = pipe.to_str().expect("UTF-8").to_owned();
    let arguments = ["-c", script, "sh", &name].map(str::to_owned).to_vec();
    let runner = JsonQueryRunner { arguments, ..JsonQueryRunner::new("/bin/sh", "") };
    let query = tokio::spawn(async move {
        let cancel = yfs_vfs::CancellationToken::new();
        runner.run(JsonQuery::default(), "1".into(), &cancel).await
    });
    let opened = tokio::task::spawn_blocking(move || {
        let mut reader = std::io::BufReader::new(std::fs::File::open(pipe).expect("opened"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).expect("read");
        assert_eq!(line, "begun\n");
        reader
    });
    let mut reader = opened.await.expect("no panic");
    query.abort();
    let ended = tokio::task::spawn_blocking(move || {
        std::io::Read::read_to_string(&mut reader, &mut String::new()).expect("the pipe ends")
    });
    assert_eq!(ended.await.expect("no panic"), 0);
}

async fn run(document: &str, query: &str, limits: JsonQueryLimits) -> String {
    let fs = MemoryFs::new();
    fs.write_text(&"/d.json".parse().expect("a path"), document).await.expect("written");
    let program = env::current_exe().expect("this program");
    let runner = JsonQueryRunner { limits, ..JsonQueryRunner::new(program, SERVE) };
    let actor = Actor::new(ActorKind::Agent, "bob");
    let session = AgentSession::builder(Arc::new(fs), actor).json_query(runner).build();
    let catalog = ToolCatalog::new(&[ToolVocabulary::Beyond]).expect("names differ");
    let arguments = json!({"path": "/d.json", "query": query});
    let called = catalog.call_tool(&session, "query", arguments, CallContext::default());
    called.await.expect("a tool").joined_text()
}

async fn check_results() {
    let document =
        r#"{"items": [{"name": "a", "size": 3}, {"name": "b", "size": 30}]} {"items": []}"#;
    let limits = JsonQueryLimits::default();
    let mut printed = String::new();
    for query in [
        ".items[] | select(.size > 10) | .name",
        ".items | length",
        "[.items[].size] | add",
        ".items[",
        ".items.x",
        "none",
        r#"include "x"; ."#,
        "env | length",
        "$ENV | length",
    ] {
        let text = run(document, query, limits).await;
        printed.push_str(&format!("> {query}\n{text}\n"));
    }
    expect![[r#"
        > .items[] | select(.size > 10) | .name
        "b"

        > .items | length
        2
        0

        > [.items[].size] | add
        33
        null

        > .items[
        Error: the query is malformed: expected closing bracket at the end of the query
        > .items.x
        Error: cannot index [{"name":"a","size":3},{"name":"b","size":30}] with "x"
        > none
        Error: the query is malformed: undefined filter none
        > include "x"; .
        Error: the query is malformed: x: module loading not supported
        > env | length
        0
        0

        > $ENV | length
        Error: the query is malformed: undefined variable $ENV
    "#]]
    .assert_eq(&printed);
    expect!["Error: the document is not JSON at line 1, column 2: a key is missing"]
        .assert_eq(&run("{nonsense", ".", limits).await);
}

/// Programs without end, without bottom and without bound. Each is ended by a limit that the kernel
/// enforces.
async fn check_hostile_queries() {
    let limits = JsonQueryLimits {
        cpu_time: Duration::from_secs(1),
        max_memory: 256 << 20,
        max_output_len: 10_000,
        ..JsonQueryLimits::default()
    };
    for query in [
        "def f: f; f",
        "def f: 1 + f; f",
        "[range(1e12)]",
        "\"a\" * 1e12 | length",
        "reduce range(100) as $x (\"a\"; . + .) | length",
        "reduce range(100) as $x (1; [., .]) | tojson | length",
        "reduce range(1e7) as $x (1; [.])",
    ] {
        let text = run("1", query, limits).await;
        assert!(text.starts_with("Error: "), "{query}: {text}");
    }
    let text = run("1", "repeat(1)", limits).await;
    assert!(text.ends_with("[results truncated, make the query more specific]"), "{text}");
    assert!(text.len() < 11_000);
}

fn run_here(dialect: QueryDialect, format: DocumentFormat, document: &[u8], query: &str) -> String {
    let text = query.to_owned();
    let query = JsonQuery { text, dialect, format, slurp: false, raw: false };
    match run_query_here(&query, document, 100_000) {
        Ok(results) => String::from_utf8(results).expect("results are UTF-8").trim_end().to_owned(),
        Err(reason) => format!("Error: {reason}"),
    }
}

fn check_documents() {
    let read = |format, document: &str| {
        run_here(QueryDialect::Jq, format, document.as_bytes(), ".").replace('\n', " ")
    };
    let csv = |document: &str| read(DocumentFormat::Csv, document);
    assert_eq!(csv(""), "");
    assert_eq!(csv("a,b\n"), "");
    assert_eq!(csv("\u{feff}a,b\n1,\"x, y\"\n"), r#"{"a":1,"b":"x, y"}"#);
    assert_eq!(csv("a,a,\n-1.5e3,0x1,01\r\n"), r#"{"a":-1.5e3,"a_2":"0x1","column_3":"01"}"#);
    // Rows may be shorter and longer than the first one.
    assert_eq!(csv("a,b\n1\n1,2,3\n"), r#"{"a":1,"b":null} {"a":1,"b":2,"column_3":3}"#);
    assert_eq!(csv("a|b\n1|2\n"), r#"{"a":1,"b":2}"#);
    let long = format!("a,b\n{},1\n", "x".repeat(100_000));
    let cut = run_here(QueryDialect::Jq, DocumentFormat::Csv, long.as_bytes(), ".a | length");
    assert_eq!(cut, "100000");
    let yaml = |document: &str| read(DocumentFormat::Yaml, document);
    assert_eq!(
        yaml("a: 1\nb: [x, ~, true, '1', 1.5, .5, +3, 0o17, 1_0]"),
        r#"{"a":1,"b":["x",null,true,"1",1.5,0.5,3,15,"1_0"]}"#
    );
    assert_eq!(yaml("a: &x [1]\nb: *x\n--- 2\n---\n"), r#"{"a":[1],"b":[1]} 2 null"#);
    assert!(yaml("a: *none").starts_with("Error: the document is not YAML"));
    assert!(yaml("a: [1").starts_with("Error: the document is not YAML"));
    let invalid = run_here(QueryDialect::Jq, DocumentFormat::Yaml, b"a: \xff", ".");
    assert_eq!(invalid, "{\"a\":\"ÿ\"}");
    check_encodings();
    check_headers();
}

/// The first row was always taken for names, and cells of one column were numbers and text by
/// turns: a query decides as the statistics of the file do.
fn check_headers() {
    let read = |format, document: &[u8]| run_here(QueryDialect::Jq, format, document, ".");
    let csv = |document: &str| read(DocumentFormat::Csv, document.as_bytes());
    assert_eq!(
        csv("1,2\n3,4\n"),
        "{\"column_1\":1,\"column_2\":2}\n{\"column_1\":3,\"column_2\":4}"
    );
    assert_eq!(csv("#by ann\nid,x\n1,5\n2,6\n"), "{\"id\":1,\"x\":5}\n{\"id\":2,\"x\":6}");
    assert_eq!(
        csv("a,b\nr1,1,2\nr2,3,4\n"),
        "{\"column_1\":\"r1\",\"a\":1,\"b\":2}\n\
        {\"column_1\":\"r2\",\"a\":3,\"b\":4}"
    );
    assert_eq!(
        csv("city,zip\nBoston,02108\nAustin,73301\n"),
        "{\"city\":\"Boston\",\"zip\":\"02108\"}\n{\"city\":\"Austin\",\"zip\":\"73301\"}"
    );
    assert_eq!(csv("x,  y\n 1.5,  a \n"), "{\"x\":1.5,\"y\":\"  a \"}");
    assert_eq!(read(DocumentFormat::Tsv, b"a,x\tb\n1,5\t2\n"), "{\"a,x\":\"1,5\",\"b\":2}");
    let json = read(DocumentFormat::Json, b"{\"a\": 1,\n \"b\": x}");
    assert_eq!(json, "Error: the document is not JSON at line 2, column 7: a value is missing");
    for document in TABLES {
        let FileStats::Csv(stats) = analyze("a.csv", document.as_bytes()).stats else {
            panic!("a table");
        };
        let rows =
            run_here(QueryDialect::Jq, DocumentFormat::Csv, document.as_bytes(), "keys_unsorted");
        let rows: Vec<Vec<String>> =
            rows.lines().map(|line| serde_json::from_str(line).expect("a list of names")).collect();
        assert_eq!(rows.len(), stats.rows, "{document:?}");
        assert!(rows.iter().all(|names| *names == stats.headers), "{document:?}: {rows:?}");
    }
}

/// Tables whose headers were missed by statistics or by queries.
const TABLES: &[&str] = &[
    "1,2\n3,4\n",
    ",name,n\n0,Ann,1\n1,Bo,2\n",
    ",0,1\n0,5.5,6\n1,7,8\n",
    "day,open,open\n2020-01-01,1,2\n",
    "country,2019,2020\nA,1,2\nB,3,4\n",
    "id,yes,no\n1,3,4\n2,5,6\n",
    "name,age,\nann,3,\nbo,4,\n",
    "a title\n\nid;x\n1;2\n3;4\n",
    "\"w\",\"f\"\n\"1\",26.5,NA\n\"2\",27.5,5.2\n",
    "t s\n35 0\n34 1\n",
    "'a'\t'b'\n0\t7\n190\t1\n",
    "x\n1\n",
    "",
];

/// Tables in Latin-1 and UTF-16 were read as UTF-8, with status 0; statistics decoded them.
fn check_encodings() {
    let read = |format, document: &[u8]| run_here(QueryDialect::Jq, format, document, ".");
    let utf16 = |text: &str, mark: &[u8]| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        mark.iter().copied().chain(units).collect::<Vec<u8>>()
    };
    let latin = b"name;ort\nJ\xf6rg;K\xf6ln\nM\xfcller;D\xfcren\n";
    assert_eq!(
        read(DocumentFormat::Csv, latin),
        "{\"name\":\"Jörg\",\"ort\":\"Köln\"}\n{\"name\":\"Müller\",\"ort\":\"Düren\"}"
    );
    let table = "a;b\n1;é\n";
    for mark in [&b"\xff\xfe"[..], b""] {
        assert_eq!(read(DocumentFormat::Csv, &utf16(table, mark)), "{\"a\":1,\"b\":\"é\"}");
    }
    assert_eq!(read(DocumentFormat::Tsv, &utf16("a\n1\n", b"\xff\xfe")), "{\"a\":1}");
    assert_eq!(read(DocumentFormat::Json, b"{\"a\":\"\xe9t\xe9\"}"), "{\"a\":\"été\"}");
    assert_eq!(read(DocumentFormat::Json, &utf16("[1]", b"\xff\xfe")), "[1]");
    let bytes = read(DocumentFormat::Csv, b"a,b\n\x00\x01\x02\x03\x00,\xff\n");
    assert!(bytes.starts_with("Error: the document is not text"), "{bytes}");
    // The delimiter is that of the statistics.
    assert_eq!(
        read(DocumentFormat::Csv, b"a;b,c;d\n1;2,5;3\n2;3,5;4\n"),
        "{\"a\":1,\"b,c\":\"2,5\",\"d\":3}\n{\"a\":2,\"b,c\":\"3,5\",\"d\":4}"
    );
}

/// The cases are those of the tests of `jql-runner` 9, whose results are the reference.
fn check_jql() {
    let cases = [
        (r#"{"a": 1, "b": 2}"#, r#""a","b""#, "[1,2]"),
        (r#"{"a": {"b": 2}}"#, r#""a""b""#, "2"),
        (r#"["a", "b", "c", "d", "e"]"#, "[4,2,0]", r#"["e","c","a"]"#),
        (r#"{"a": [{"b": {"c": 1}}, {"b": {"c": 2}}]}"#, r#""a"|>"b""c"<|[1]"#, "2"),
        (r#"{"a": [1, 2, 3]}"#, r#""a"!"#, "[]"),
        (r#"{"a": {"b": 1}}"#, r#""a"!"#, "{}"),
        (r#"{"a": true}"#, r#""a"!"#, "true"),
        (r#"{"a": null}"#, "!", "{}"),
        (
            r#"[{"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}]"#,
            r#"|={"a""b""c"=2}"#,
            r#"[{"a":{"b":{"c":2}}}]"#,
        ),
        (r#"{"a": {"b": {"c": {"d": 1}}}}"#, r#""a""b""c"@"#, r#"["d"]"#),
        (r#"["a", "b", "c"]"#, "@", "[0,1,2]"),
        (r#"["a", "b", "c"]"#, "[0]", r#""a""#),
        (r#"["a", "b", "c", "d", "e"]"#, "[1:3]", r#"["b","c","d"]"#),
        (r#"["a", "b", "c", "d", "e"]"#, "[3:1]", r#"["d","c","b"]"#),
        (r#"["a", "b", "c", "d", "e"]"#, "[3:]", r#"["d","e"]"#),
        (r#"["a", "b", "c", "d", "e"]"#, "[:1]", r#"["a","b"]"#),
        ("[]", "[0:2]", "[]"),
        (r#"[["a"], [["b", ["c"]], ["d"], "e"], ["f"]]"#, "..", r#"["a","b","c","d","e","f"]"#),
        (
            r#"{"a": {"c": false}, "b": {"d": {"e": {"f": 1}}}}"#,
            "..",
            r#"{"a.c":false,"b.d.e.f":1}"#,
        ),
        (r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"c","a"}"#, r#"{"c":3,"a":1}"#),
        (r#"{"a": 1, "b": 2, "c": 3}"#, "{2,0}", r#"{"c":3,"a":1}"#),
        (r#"{"a": 1, "b": 2, "c": 3}"#, "{1:2}", r#"{"b":2,"c":3}"#),
        (r#"{"a": 1, "b": 2, "c": 3}"#, "{2:1}", r#"{"c":3,"b":2}"#),
        (r#"[{"a": "x"}, {"a": "y"}, {"b": 1}]"#, r#"|={"a"="y"}"#, r#"[{"a":"y"}]"#),
        (r#"[{"a": null}, {"b": 1}]"#, r#"|={"a"=null}"#, r#"[{"a":null}]"#),
        (r#"[{"a": 1}, {"b": 1}]"#, r#"|={"b"}"#, r#"[{"b":1}]"#),
        (r#"{"a": 1}"#, r#""b""#, r#"Error: there is no key "b" in {"a":1}"#),
        (r#"["a"]"#, "[1]", r#"Error: there is no element 1 in ["a"]"#),
        (r#"["a"]"#, "[0:4]", r#"Error: the range 0:4 is not in ["a"]"#),
        ("1", "..", "Error: 1 has nothing to flatten"),
        ("1", r#""a""#, "Error: 1 is not an object"),
        (r#"{"a": 1}"#, r#""a"|>"b""#, "Error: 1 is not an array"),
        ("[1]", "<|", "Error: there is no |> before <|"),
        ("[1]", " ", "Error: the query is empty"),
        // Several values are an array.
        ("1 2", "[1]", "2"),
    ];
    for (document, query, expected) in cases {
        let format = DocumentFormat::Json;
        let found = run_here(QueryDialect::Jql, format, document.as_bytes(), query);
        assert_eq!(found, expected, "{query} over {document}");
    }
    let malformed = run_here(QueryDialect::Jql, DocumentFormat::Json, b"{}", r#""a"b"#);
    assert!(malformed.starts_with("Error: the query is malformed"), "{malformed}");
}

fn check_sql() {
    let run = |document: &str, query: &str| {
        run_here(QueryDialect::Sql, DocumentFormat::Json, document.as_bytes(), query)
            .replace('\n', " ")
    };
    let rows = r#"{"a": 1, "b": "x"} {"A": 2, "c": [1, {"d": null}]} 7 [{"a": true}, null]"#;
    assert_eq!(
        run(rows, "SELECT a, b, c, value FROM data"),
        concat!(
            r#"{"a":1,"b":"x","c":null,"value":null} "#,
            r#"{"a":2,"b":null,"c":"[1,{\"d\":null}]","value":null} "#,
            r#"{"a":null,"b":null,"c":null,"value":7} "#,
            r#"{"a":1,"b":null,"c":null,"value":null} "#,
            r#"{"a":null,"b":null,"c":null,"value":null}"#,
        )
    );
    assert_eq!(run(rows, "SELECT sum(a) / 2.0 AS half FROM data"), r#"{"half":2.0}"#);
    assert_eq!(run("", "SELECT count(*) AS n FROM data"), r#"{"n":0}"#);
    let strange = r#"{"a \" b": 1, "": 2, "select": 3}"#;
    assert_eq!(run(strange, "SELECT * FROM data"), r#"{"a \" b":1,"":2,"select":3}"#);
    // None changes anything, and none opens a file.
    for query in [
        "DELETE FROM data",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "PRAGMA journal_mode = wal",
        "WITH x AS (SELECT 1) DELETE FROM data",
        "SELECT 1; DROP TABLE data",
        "SELECT load_extension('x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('x', 'y')",
        "SELECT * FROM other",
        "",
    ] {
        let found = run("{\"a\": 1}", query);
        assert!(found.starts_with("Error: "), "{query}: {found}");
    }
    let wide: String = (0..3_000).map(|at| format!("\"c{at}\": 1,")).collect();
    let wide = run(&format!("{{{wide}\"end\": 1}}"), "SELECT * FROM data");
    assert_eq!(wide, "Error: the table has more than 2000 columns");
}

/// Returns the files of `fixtures/parquet`, which another program has written: the same rows in two
/// row groups, with each codec.
#[cfg(feature = "parquet")]
fn parquet_files() -> Vec<Vec<u8>> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/parquet");
    let files = std::fs::read_dir(directory).expect("a directory");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        std::fs::read(file.expect("an entry").path()).expect("a file")
    };
    files.map(read).collect()
}

#[cfg(feature = "parquet")]
fn check_parquet() {
    let files = parquet_files();
    let run = |file: &[u8], dialect, query| run_here(dialect, DocumentFormat::Parquet, file, query);
    let columns = "keys_unsorted, [.[]][:4], [.[]][4:]";
    let rows = files.iter().map(|file| run(file, QueryDialect::Jq, columns)).collect::<Vec<_>>();
    assert!(rows.len() == 4 && rows.iter().all(|other| *other == rows[0]), "{rows:#?}");
    expect![[r#"
        ["gauge","place","installed","readings","level","active","since","raw"]
        ["G1","pier",2019,1099511627776]
        [3.25,true,"2019-05-01 08:00:00.000000 +00:00","AP8="]
        ["gauge","place","installed","readings","level","active","since","raw"]
        ["G2","harbor",2021,7]
        [null,false,"2021-01-02 03:04:05.678000 +00:00","eA=="]
        ["gauge","place","installed","readings","level","active","since","raw"]
        ["G3",null,2024,-1]
        [-0.5,true,"2024-02-29 00:00:00.000000 +00:00",""]
        ["gauge","place","installed","readings","level","active","since","raw"]
        ["G4","pier",2024,0]
        [1000000000.0,true,"2024-12-31 23:59:59.000000 +00:00","AQ=="]"#]]
    .assert_eq(&rows[0]);
    let sums = "SELECT place, count(*) AS n, max(level) AS level FROM data GROUP BY place";
    expect![[r#"
        {"place":null,"n":1,"level":-0.5}
        {"place":"harbor","n":1,"level":null}
        {"place":"pier","n":2,"level":1000000000.0}"#]]
    .assert_eq(&run(&files[0], QueryDialect::Sql, sums));
    assert_eq!(run(&files[0], QueryDialect::Jql, r#"[3]"gauge""#), r#""G4""#);
    let format = DocumentFormat::of_name("/a/levels.PARQUET");
    for document in [&b""[..], b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", &[0; 64]] {
        let found = run_here(QueryDialect::Jq, format, document, ".");
        assert!(found.starts_with("Error: the document is not Parquet"), "{found}");
    }
}

/// Damaged files give results or an error, and no query outlives its limits.
#[cfg(feature = "parquet")]
async fn check_damaged_parquet() {
    let program = env::current_exe().expect("this program");
    let limits = JsonQueryLimits {
        cpu_time: Duration::from_secs(2),
        max_memory: 256 << 20,
        max_output_len: 10_000,
        ..JsonQueryLimits::default()
    };
    let runner = JsonQueryRunner { limits, ..JsonQueryRunner::new(program, SERVE) };
    let file = parquet_files().swap_remove(0);
    let mut n_failed = 0;
    for at in (0..file.len()).step_by(19) {
        let mut damaged = file.clone();
        damaged[at] ^= 0xff;
        let query = JsonQuery {
            text: ".".to_owned(),
            format: DocumentFormat::Parquet,
            ..JsonQuery::default()
        };
        let found = runner.run(query, damaged.into(), &yfs_vfs::CancellationToken::new()).await;
        n_failed += usize::from(found.is_err());
    }
    assert!(n_failed > 10, "{n_failed} of the damaged files were rejected");
}
