//! Glob and grep.

use super::Scripted;

pub(super) const CASES: &[Scripted] = &[
    (
        "glob of a name matches at any depth",
        &[],
        "
        write /a.md 1
        write /d/b.md 2
        write /d/e/c.md 3
        write /d/x.txt 4
        glob *.md => /a.md /d/b.md /d/e/c.md
        glob *.md /d => /d/b.md /d/e/c.md
        glob x.txt => /d/x.txt
        glob *.none => (nothing)",
    ),
    (
        "glob with a slash counts from where it begins",
        &[],
        "
        write /a.md 1
        write /d/b.md 2
        write /d/e/c.md 3
        glob d/*.md => /d/b.md
        glob e/*.md /d => /d/e/c.md
        glob d/**/*.md => /d/b.md /d/e/c.md
        glob /*.md => /a.md
        glob /d/*.md /d => /d/b.md",
    ),
    (
        "glob with braces and classes",
        &[],
        "
        write /a.md 1
        write /b.txt 2
        write /c.rs 3
        glob *.{md,txt} => /a.md /b.txt
        glob [ab].* => /a.md /b.txt
        glob [!a].* => /b.txt /c.rs
        glob ?.rs => /c.rs",
    ),
    (
        "glob finds hidden names only for a dot",
        &[],
        "
        write /.env 1
        write /.git/config 2
        write /a/.x 3
        write /a/b 4
        glob ** => /a/b
        glob .env => /.env
        glob .git/* => /.git/config
        glob **/.* => /.env /a/.x
        glob -hidden ** => /.env /.git/config /a/.x /a/b",
    ),
    (
        "glob finds directories on request",
        &[],
        "
        mkdir -p /a/b
        write /a/f x
        glob a/* => /a/f
        glob -d a/* => /a/b/ /a/f
        glob */ => /a/ /a/b/
        glob -d a => /a/",
    ),
    (
        "glob regards case by default",
        &[],
        "
        write /README.md x
        glob readme* => (nothing)
        glob -i readme* => /README.md",
    ),
    (
        "glob says when it cut",
        &[],
        "
        write /a 1
        write /b 2
        write /c 3
        glob -n=2 * => /a /b cut:Limit
        glob -n=3 * => /a /b /c
        glob -n=0 * => cut:Limit",
    ),
    (
        "glob refuses bad patterns and places",
        &[],
        r#"
        glob "" !! EINVAL
        glob ../x !! EINVAL
        glob {a !! EINVAL
        glob [a !! EINVAL
        glob * /no !! ENOENT
        write /f x
        glob * /f !! ENOTDIR"#,
    ),
    (
        "grep finds lines",
        &[],
        r#"
        write /a "one\ntwo\nthree\n"
        write /d/b "two\n"
        grep two => /a:2:two /d/b:1:two
        grep two /d => /d/b:1:two
        grep two /a => /a:2:two
        grep four => (nothing)"#,
    ),
    (
        "grep takes expressions, or literal text",
        &[],
        r#"
        write /a "a.c\nabc\n"
        grep a.c => /a:1:a.c /a:2:abc
        grep -F a.c => /a:1:a.c
        grep ^a[b-z] => /a:2:abc
        grep c$ => /a:1:a.c /a:2:abc"#,
    ),
    (
        "grep regards case by default, and words on request",
        &[],
        r#"
        write /a "Foo\nfoobar\nfoo\n"
        grep foo => /a:2:foobar /a:3:foo
        grep -i foo => /a:1:Foo /a:2:foobar /a:3:foo
        grep -w foo => /a:3:foo"#,
    ),
    (
        "grep shows context",
        &[],
        r#"
        write /a "1\n2\nx\n4\n5\n"
        grep -B=1 -A=1 x => /a:2-2 /a:3:x /a:4-4"#,
    ),
    (
        "grep includes and excludes by glob",
        &[],
        "
        write /a.md x
        write /b.txt x
        write /d/c.md x
        grep -include=*.md x => /a.md:1:x /d/c.md:1:x
        grep -exclude=*.md x => /b.txt:1:x
        grep -exclude=d x => /a.md:1:x /b.txt:1:x
        grep -include=d/** x => /d/c.md:1:x",
    ),
    (
        "grep leaves out hidden and binary files",
        &[],
        r#"
        write /.env x
        write /.d/f x
        write /bin "x\0"
        write /a x
        grep x => /a:1:x binary:1
        grep -hidden x => /.d/f:1:x /.env:1:x /a:1:x binary:1"#,
    ),
    (
        "grep searches text in UTF-16",
        &[],
        r#"
        write /a "g\0r\0e\0y\0\n\0b\0l\0u\0e\0\n\0"
        write /b "\0g\0r\0e\0y\0\n\0b\0l\0u\0e\0\n"
        write /c "\0\0\0blue\n"
        grep ^blue$ => /a:2:blue /b:2:blue binary:1
        grep -B=1 ue => /a:1-grey /a:2:blue /b:1-grey /b:2:blue binary:1"#,
    ),
    (
        "grep says when it cut",
        &[],
        r#"
        write /a "x\nx\nx\n"
        write /b "x\n"
        grep -m=2 x => /a:1:x /a:2:x more /b:1:x
        grep -m=3 x => /a:1:x /a:2:x /a:3:x /b:1:x
        grep -M=2 x => /a:1:x /a:2:x more cut:Limit
        grep -M=4 x => /a:1:x /a:2:x /a:3:x /b:1:x
        grep -size=2 x => /b:1:x large:1"#,
    ),
    (
        "grep refuses bad patterns and places",
        &[],
        "
        grep ( !! EINVAL
        grep -include={a x !! EINVAL
        grep x /no !! ENOENT",
    ),
    (
        "grep of a file without a final newline, and of an empty one",
        &[],
        r#"
        write /a "a\nb"
        write /e ""
        grep b => /a:2:b
        grep ^ => /a:1:a /a:2:b"#,
    ),
];
