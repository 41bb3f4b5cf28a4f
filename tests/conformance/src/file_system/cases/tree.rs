//! Paths, names, directories, removing, modes and times.

use super::Scripted;
use crate::file_system::CaseRequirement::{Identity, Modes, Normalizing};

pub(super) const CASES: &[Scripted] = &[
    (
        "root is an empty directory",
        &[],
        "
        ls / => (nothing)
        stat / => directory 0
        lstat / => directory 0
        realpath / => /
        exists / => yes
        totals / => 0 0 0",
    ),
    (
        "paths are normalised by their text",
        &[],
        "
        write /a/b x
        cat //a///b => x
        cat /a/./b/ => x
        cat /a/../a/b => x
        cat /../a/b => x
        cat a/b => x
        cat /a/no/../b => x",
    ),
    (
        "texts that are no paths",
        &[],
        r#"
        cat "" !! ENOENT
        cat "/a\0b" !! EINVAL
        write "/a\0b" x !! EINVAL
        cat /{x*4097} !! ENAMETOOLONG"#,
    ),
    (
        "names of 255 bytes and not of 256",
        &[],
        "
        write /{x*255} a => created
        cat /{x*255} => a
        write /{x*256} a !! ENAMETOOLONG
        mkdir /{x*256} !! ENAMETOOLONG
        mkdir -p /d/{x*256}/e !! ENAMETOOLONG
        write /d/{x*256} a !! ENAMETOOLONG
        cat /{x*256} !! ENAMETOOLONG
        chmod 600 /{x*256} !! ENAMETOOLONG
        utimes 1 /{x*256} !! ENAMETOOLONG
        mv /{x*255} /{y*256} !! ENAMETOOLONG
        cp /{x*255} /{y*256} !! ENAMETOOLONG",
    ),
    (
        "names that must not be stored",
        &[],
        r#"
        write "/a\\b" x !! EINVAL
        mkdir "/a\\b" !! EINVAL
        mkdir -p "/d/a\\b/c" !! EINVAL
        write /f x
        mv /f "/a\\b" !! EINVAL
        cp /f "/a\\b" !! EINVAL
        cat "/a\\b" !! ENOENT"#,
    ),
    (
        "names with spaces, dots and all scripts",
        &[],
        r#"
        write "/ a b " 1
        write "/.hidden" 2
        write "/..." 3
        write "/日本 😀.txt" 4
        write "/-rf" 5
        write "/*?[x]" 6
        cat "/ a b " => 1
        cat "/.hidden" => 2
        cat "/..." => 3
        cat "/日本 😀.txt" => 4
        cat "/-rf" => 5
        cat "/*?[x]" => 6"#,
    ),
    (
        "names are case sensitive",
        &[],
        "
        write /a 1
        write /A 2
        cat /a => 1
        cat /A => 2
        ls / => A a",
    ),
    (
        "names are kept in form C",
        &[Normalizing],
        r#"
        write "/e\u{301}" 1
        cat "/\u{e9}" => 1
        cat "/e\u{301}" => 1
        write -new "/\u{e9}" 2 !! EEXIST
        ls / => é"#,
    ),
    (
        "deep trees",
        &[],
        "
        mkdir -p {/d*60}
        write {/d*60}/f x
        cat {/d*60}/f => x
        totals / => 1 60 1
        rm -r /d
        ls / => (nothing)",
    ),
    (
        "mkdir makes one directory",
        &[],
        "
        mkdir /a
        stat /a => directory 0
        ls /a => (nothing)
        mkdir /a/b
        ls /a => b/",
    ),
    (
        "mkdir refuses what exists",
        &[],
        "
        mkdir /a
        mkdir /a !! EEXIST
        write /f x
        mkdir /f !! EEXIST
        mkdir / !! EEXIST",
    ),
    (
        "mkdir refuses missing parents and files as parents",
        &[],
        "
        mkdir /a/b !! ENOENT
        write /f x
        mkdir /f/a !! ENOTDIR
        mkdir -p /f/a !! ENOTDIR
        mkdir -p /f/a/b !! ENOTDIR",
    ),
    (
        "mkdir recursive makes parents and welcomes a directory",
        &[],
        "
        mkdir -p /a/b/c
        mkdir -p /a/b/c
        mkdir -p /a
        mkdir -p /
        ls /a/b => c/
        write /a/f x
        mkdir -p /a/f !! EEXIST",
    ),
    (
        "mkdir sets the mode of the last alone",
        &[Modes],
        "
        mkdir -p -m=700 /a/b
        mode /a/b => 700
        mode /a => 755
        mkdir /c
        mode /c => 755",
    ),
    (
        "readdir is sorted by code points",
        &[],
        "
        write /b 1
        mkdir /a
        write /Z 2
        write /a.txt 3
        write /é 4
        write /10 5
        write /9 6
        ls / => 10 9 Z a/ a.txt b é",
    ),
    (
        "readdir of what is no directory",
        &[],
        "
        ls /a !! ENOENT
        write /f x
        ls /f !! ENOTDIR
        ls /f/a !! ENOTDIR",
    ),
    (
        "rm of a file",
        &[],
        "
        write /a x
        rm /a
        exists /a => no
        cat /a !! ENOENT
        ls / => (nothing)",
    ),
    (
        "rm frees the name",
        &[],
        "
        write /a one
        rm /a
        write -new /a two => created
        cat /a => two
        rm /a
        mkdir /a
        ls / => a/",
    ),
    (
        "rm takes an empty directory and no other",
        &[],
        "
        mkdir -p /a/b
        rm /a !! ENOTEMPTY
        rm -f /a !! ENOTEMPTY
        rm /a/b
        rm /a
        ls / => (nothing)",
    ),
    (
        "rm recursive takes all below",
        &[],
        "
        write /a/b/c x
        write /a/d y
        write /e z
        rm -r /a
        ls / => e
        cat /a/b/c !! ENOENT
        write /a/b/c new => created
        ls /a => b/",
    ),
    (
        "rm of what is missing",
        &[],
        "
        rm /a !! ENOENT
        rm -r /a !! ENOENT
        rm /a/b !! ENOENT
        rm -f /a
        rm -r -f /a/b
        write /f x
        rm /f/a !! ENOTDIR
        rm -f /f/a
        cat /f => x",
    ),
    (
        "rm of the root is refused",
        &[],
        "
        write /a x
        rm / !! EBUSY
        rm -r / !! EBUSY
        rm -r -f / !! EBUSY",
    ),
    (
        "chmod keeps all permission bits",
        &[Modes],
        "
        write /a x
        chmod 600 /a
        mode /a => 600
        chmod 4755 /a
        mode /a => 4755
        chmod 0 /a
        mode /a => 0
        chmod 644 /a
        mkdir /d
        chmod 1777 /d
        mode /d => 1777
        cat /a => x",
    ),
    (
        "chmod and utimes of what is missing",
        &[],
        "
        chmod 600 /a !! ENOENT
        utimes 1000 /a !! ENOENT
        write /f x
        utimes 1000 /f/a !! ENOTDIR",
    ),
    (
        "utimes sets the time, a write sets another",
        &[],
        "
        write /a x
        utimes 1234567890123 /a
        mtime /a => 1234567890123
        utimes 0 /a
        mtime /a => 0
        append /a y
        utimes 0 /a
        mtime /a => 0
        mkdir /d
        utimes 5000 /d
        mtime /d => 5000
        cat /a => xy",
    ),
    (
        "default modes",
        &[Modes],
        "
        write /a x
        mode /a => 644
        mkdir /d
        mode /d => 755",
    ),
    (
        "media type follows the name",
        &[],
        "
        write /a.json x
        mime /a.json => application/json
        write /b.png x
        mime /b.png => image/png
        write /c x
        mime /c => application/octet-stream
        mv /a.json /a.html
        mime /a.html => text/html",
    ),
    (
        "id survives write, edit, append, chmod and move",
        &[Identity],
        "
        write /a x
        id f /a
        write /a y
        edit /a y z
        append /a w
        utimes 1 /a
        mv /a /d/b
        is f /d/b => yes
        mv /d /e
        is f /e/b => yes",
    ),
    (
        "ids of different objects differ",
        &[],
        "
        write /a x
        id a /a
        write /b x
        is a /b => no
        cp /a /c
        is a /c => no
        mkdir /d
        is a /d => no",
    ),
    (
        "id of a directory survives a move",
        &[],
        "
        mkdir /d
        id d /d
        write /d/f x
        mv /d /e
        is d /e => yes",
    ),
    (
        "totals count files, directories and bytes",
        &[],
        "
        write /a 123
        write /d/b 45
        mkdir /d/e
        totals / => 2 2 5
        totals /d => 1 1 2
        totals /a => 1 0 3
        totals /no !! ENOENT",
    ),
    (
        "walk lists directories before what they hold",
        &[],
        "
        write /b/c/d 1
        write /b/a 2
        write /a 3
        write /b.txt 4
        walk / => /a /b/ /b/a /b/c/ /b/c/d /b.txt
        walk /b => /b/a /b/c/ /b/c/d
        walk -d=1 / => /a /b/ /b.txt
        walk -d=2 / => /a /b/ /b/a /b/c/ /b.txt",
    ),
    (
        "walk can leave out hidden names, and be limited",
        &[],
        "
        write /.git/x 1
        write /a/.b 2
        write /a/c 3
        walk -shown / => /a/ /a/c
        walk -max=3 / !! EFBIG
        walk -max=5 / => /.git/ /.git/x /a/ /a/.b /a/c",
    ),
    (
        "walk of what is no directory",
        &[],
        "
        walk /a !! ENOENT
        write /a x
        walk /a !! ENOTDIR",
    ),
    (
        "hard links are refused after the checks",
        &[],
        "
        link /a /b !! ENOENT
        mkdir /d
        link /d /b !! EPERM
        write /a x
        write /c y
        link /a /c !! EEXIST",
    ),
];
