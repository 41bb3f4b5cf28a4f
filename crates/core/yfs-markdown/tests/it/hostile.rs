//! Texts that make careless parsers slow, deep or large.

/// Returns texts of about `n` bytes, each with a name.
pub(crate) fn texts(n: usize) -> Vec<(&'static str, String)> {
    let repeat = |unit: &str| unit.repeat(n / unit.len());
    let deep_list = |n: usize| {
        let depth = (n as f64).sqrt() as usize;
        (0..depth).map(|level| format!("{}- a\n", "  ".repeat(level))).collect::<String>()
    };
    vec![
        ("one line", repeat("words and words ")),
        ("one word", repeat("a")),
        ("quotes", repeat(">")),
        ("quotes apart", repeat("> ")),
        ("bullets", repeat("- ")),
        ("bullets and quotes", repeat("- > ")),
        ("numbers", repeat("1. ")),
        ("deep list", deep_list(n)),
        ("quote lines", format!("{}a\n", "> ".repeat(250)).repeat(n / 502)),
        ("emphasis", repeat("*a _b ")),
        ("emphasis closed", format!("{}{}", "*a ".repeat(n / 6), " b*".repeat(n / 6))),
        ("strong", repeat("**a __b ")),
        ("strikes", repeat("~~a ~b ")),
        ("brackets", repeat("[")),
        ("brackets closed", format!("{}{}", "[".repeat(n / 2), "]".repeat(n / 2))),
        ("links", repeat("[a](b) ")),
        ("links in links", format!("{}{}", "[a".repeat(n / 6), "](b)".repeat(n / 6))),
        ("images in images", format!("{}{}", "![a".repeat(n / 7), "](b)".repeat(n / 7))),
        ("backticks", (1..(2.0 * n as f64).sqrt() as usize).map(|k| "`".repeat(k) + " ").collect()),
        ("html", repeat("<a ")),
        ("comments", repeat("<!-- ")),
        ("instructions", repeat("<?a ")),
        ("entities", repeat("&amp;&a")),
        ("backslashes", repeat("\\")),
        ("definitions", (0..n / 12).map(|k| format!("[{k}]: /{k}\n")).collect()),
        ("uses", format!("[a]: /b\n\n{}", "[a] ".repeat(n / 4))),
        ("footnotes", (0..n / 16).map(|k| format!("[^{k}]: a\n\n[^{k}]\n\n")).collect()),
        ("table", format!("|{}\n|{}\n", "a|".repeat(n / 4), "-|".repeat(n / 4))),
        ("table rows", format!("|a|b|\n|-|-|\n{}", "|c|d|\n".repeat(n / 6))),
        (
            "wide table",
            format!("|{}\n|{}\n{}", "a|".repeat(200), "-|".repeat(200), "|\n".repeat(n / 400)),
        ),
        ("blocks", repeat("a\n\n")),
        ("headings", repeat("# a\n")),
        ("breaks", repeat("a\\\n")),
        ("blank lines", repeat("\n")),
        ("list of blanks", format!("- a\n{}- b\n", "\n".repeat(n))),
        ("spaces", repeat(" ")),
        ("tabs", repeat("\t")),
        ("rules", repeat("- - -\n")),
        ("long rule", repeat("- ") + "\n"),
        ("carriage returns", repeat("a\r")),
        ("zeros", repeat("\0")),
    ]
}
