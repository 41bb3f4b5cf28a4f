//! Tests of the diff: its invariants, its results on examples, and bounds on its cost.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{TextSplice, diff, diff_chars, utf16_len};

/// Shows each splice as `at-deleted+inserted`.
fn show(old: &str, new: &str, splices: &[TextSplice]) -> String {
    let one =
        |s: &TextSplice| format!("{}-{:?}+{:?}", s.at, &old[s.old.clone()], &new[s.new.clone()]);
    splices.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Diffs by characters and by words, and checks the invariants of both.
fn checked(old: &str, new: &str) -> [Vec<TextSplice>; 2] {
    [check_splices(old, new, diff_chars(old, new)), check_splices(old, new, diff(old, new))]
}

fn check_splices(old: &str, new: &str, splices: Vec<TextSplice>) -> Vec<TextSplice> {
    let (mut text, mut byte, mut unit) = (String::new(), 0, 0);
    for (index, splice) in splices.iter().enumerate() {
        assert!(splice.old.start > byte || (index == 0 && byte == 0), "out of order: {splices:?}");
        assert!(!splice.old.is_empty() || !splice.new.is_empty(), "empty: {splices:?}");
        assert_eq!(splice.at, unit + utf16_len(&old[byte..splice.old.start]));
        assert_eq!(splice.delete, utf16_len(&old[splice.old.clone()]));
        text.push_str(&old[byte..splice.old.start]);
        text.push_str(&new[splice.new.clone()]);
        (byte, unit) = (splice.old.end, splice.at + splice.delete);
    }
    text.push_str(&old[byte..]);
    assert!(text == new, "{old:?} became {text:?} instead of {new:?}");
    splices
}

fn check(old: &str, new: &str, expected: Expect) {
    expected.assert_eq(&show(old, new, &checked(old, new)[0]));
}

fn check_words(old: &str, new: &str, expected: Expect) {
    expected.assert_eq(&show(old, new, &checked(old, new)[1]));
}

#[test]
fn words_change_whole() {
    check_words("colour", "color", expect![[r#"0-"colour"+"color""#]]);
    check_words("timeout = 30\n", "timeout = 45\n", expect![[r#"10-"30"+"45""#]]);
    check_words("\"1.2.3\",", "\"1.3.0\",", expect![[r#"1-"1.2.3"+"1.3.0""#]]);
    check_words(
        "on 2024-01-02 at 12:30.",
        "on 2024-02-02 at 12:45.",
        expect![[r#"3-"2024-01-02"+"2024-02-02" 17-"12:30"+"12:45""#]],
    );
    check_words("x = -5;", "x = 5;", expect![[r#"4-"-5"+"5""#]]);
    check_words("[1,-5]", "[1,+6]", expect![[r#"3-"-5"+"+6""#]]);
    check_words("a-5", "a-6", expect![[r#"2-"5"+"6""#]]);
    check_words("(a)-5", "(a)-6", expect![[r#"4-"5"+"6""#]]);
    check_words("up 5%.", "up 6.", expect![[r#"3-"5%"+"6""#]]);
    check_words("for $5.50, -$3", "for $6, -$4", expect![[r#"4-"$5.50"+"$6" 11-"-$3"+"-$4""#]]);
    check_words("5€ 20°C", "6€ 21°C", expect![[r#"0-"5€"+"6€" 3-"20°"+"21°""#]]);
    check_words("a % 5", "a % 6", expect![[r#"4-"5"+"6""#]]);
    check_words("abc", "Xabc", expect![[r#"0-""+"X""#]]);
    check_words("word", "words", expect![[r#"4-""+"s""#]]);
    check_words("30", "305", expect![[r#"0-"30"+"305""#]]);
    check_words("f(a, b)", "f(a, c)", expect![[r#"5-"b"+"c""#]]);
    check_words("one two", "one, two", expect![[r#"3-""+",""#]]);
    check_words("[1,2,3]", "[1,5,3]", expect![[r#"3-"2"+"5""#]]);
    check_words("日本語の文書です", "日本語の文章です", expect![[r#"5-"書"+"章""#]]);
    check_words(
        "caf\u{65}\u{301} x",
        "caf\u{65}\u{300} x",
        expect![[r#"0-"cafe\u{301}"+"cafe\u{300}""#]],
    );
    check_words(
        "getUserByIdentifier()",
        "fetchUserByNumber()",
        expect![[r#"0-"getUserByIdentifier"+"fetchUserByNumber""#]],
    );
}

#[test]
fn small_changes_are_said_briefly() {
    check("", "", expect![[""]]);
    check("", "a\n", expect![[r#"0-""+"a\n""#]]);
    check("a\n", "", expect![[r#"0-"a\n"+"""#]]);
    check("the cat sat", "the dog sat", expect![[r#"4-"cat"+"dog""#]]);
    check("colour", "color", expect![[r#"4-"u"+"""#]]);
    check("one two", "one, two", expect![[r#"3-""+",""#]]);
    check("a\nb", "a\nb\nc", expect![[r#"3-""+"\nc""#]]);
    check(
        "let x = old_name + 1;\n",
        "let y = new_name + 1;\n",
        expect![[r#"4-"x"+"y" 8-"old"+"new""#]],
    );
    check(
        "a very long unchanged_identifier",
        "a very big unchanged_identifier",
        expect![[r#"7-"lon"+"bi""#]],
    );
}

#[test]
fn an_inserted_line_is_a_whole_line() {
    check("foo\nfab\n", "foo\nfoo2\nfab\n", expect![[r#"4-""+"foo2\n""#]]);
    check(
        "if a {\n    b\n}\n",
        "if a {\n    b\n}\nif c {\n    b\n}\n",
        expect![[r#"15-""+"if c {\n    b\n}\n""#]],
    );
    check("a\r\nb\r\n", "a\r\nx\r\nb\r\n", expect![[r#"3-""+"x\r\n""#]]);
}

#[test]
fn line_endings_change_by_themselves() {
    check("a\r\nb\r\n", "a\nb\n", expect![[r#"1-"\r"+"" 4-"\r"+"""#]]);
    check("a\n", "a\r\n", expect![[r#"1-""+"\r""#]]);
    check("\u{feff}a\n", "a\n", expect![[r#"0-"\u{feff}"+"""#]]);
    check("a", "a\n", expect![[r#"1-""+"\n""#]]);
}

#[test]
fn code_points_that_belong_together_change_together() {
    check("caf\u{65}\u{301}", "caf\u{65}\u{300}", expect![[r#"3-"e\u{301}"+"e\u{300}""#]]);
    check("x 👨‍👩‍👧 y", "x 👨‍👩‍👦 y", expect![[r#"2-"👨\u{200d}👩\u{200d}👧"+"👨\u{200d}👩\u{200d}👦""#]]);
    check("🇩🇪", "🇩🇰", expect![[r#"0-"🇩🇪"+"🇩🇰""#]]);
    check("👍 ok", "👍🏽 ok", expect![[r#"0-"👍"+"👍🏽""#]]);
    // Both begin with the surrogate d83d.
    check("😀b", "😁b", expect![[r#"0-"😀"+"😁""#]]);
    check("日本語の文書です", "日本語の文章です", expect![[r#"5-"書"+"章""#]]);
}

#[test]
fn long_words_keep_what_they_share() {
    check(
        "getUserByIdentifier()",
        "fetchUserByNumber()",
        expect![[r#"0-"get"+"fetch" 9-"Identifi"+"Numb""#]],
    );
}

#[test]
fn utf16_is_counted_as_javascript_counts() {
    for text in ["", "a", "é", "日", "😀", &"😀é".repeat(1000), &"x".repeat(1001)] {
        assert_eq!(utf16_len(text) as usize, text.encode_utf16().count(), "{text:?}");
    }
}

/// Hopeless pairs, of a size at which anything quadratic would take minutes.
#[test]
fn the_worst_cases_are_bounded() {
    let lines = |salt: usize, every: usize| -> String {
        let number = |n| if n % every == 0 { n + salt * 1_000_000 } else { n };
        let hash = |n: usize| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..20_000).map(number).map(|n| format!("line {n} {:x}\n", hash(n))).collect()
    };
    let digits = |salt: u32| -> String {
        let digits = |n: u32| format!("{:06x}", (n + salt).wrapping_mul(0x9e37_79b9) & 0xff_ffff);
        (0..200_000).map(digits).collect()
    };
    let data = |salt: usize| -> String {
        let value = |n| if n % 1000 == 7 { n + salt } else { n };
        (0..50_000).map(|n| format!("{{\"id\":{n},\"v\":{}}},", value(n))).collect()
    };
    let reversed: String = lines(1, 1).split_inclusive('\n').rev().collect();
    let repeated = |text: &str| text.repeat(1 << 18);
    check_bounded("all lines differ", &lines(1, 1), &lines(2, 1));
    check_bounded("every other line differs", &lines(1, 2), &lines(2, 2));
    check_bounded("few lines differ", &lines(1, 1000), &lines(2, 1000));
    check_bounded("lines are reversed", &lines(1, 1), &reversed);
    check_bounded("one word", &digits(1), &digits(77));
    check_bounded("one line of data", &data(0), &data(1));
    check_bounded("one character", &repeated("aa"), &repeated("ab"));
    check_bounded("two characters", &repeated("ab"), &repeated("ba"));
    check_bounded("newlines", &repeated("\n"), &repeated("\n\n"));
    check_bounded("words and blanks", &repeated("a b "), &repeated("b a "));
    check_bounded("commas", &repeated(",a"), &repeated(",b,a"));
}

/// Checks that the diff has about the size of the new text and is found in time. The bound on time
/// is generous: it only separates linear from quadratic on a busy machine.
fn check_bounded(name: &str, old: &str, new: &str) {
    let start = std::time::Instant::now();
    for splices in checked(old, new) {
        let cost: usize = splices.iter().map(|splice| splice.new.len() + super::SPLICE_COST).sum();
        assert!(cost <= new.len() * 2, "{name}: {} splices, {cost} bytes", splices.len());
    }
    assert!(start.elapsed().as_secs() < 600, "{name}: {:?}", start.elapsed());
}

/// Texts made to be awkward: few different pieces, so that there are many ways to align them.
pub(crate) fn awkward_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("b"),
        Just("ab"),
        Just(" "),
        Just("\n"),
        Just("\r\n"),
        Just("\0"),
        Just("😀"),
        Just("😁"),
        Just("e\u{301}"),
        Just("\u{301}"),
        Just("\u{200d}"),
        Just("👩‍🚀"),
        Just("日"),
        Just("\u{feff}"),
        Just("the quick brown fox\n"),
        Just("\u{fffd}"),
        Just("🇩"),
        Just("word_"),
        Just(","),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::tests::property_config(500))]

    #[test]
    fn splices_turn_old_into_new(old in awkward_text(), new in awkward_text()) {
        checked(&old, &new);
    }

    #[test]
    fn splices_turn_any_old_into_any_new(old in ".*", new in ".*") {
        checked(&old, &new);
    }
}
