//! The results of npm `yaml` 2.9 for the same text, and the effect of changes on a template.

use expect_test::{Expect, expect};
use smol_str::SmolStr;

use super::{FrontMatterError, MAX_DEPTH, MAX_LEN, patch, read, same_entries, split, write};
use crate::tree::AttributeValue;

fn check_read(yaml: &str, expected: Expect) {
    let shown = match read(yaml) {
        Ok(mapping) => AttributeValue::Object(mapping.entries).to_string(),
        Err(FrontMatterError::Invalid(_)) => "invalid".to_owned(),
        Err(unread) => unread.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn words_mean_what_javascript_says() {
    check_read(
        "a: 2026-02-09\nb: yes\nc: on\nd: y\ne: 12:30:00\n",
        expect![[r#"{a:"2026-02-09",b:"yes",c:"on",d:"y",e:"12:30:00"}"#]],
    );
    check_read(
        "a: 017\nb: 00123\nc: 08\nd: 0o17\ne: 0b11\nf: 1_000\ng: 0xff\n",
        expect![[r#"{a:17,b:123,c:8,d:15,e:"0b11",f:"1_000",g:255}"#]],
    );
    check_read(
        "a: 1.0\nb: 1.10\nc: .5\nd: 5.\ne: 1e3\nf: -1.5E-2\ng: +7\n",
        expect!["{a:1,b:1.1,c:0.5,d:5,e:1000,f:-0.015,g:7}"],
    );
    check_read("a: .inf\nb: -.INF\nc: .nan\nd: 1e400\n", expect!["{a:inf,b:-inf,c:NaN,d:inf}"]);
    check_read(
        "a: ~\nb:\nc: null\nd: Null\ne: nUll\n",
        expect![[r#"{a:null,b:null,c:null,d:null,e:"nUll"}"#]],
    );
    check_read(
        "a: true\nb: True\nc: tRue\nd: 'true'\n",
        expect![[r#"{a:true,b:true,c:"tRue",d:"true"}"#]],
    );
    check_read(
        "a: &x 1\nb: [1, {c: d}]\ne:\n- 1\n- f: g\n",
        expect![[r#"{a:1,b:[1,{c:"d"}],e:[1,{f:"g"}]}"#]],
    );
    check_read(
        "a: |\n  one\n  two\nb: >-\n  one\n  two\n",
        expect![[r#"{a:"one\ntwo\n",b:"one two"}"#]],
    );
    check_read("# only a comment\n", expect!["{}"]);
    check_read("", expect!["{}"]);
}

#[test]
fn what_a_shared_map_cannot_hold_stays_text() {
    check_read(
        "a: 12345678901234567890\n",
        expect![
            "front matter has a number too large to be exact, which a shared map cannot represent"
        ],
    );
    check_read(
        "a: &x 1\nb: *x\n",
        expect!["front matter has an alias, which a shared map cannot represent"],
    );
    check_read(
        "a: !!str 1\n",
        expect!["front matter has a tag, which a shared map cannot represent"],
    );
    check_read(
        "<<: {a: 1}\n",
        expect!["front matter has a merge, which a shared map cannot represent"],
    );
    check_read(
        "1: a\n",
        expect!["front matter has a key that is no text, which a shared map cannot represent"],
    );
    check_read(
        "? [a]\n: b\n",
        expect!["front matter has a key that is no text, which a shared map cannot represent"],
    );
    check_read(
        "title: {{ page.title }}\n",
        expect!["front matter has a key that is no text, which a shared map cannot represent"],
    );
    check_read("a: 1\na: 2\n", expect!["invalid"]);
    check_read("a: b: c\n", expect!["invalid"]);
    check_read("a: [1\n", expect!["invalid"]);
    check_read("- a\n- b\n", expect!["there is no mapping between the fences"]);
    check_read("hello\n", expect!["there is no mapping between the fences"]);
}

#[test]
fn files_are_cut_without_losing_a_byte() {
    let check = |text: &str, yaml: Option<&str>| {
        let file = split(text);
        assert_eq!(file.front.map(|front| front.yaml), yaml, "{text:?}");
        let front = file
            .front
            .map(|front| [front.open, front.yaml, front.close].concat())
            .unwrap_or_default();
        assert_eq!(front + file.body, text);
    };
    check("---\na: 1\n---\nbody", Some("a: 1\n"));
    check("\u{feff}---  \r\na: 1\r\n...\t\r\nbody\r\n", Some("a: 1\r\n"));
    check("---\n---\n", Some(""));
    check("---\na: 1\n---", Some("a: 1\n"));
    check("---\n# c\n---\n", Some("# c\n"));
    check("---\na: [1\n---\nx", Some("a: [1\n"));
    check("---\ntitle: {{ x }}\n---\nx", Some("title: {{ x }}\n"));
    check("---\n\nhello\n---\n", None);
    check("---\n- a\n---\n", None);
    check("---\na: 1\n", None);
    check(" ---\na: 1\n---\n", None);
    check("----\na: 1\n----\n", None);
    check("", None);
    check("---", None);
    check("text\n---\na: 1\n---\n", None);
}

const TEMPLATE: &str = "\
# The page
title: \"Tides\"   # short
# When
date: 2026-02-09

tags: [sea, moon]  # two
author:
  name: Ana
  mail: ana@example.org
note: |
  one
  two
";

fn check_patch(key: &str, value: Option<AttributeValue>, expected: Expect) {
    let mut entries = read(TEMPLATE).expect("the template is sound").entries;
    match (entries.iter_mut().find(|(other, _)| other == key), value) {
        (Some(entry), Some(value)) => entry.1 = value,
        (None, Some(value)) => entries.push((key.into(), value)),
        (_, None) => entries.retain(|(other, _)| other != key),
    }
    let patched = patch(TEMPLATE, &entries);
    let (old, new): (Vec<_>, Vec<_>) = (TEMPLATE.lines().collect(), patched.lines().collect());
    let mut shown = String::new();
    old.iter().filter(|line| !new.contains(line)).for_each(|line| shown += &format!("-{line}\n"));
    new.iter().filter(|line| !old.contains(line)).for_each(|line| shown += &format!("+{line}\n"));
    expected.assert_eq(&shown);
    let with_crlf = TEMPLATE.replace('\n', "\r\n");
    assert_eq!(patch(&with_crlf, &entries), patched.replace('\n', "\r\n"));
}

#[test]
fn a_change_touches_its_key_alone() {
    let entries = read(TEMPLATE).expect("the template is sound").entries;
    assert_eq!(patch(TEMPLATE, &entries), TEMPLATE);
    let list =
        |items: &[&str]| AttributeValue::Array(items.iter().map(|item| (*item).into()).collect());
    check_patch(
        "title",
        Some("Ebb \"and\" flow: a".into()),
        expect![[r#"
            -title: "Tides"   # short
            +title: "Ebb \"and\" flow: a"   # short
        "#]],
    );
    check_patch(
        "title",
        Some(7.0.into()),
        expect![[r#"
            -title: "Tides"   # short
            +title: 7   # short
        "#]],
    );
    check_patch(
        "date",
        Some("2026-03-01".into()),
        expect![[r#"
        -date: 2026-02-09
        +date: 2026-03-01
    "#]],
    );
    check_patch(
        "tags",
        Some(list(&["sea", "a, b"])),
        expect![[r#"
            -tags: [sea, moon]  # two
            +tags: [sea, "a, b"]  # two
        "#]],
    );
    check_patch(
        "author",
        Some("Ana".into()),
        expect![[r#"
        -author:
        -  name: Ana
        -  mail: ana@example.org
        +author: Ana
    "#]],
    );
    check_patch(
        "note",
        Some("three\nfour\n".into()),
        expect![[r#"
        -  one
        -  two
        +  three
        +  four
    "#]],
    );
}

#[test]
fn keys_come_and_go_and_become_null() {
    check_patch(
        "draft",
        Some(true.into()),
        expect![[r#"
        +draft: true
    "#]],
    );
    check_patch(
        "date",
        None,
        expect![[r#"
        -# When
        -date: 2026-02-09
    "#]],
    );
    check_patch(
        "title",
        Some(AttributeValue::Null),
        expect![[r#"
            -title: "Tides"   # short
            +title: null   # short
        "#]],
    );
}

/// Returns the YAML without a property: read as a whole, and beside one that cannot be read.
fn without_property(yaml: &str, key: &str) -> [String; 2] {
    let unread = "z: {{ z }}\n";
    ["", unread].map(|above| {
        let text = format!("---\n{above}{yaml}---\n");
        let front = split(&text).front.expect("it has some");
        let mut parts = front.parts();
        parts.entries.retain(|(other, _)| other != key);
        let patched = front.patched(&parts.entries, Some(&parts.lines));
        patched.strip_prefix(above).expect("it stays").to_owned()
    })
}

/// npm `yaml` deletes the comment right above, too, and keeps one at the top with a blank line
/// below, and one behind the last property. Of other comments with a blank line below it says
/// nothing; here they stay, because they may be about all that follows.
#[test]
fn a_deleted_property_takes_the_comment_right_above_and_no_other() {
    for (yaml, key, expected) in [
        ("a: 1\n# about b\nb: 2\nc: 3\n", "b", "a: 1\nc: 3\n"),
        ("a: 1\n\n# about b\n# more\nb: 2\nc: 3\n", "b", "a: 1\nc: 3\n"),
        ("# head\n\na: 1\nb: 2\n", "a", "# head\n\nb: 2\n"),
        ("# about a\na: 1\nb: 2\n", "a", "b: 2\n"),
        ("a: 1\n\n# part\n\n# about b\nb: 2\nc: 3\n", "b", "a: 1\n\n# part\n\nc: 3\n"),
        ("a: 1\nb: 2\n# end\n", "b", "a: 1\n# end\n"),
        ("a: 1\nb:\n  - 2\n\n# end\n", "b", "a: 1\n\n# end\n"),
        ("a: 1\nb: 2\n\n", "b", "a: 1\n"),
    ] {
        for end in ["\n", "\r\n"] {
            let (yaml, expected) = (yaml.replace('\n', end), expected.replace('\n', end));
            let [whole, apart] = without_property(&yaml, key);
            assert_eq!(whole, expected, "{yaml:?}");
            assert_eq!(apart, expected, "{yaml:?} beside an unread property");
        }
    }
}

/// What is behind the value of the last property is not part of it.
#[test]
fn a_changed_property_keeps_the_comment_behind_it() {
    for value in ["[1, 2]", "\n  - 1", "{{ x }}", "\n  x: 1", "|\n  one"] {
        let text = format!(
            "---\na:{}{value}\n# end\n---\n",
            if value.starts_with('\n') { "" } else { " " }
        );
        let front = split(&text).front.expect("it has some");
        let parts = front.parts();
        for new in ["new".into(), AttributeValue::Array(vec![3.0.into()])] {
            let entries = vec![("a".into(), new)];
            let patched = front.patched(&entries, Some(&parts.lines));
            assert!(patched.ends_with("\n# end\n"), "{text:?}: {patched:?}");
            assert!(!patched.contains("# end\n# end"), "{text:?}: {patched:?}");
        }
    }
}

/// A line with `...` and a comment ends the YAML, and is no lower fence. What followed was not
/// read, and left the file when a property was set.
#[test]
fn properties_beside_the_end_of_a_document_stay() {
    let set = |yaml: &str, key: &str, value: Option<AttributeValue>| {
        let text = format!("---\n{yaml}---\n");
        let front = split(&text).front.expect("it has some");
        assert_eq!(front.yaml, yaml);
        let parts = front.parts();
        assert_eq!(front.patched(&parts.entries, Some(&parts.lines)), yaml);
        let mut entries = parts.entries;
        entries.retain(|(other, _)| other != key);
        entries.extend(value.map(|value| (key.into(), value)));
        front.patched(&entries, Some(&parts.lines))
    };
    let new = || Some(AttributeValue::from("new"));
    assert_eq!(set("a: 1\n... # end\n", "a", new()), "a: new\n... # end\n");
    assert_eq!(set("a: 1\n... # end\n", "b", new()), "a: 1\nb: new\n... # end\n");
    assert_eq!(set("a: 1\n... # end\n", "a", None), "... # end\n");
    assert_eq!(set("a: [1]\n... # end\n", "a", new()), "a: new\n... # end\n");
    assert_eq!(set("# c\n... # end\n", "b", new()), "# c\nb: new\n... # end\n");
    assert_eq!(set("a: 1\n... # end\nb: 2\n", "a", new()), "a: new\n... # end\nb: 2\n");
    assert_eq!(set("a: 1\n... # end\nb: 2\n", "b", new()), "a: 1\n... # end\nb: new\n");
    assert_eq!(set("a: 1\n... # end\nb: 2\n", "a", None), "... # end\nb: 2\n");
    assert_eq!(set("a: 1\n--- # two\nb: 2\n", "a", new()), "a: new\n--- # two\nb: 2\n");
    assert_eq!(set("--- # one\na: 1\n", "a", new()), "--- # one\na: new\n");
    for value in ["|\n  ...\n  x", "...", "[x, ...]", "\"...\"", ">\n  ...", "x\n  ..."] {
        let yaml = format!("a: {value}\nb: 2\n");
        assert_eq!(set(&yaml, "b", new()), yaml.replace("b: 2", "b: new"));
        assert_eq!(set(&yaml, "b", None), yaml.replace("b: 2\n", ""));
    }
}

#[test]
fn hostile_yaml_is_bounded() {
    let n = MAX_LEN - 8;
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
        + &(0..9).map(|k| format!("b{k}: &b{k} [*a,*a,*a,*a,*a,*a]\n")).collect::<String>();
    let start = std::time::Instant::now();
    for unit in [
        "[", "{", "a: [", "- ", "? ", "a:\n ", "&a ", "*a ", "!a ", "'", "\"", "|\n", "a,", "{a: ",
        "\t", "[]: ", "# x\n", "k: v\n",
    ] {
        drop(read(&unit.repeat(n / unit.len())));
    }
    let deep: String = (0..300).map(|k| format!("{}a:\n", " ".repeat(k))).collect();
    assert_eq!(read(&deep), Err(FrontMatterError::TooLarge));
    assert_eq!(read(&bomb), Err(FrontMatterError::Unsuited("an alias")));
    assert_eq!(read(&"a".repeat(MAX_LEN + 1)), Err(FrontMatterError::TooLarge));
    assert_eq!(read(&format!("a: {}", "[".repeat(MAX_DEPTH + 1))), Err(FrontMatterError::TooLarge));
    assert!(start.elapsed().as_secs() < 600);
}

#[test]
fn what_is_written_reads_back() {
    #[rustfmt::skip]
    let texts = [
        "", "a", "yes", "1", "-", "a: b", "#", "# x", " a", "a\nb", "a\n", "\n", "\ta",
        "é", "null", "'", "\"", "\\",
        "a\u{0}b", "\u{2028}", "[x", "&a", "2026-01-01", "...", "---", "a\n\n",
        "<<", "%a", "a #b", ".5", ".", "0x1g", "\r\n", "\u{feff}",
    ];
    let mut entries = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        entries.push((format!("k{index}").into(), AttributeValue::from(*text)));
        entries.push((
            format!("{text}{index}").into(),
            AttributeValue::Array(vec![
                AttributeValue::from(*text),
                AttributeValue::Array(vec![AttributeValue::from(*text)]),
            ]),
        ));
        let nested = vec![
            ("a".into(), AttributeValue::from(*text)),
            ("b".into(), AttributeValue::Array(vec![])),
        ];
        entries.push((
            format!("o{index}").into(),
            AttributeValue::Array(vec![
                AttributeValue::Object(nested.clone()),
                AttributeValue::Object(nested),
            ]),
        ));
    }
    for (index, number) in
        [0.0, -0.0, 1.5, 1e300, 1e15, 123_456_789.0, f64::INFINITY, f64::NAN, 1e-7]
            .into_iter()
            .enumerate()
    {
        entries.push((format!("n{index}").into(), number.into()));
    }
    let yaml = write(&entries);
    let again = read(&yaml).unwrap_or_else(|error| panic!("{error}: {yaml}")).entries;
    for (old, new) in entries.iter().zip(&again) {
        assert!(
            same_entries(std::slice::from_ref(old), std::slice::from_ref(new)),
            "{old:?} {new:?}"
        );
    }
}

/// Found by fuzzing: a key that is short enough to be read may be too long when it is quoted.
#[test]
fn long_keys_come_back() {
    let long = |text: &str| SmolStr::from(text.repeat(700));
    let inner =
        AttributeValue::Object(vec![(long("\u{18}"), AttributeValue::from("deep\nlines\n"))]);
    let list = AttributeValue::Array(vec![inner.clone(), AttributeValue::Null]);
    let values = [
        (long("ab"), AttributeValue::from(1.0)),
        (long("\u{18}"), inner),
        (long(": "), list),
        ("k".into(), true.into()),
    ];
    let again = read(&write(&values)).expect("what is written can be read");
    assert_eq!(again.entries, values);
}
