//! Tables as they are in the field: their headers, types and rows; and what is none.

use yfs_analysis::{FileStats, analyze};

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
            "not JSON at line 2, column 2: the text ends early; \
             the statistics are of what comes before",
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
