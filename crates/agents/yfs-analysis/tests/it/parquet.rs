//! Parquet files: what their descriptions state, and descriptions that lie.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use yfs_analysis::{FileStats, analyze};

/// Types of Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes the values of a description.
#[derive(Debug, Default, Clone)]
struct Description(Vec<u8>);

impl Description {
    fn number(mut self, mut number: u64) -> Self {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    fn field(mut self, delta: u8, kind: u8) -> Self {
        self.0.push(delta << 4 | kind);
        self
    }

    fn signed(self, delta: u8, kind: u8, value: i64) -> Self {
        self.field(delta, kind).number(((value << 1) ^ (value >> 63)) as u64)
    }

    fn text(self, delta: u8, text: &str) -> Self {
        let mut with_len = self.field(delta, BINARY).number(text.len() as u64);
        with_len.0.extend_from_slice(text.as_bytes());
        with_len
    }

    fn list(self, delta: u8, kind: u8, len: u64) -> Self {
        self.field(delta, LIST).field(15, kind).number(len)
    }

    fn end(mut self) -> Self {
        self.0.push(0);
        self
    }

    /// Adds a column of the schema.
    fn column(self, name: &str) -> Self {
        self.signed(1, I32, 2).signed(2, I32, 1).text(1, name).end()
    }

    /// Adds a group of the schema.
    fn group(self, name: &str, n_children: i64) -> Self {
        self.text(4, name).signed(1, I32, n_children).end()
    }

    /// Returns a file with the description.
    fn file(&self) -> Vec<u8> {
        let len = u32::try_from(self.0.len()).expect("a short description");
        [b"PAR1", &self.0[..], &len.to_le_bytes(), b"PAR1"].concat()
    }
}

fn check(file: &[u8], expected: &Expect) {
    let analysis = analyze("table.parquet", file);
    let FileStats::Binary(stats) = &analysis.stats else { panic!("{:?}", analysis.stats) };
    let mut shown = format!("{}\n", stats.format);
    for (name, value) in stats.metadata.iter().collect::<BTreeMap<_, _>>() {
        shown.push_str(&format!("{name}: {value}\n"));
    }
    for note in &analysis.notes {
        shown.push_str(&format!("note: {note}\n"));
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_file_states_its_columns_sizes_and_codecs() {
    check(
        include_bytes!("../../../../../fixtures/tables/gauges.parquet"),
        &expect![[r#"
        Parquet
        columns: 12
        compression: uncompressed, snappy, zstd
        created_by: parquet-cpp-arrow version 26.0.1
        footer_size: 2500
        null_values: place: 250, level: 100, tags.list.element: 334, where.y: 1000
        row_groups: 2
        rows: 1000
        schema: id: int64, place: string?, level: double?, flag: boolean?, small: uint8?, day: date?, at: timestamp?, price: decimal(9, 2)?, raw: bytes?, tags.list.element: string?, where.x: int32?, where.y: float?
        uncompressed_size: 31657
        version: 2
    "#]],
    );
}

#[test]
fn columns_in_groups_have_paths() {
    let schema = Description::default()
        .signed(1, I32, 1)
        .list(1, STRUCT, 6)
        .group("root", 2)
        .group("place", 2)
        .column("name")
        .group("at", 1)
        .column("depth")
        .column("id")
        .signed(1, I64, 7)
        .end();
    check(
        &schema.file(),
        &expect![[r#"
        Parquet
        columns: 3
        footer_size: 66
        row_groups: 0
        rows: 7
        schema: place.name: int64?, place.at.depth: int64?, id: int64?
        version: 1
    "#]],
    );
}

#[test]
fn a_description_of_many_columns_is_read() {
    let many = |n_columns: u64| {
        let mut schema = Description::default().signed(1, I32, 1);
        schema = schema.list(1, STRUCT, n_columns + 1).group("root", n_columns as i64);
        for at in 0..n_columns {
            schema = schema.column(&format!("column_{at}"));
        }
        schema.signed(1, I64, 7).end()
    };
    let stats = |description: &Description| {
        let analysis = analyze("table.parquet", &description.file());
        let FileStats::Binary(stats) = analysis.stats else { panic!("a table") };
        (stats.metadata, analysis.notes)
    };
    let large = many(40_000);
    assert!(large.0.len() > 512 << 10);
    let (facts, notes) = stats(&large);
    assert_eq!((&*facts["columns"], &*facts["rows"]), ("40000", "7"));
    assert!(facts["schema"].ends_with("column_49: int64?, … 39950 more"), "{}", facts["schema"]);
    assert_eq!(notes, Vec::<String>::new());
    let (facts, notes) = stats(&many(300_000));
    assert_eq!(facts.get("rows"), None);
    assert!(notes[0].contains("is not read"), "{notes:?}");
}

#[test]
fn descriptions_that_lie_are_rejected() {
    let damaged = "the headers are not those of application/vnd.apache.parquet";
    let begin = || Description::default().signed(1, I32, 1);
    let end_of_ids = Description::default().signed(0, I32, 0);
    // The number of a field has 64 bits here; a later field adds to it.
    let largest_id = Description(vec![I32]).number(u64::MAX - 1).number(0).signed(15, I32, 0).end();
    let lying = [
        largest_id,
        end_of_ids,
        Description::default(),
        // More elements than bytes, of types with and without bytes.
        begin().list(1, STRUCT, u64::MAX),
        begin().list(1, 1, u64::MAX),
        begin().list(1, 14, 3).end(),
        begin().list(3, STRUCT, 1 << 60).end(),
        // A text that is longer than the file.
        begin().field(5, BINARY).number(u64::MAX),
        begin().list(1, STRUCT, 2).group("root", i64::MAX).group("group", i64::MIN),
        // Structures and lists within each other.
        Description([STRUCT | 0xF0].repeat(100_000)),
        Description([LIST | 0xF0, LIST | 0x10].repeat(100_000)),
        Description([0x19].repeat(100_000)),
        Description(vec![0xFF; 100_000]),
    ];
    for (index, description) in lying.iter().enumerate() {
        let analysis = analyze("table.parquet", &description.file());
        assert_eq!(analysis.notes, [damaged], "{index}");
    }
    // Rows and columns may be anything: nothing is allocated or counted by them.
    let large = begin().signed(2, I64, i64::MIN).list(1, STRUCT, 0).end();
    let FileStats::Binary(stats) = analyze("x.parquet", &large.file()).stats else { panic!() };
    assert_eq!(stats.metadata["rows"], i64::MIN.to_string());
    let open = begin().list(1, STRUCT, 1 + 100_000).group("root", 1);
    let open = (0..100_000).fold(open, |open, _| open.group("g", i64::MAX)).end();
    let FileStats::Binary(stats) = analyze("x.parquet", &open.file()).stats else { panic!() };
    assert_eq!(stats.metadata["columns"], "0");
}

#[test]
fn a_file_that_is_cut_or_changed_is_no_panic() {
    let file = include_bytes!("../../../../../fixtures/tables/gauges.parquet");
    for len in 0..file.len() {
        analyze("table.parquet", &file[..len]);
    }
    let footer_len = usize::from(file[file.len() - 8]) | usize::from(file[file.len() - 7]) << 8;
    let start = file.len() - 8 - footer_len;
    for at in start..file.len() {
        for value in [0, 1, 0x19, 0x1C, 0x7F, 0x80, 0xFF] {
            let mut changed = file.to_vec();
            changed[at] = value;
            analyze("table.parquet", &changed);
        }
    }
}

/// The files of `fixtures/parquet` were written by fastparquet.
#[test]
fn files_of_another_program_are_described() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/parquet");
    for codec in ["uncompressed", "gzip", "snappy", "zstd"] {
        let file = format!("{directory}/gauges-{codec}.parquet");
        let analysis = analyze("gauges.parquet", &std::fs::read(file).expect("a fixture"));
        assert_eq!(analysis.notes, [""; 0]);
        let FileStats::Binary(stats) = analysis.stats else { panic!("a binary file") };
        let fact = |name: &str| stats.metadata.get(name).map_or("", String::as_str);
        assert_eq!((fact("rows"), fact("columns"), fact("row_groups")), ("4", "8", "2"));
        assert_eq!(fact("compression"), codec);
        let schema = "gauge: string?, place: string?, installed: int32?, readings: int64?, \
                      level: double?, active: boolean?, since: timestamp?, raw: bytes?";
        assert_eq!(fact("schema"), schema);
    }
}
