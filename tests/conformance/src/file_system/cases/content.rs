//! Reading and writing.

use super::Scripted;
use crate::file_system::CaseRequirement::{Merging, Modes, NoMerging};

pub(super) const CASES: &[Scripted] = &[
    (
        "write creates a file",
        &[],
        "
        write /a hello => created
        cat /a => hello
        stat /a => file 5",
    ),
    (
        "write replaces a file",
        &[],
        "
        write /a hello
        write /a bye => changed
        cat /a => bye
        stat /a => file 3",
    ),
    (
        "write of nothing makes an empty file",
        &[],
        r#"
        write /a "" => created
        cat /a => (empty)
        stat /a => file 0"#,
    ),
    (
        "write of nothing empties a file",
        &[],
        r#"
        write /a hello
        write /a ""
        cat /a => (empty)
        stat /a => file 0"#,
    ),
    (
        "write keeps every byte",
        &[],
        r#"
        write /a "a\r\nb\0\t\u{1F600}\n\n"
        cat /a => a\r\nb\0\t😀\n\n
        stat /a => file 12"#,
    ),
    (
        "write makes missing parents",
        &[],
        "
        write /a/b/c x
        ls / => a/
        ls /a => b/
        cat /a/b/c => x",
    ),
    (
        "write without parents refuses where they are missing",
        &[],
        "
        write -noparents /a/b x !! ENOENT
        mkdir /a
        write -noparents /a/b x => created",
    ),
    (
        "write over a directory is refused",
        &[],
        "
        mkdir /d
        write /d x !! EISDIR
        write / x !! EISDIR",
    ),
    (
        "write below a file is refused",
        &[],
        "
        write /f x
        write /f/a x !! ENOTDIR
        write /f/a/b x !! ENOTDIR",
    ),
    (
        "create-new refuses what exists",
        &[],
        "
        write -new /a x => created
        write -new /a y !! EEXIST
        mkdir /d
        write -new /d y !! EEXIST
        cat /a => x",
    ),
    (
        "must-exist refuses what does not",
        &[],
        "
        write -existing /a x !! ENOENT
        write -existing /no/a x !! ENOENT
        write /a x
        write -existing /a y => changed
        cat /a => y",
    ),
    (
        "write with the version that is current succeeds",
        &[],
        "
        write /a x
        version v /a
        write -if=v /a y
        cat /a => y",
    ),
    (
        "write with another version is refused",
        &[],
        "
        write /a x
        version v /a
        write /a y
        write -if=v /a z !! ESTALE
        cat /a => y",
    ),
    (
        "write with a version is refused where nothing is",
        &[],
        "
        write /a x
        version v /a
        rm /a
        write -if=v /a z !! ESTALE
        exists /a => no",
    ),
    (
        "version changes with the content and not with the name",
        &[],
        "
        write /a x
        version v /a
        same v /a => yes
        mv /a /b
        same v /b => yes
        write /b y
        same v /b => no",
    ),
    (
        "base that is current lets a write through",
        &[],
        "
        write /a one
        version v /a
        write -base=v /a two => changed
        write -was=two /a three => changed
        cat /a => three",
    ),
    (
        "stale base is refused where nothing can merge",
        &[NoMerging],
        "
        write /a one
        version v /a
        write /a two
        write -base=v /a three !! ESTALE
        write -was=one /a three !! ESTALE
        cat /a => two",
    ),
    (
        "stale base merges what both wrote",
        &[Merging],
        r#"
        write /a "one\ntwo\nthree\n"
        version v /a
        write /a "zero\none\ntwo\nthree\n"
        write -base=v /a "one\ntwo\nthree\nfour\n"
        cat /a => zero\none\ntwo\nthree\nfour\n"#,
    ),
    (
        "content as a stale base merges what both wrote",
        &[Merging],
        r#"
        write /a abc
        write /a Xabc
        write -was=abc /a abcY
        cat /a => XabcY"#,
    ),
    (
        "base that was lost is refused",
        &[],
        "
        write /a one
        version v /a
        rm /a
        write -base=v /a two !! ESTALE",
    ),
    (
        "write sets the mode only on request",
        &[Modes],
        "
        write -m=600 /a x
        mode /a => 600
        write /a y
        mode /a => 600
        write -m=755 /a z
        mode /a => 755
        write /b x
        mode /b => 644",
    ),
    (
        "append adds to the end",
        &[],
        r#"
        write /a "one\n"
        append /a "two\n" => changed
        cat /a => one\ntwo\n
        stat /a => file 8"#,
    ),
    (
        "append creates file and parents",
        &[],
        "
        append /d/a x => created
        cat /d/a => x",
    ),
    (
        "append of nothing creates an empty file",
        &[],
        r#"
        append /a "" => created
        cat /a => (empty)
        append /a "" => changed
        cat /a => (empty)"#,
    ),
    (
        "append refuses directories and files as parents",
        &[],
        "
        mkdir /d
        append /d x !! EISDIR
        write /f x
        append /f/a x !! ENOTDIR",
    ),
    (
        "append honours create-new, must-exist, version and parents",
        &[],
        "
        append -existing /a x !! ENOENT
        append -new /a x => created
        append -new /a x !! EEXIST
        version v /a
        append -if=v /a y => changed
        append -if=v /a z !! ESTALE
        append -noparents /d/a x !! ENOENT
        cat /a => xy",
    ),
    (
        "append keeps the mode",
        &[Modes],
        "
        write -m=700 /a x
        append -m=600 /a y
        mode /a => 700",
    ),
    (
        "read of what is missing",
        &[],
        "
        cat /a !! ENOENT
        cat /a/b !! ENOENT
        range /a 0 1 !! ENOENT
        lines /a 0 1 !! ENOENT
        stream /a 4 !! ENOENT",
    ),
    (
        "read of a directory",
        &[],
        "
        mkdir /d
        cat /d !! EISDIR
        range /d 0 1 !! EISDIR
        lines /d 0 1 !! EISDIR
        stream /d 4 !! EISDIR
        cat / !! EISDIR",
    ),
    (
        "read below a file",
        &[],
        "
        write /f x
        cat /f/a !! ENOTDIR
        stat /f/a !! ENOTDIR
        lstat /f/a/b !! ENOTDIR
        exists /f/a => no",
    ),
    (
        "range is cut at the end and empty past it",
        &[],
        "
        write /a 0123456789
        range /a 0 3 => 012
        range /a 3 4 => 3456
        range /a 8 10 => 89
        range /a 10 1 => (empty)
        range /a 99 1 => (empty)
        range /a 2 0 => (empty)
        range /a 18446744073709551615 18446744073709551615 => (empty)
        range /a 0 18446744073709551615 => 0123456789",
    ),
    (
        "range splits characters where requested",
        &[],
        r#"
        write /a "aäb"
        range /a 0 2 => a\xC3
        range /a 2 2 => \xA4b"#,
    ),
    (
        "lines come in pages",
        &[],
        r#"
        write /a "one\ntwo\nthree\n"
        lines /a 0 2 => one|two next 2 of 3 newline
        lines /a 2 2 => three next end of 3 newline
        lines /a 3 2 => (empty) next end of 3
        lines /a 99 2 => (empty) next end of 3
        lines /a 0 99 => one|two|three next end of 3 newline
        lines /a 1 1 => two next 2 of 3 newline"#,
    ),
    (
        "lines of a file without a final newline",
        &[],
        r#"
        write /a "one\ntwo"
        lines /a 0 1 => one next 1 of 2 newline
        lines /a 1 1 => two next end of 2
        lines /a 0 9 => one|two next end of 2"#,
    ),
    (
        "lines of empty and blank files",
        &[],
        r#"
        write /a ""
        lines /a 0 9 => (empty) next end of 0
        write /a "\n"
        lines /a 0 9 => (empty) next end of 1 newline
        write /a "\n\nx"
        lines /a 0 9 => ||x next end of 3
        lines /a 0 0 => (empty) next 0 of 3"#,
    ),
    (
        "lines keep carriage returns",
        &[],
        r#"
        write /a "one\r\ntwo\r\n"
        lines /a 0 9 => one\r|two\r next end of 2 newline"#,
    ),
    (
        "stream cuts content into chunks",
        &[],
        r#"
        write /a 0123456789
        stream /a 4 => 1/3:0123 2/3:4567 3/3:89!
        stream /a 5 => 1/2:01234 2/2:56789!
        stream /a 10 => 1/1:0123456789!
        stream /a 99 => 1/1:0123456789!"#,
    ),
    (
        "stream of an empty file is one empty chunk",
        &[],
        r#"
        write /a ""
        stream /a 4 => 1/1:(empty)!"#,
    ),
    (
        "edit replaces the only occurrence",
        &[],
        r#"
        write /a "one two three\n"
        edit /a two 2 => 1
        cat /a => one 2 three\n"#,
    ),
    (
        "edit takes the text literally",
        &[],
        r#"
        write /a "a.b a+b $1 [x]*\n"
        edit /a a+b "\\$1" => 1
        edit /a [x]* y => 1
        cat /a => a.b \$1 $1 y\n"#,
    ),
    (
        "edit spans lines and keeps line ends",
        &[],
        r#"
        write /a "one\r\ntwo\r\nthree"
        edit /a "one\r\ntwo" "1\r\n2" => 1
        cat /a => 1\r\n2\r\nthree"#,
    ),
    (
        "edit refuses what is not there or ambiguous",
        &[],
        r#"
        write /a "one one\n"
        edit /a two x !! EINVAL
        edit /a one x !! EINVAL
        edit /a "" x !! EINVAL
        edit -all /a two x !! EINVAL"#,
    ),
    (
        "edit of all counts occurrences from the left",
        &[],
        "
        write /a aaaaa
        edit -all /a aa b => 2
        cat /a => bba",
    ),
    (
        "edit can delete and can do nothing",
        &[],
        "
        write /a xyz
        edit /a y y => 1
        cat /a => xyz
        edit /a xyz \"\" => 1
        cat /a => (empty)",
    ),
    (
        "edit of emoji and accents",
        &[],
        r#"
        write /a "naïve 😀 日本\n"
        edit /a 😀 🎉🎉 => 1
        edit /a ï i => 1
        cat /a => naive 🎉🎉 日本\n"#,
    ),
    (
        "edit refuses missing files and directories",
        &[],
        "
        edit /a x y !! ENOENT
        mkdir /d
        edit /d x y !! EISDIR
        edit /no/a x y !! ENOENT",
    ),
    (
        "edit with another version is refused",
        &[],
        "
        write /a x
        version v /a
        edit -if=v /a x y => 1
        edit -if=v /a y z !! ESTALE
        cat /a => y",
    ),
    (
        "edit keeps the mode",
        &[Modes],
        "
        write -m=755 /a x
        edit /a x y
        mode /a => 755",
    ),
    (
        "large content comes back",
        &[],
        "
        write /a {0123456789abcdef*20000}
        stat /a => file 320000
        range /a 319998 9 => ef
        totals / => 1 0 320000",
    ),
];
