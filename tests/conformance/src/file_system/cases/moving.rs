//! Moving and copying.

use super::Scripted;
use crate::file_system::CaseRequirement::{Identity, Modes, Symlinks};

pub(super) const CASES: &[Scripted] = &[
    (
        "mv renames a file",
        &[],
        "
        write /a x
        mv /a /b
        cat /b => x
        exists /a => no
        ls / => b",
    ),
    (
        "mv renames a directory with all below",
        &[],
        "
        write /a/b/c x
        write /a/d y
        mv /a /z
        cat /z/b/c => x
        cat /z/d => y
        exists /a => no",
    ),
    (
        "mv between directories",
        &[],
        "
        write /a/f x
        mkdir /b
        mv /a/f /b/f
        ls /a => (nothing)
        cat /b/f => x
        mv /a /b/a
        ls /b => a/ f",
    ),
    (
        "mv makes missing parents by default",
        &[],
        "
        write /a x
        mv -noparents /a /d/e/b !! ENOENT
        mv /a /d/e/b
        cat /d/e/b => x",
    ),
    (
        "mv of a file over a file replaces it",
        &[],
        "
        write /a new
        write /b old
        mv /a /b
        cat /b => new
        ls / => b",
    ),
    (
        "mv over a file keeps the identity of the file",
        &[Identity],
        "
        write /notes.tmp new
        write /notes.md old
        id md /notes.md
        mv /notes.tmp /notes.md
        is md /notes.md => yes
        cat /notes.md => new",
    ),
    (
        "mv over a file brings mode and time along",
        &[Modes],
        "
        write -m=755 /a new
        utimes 1000 /a
        write -m=600 /b old
        mv /a /b
        mode /b => 755
        mtime /b => 1000",
    ),
    (
        "mv without replacing refuses what exists",
        &[],
        "
        write /a x
        write /b y
        mv -n /a /b !! EEXIST
        mkdir /d
        mv -n /d /b !! EEXIST
        mv -n /a /d !! EEXIST
        mv -n /a /c
        cat /c => x",
    ),
    (
        "mv onto itself does nothing",
        &[],
        "
        write /a x
        mv /a /a
        cat /a => x
        mkdir /d
        mv /d /d
        ls / => a d/",
    ),
    (
        "mv of a directory into itself is refused",
        &[],
        "
        mkdir -p /a/b
        mv /a /a/b/c !! EINVAL
        mv /a /a/c !! EINVAL
        mv /a /a/b !! EINVAL",
    ),
    (
        "mv of a directory over an empty one",
        &[],
        "
        write /a/f x
        mkdir /b
        mv /a /b
        cat /b/f => x
        ls / => b/",
    ),
    (
        "mv of a directory over a full one is refused",
        &[],
        "
        write /a/f x
        write /b/g y
        mv /a /b !! ENOTEMPTY
        mkdir /c
        mv /c /b !! ENOTEMPTY",
    ),
    (
        "mv of a file over a directory is refused, and the reverse",
        &[],
        "
        write /f x
        mkdir /d
        mv /f /d !! EISDIR
        mv /d /f !! ENOTDIR",
    ),
    (
        "mv of or onto the root is refused",
        &[],
        "
        write /a x
        mkdir /d
        mv / /b !! EBUSY
        mv /d / !! EBUSY
        mv /a / !! EBUSY",
    ),
    (
        "mv of what is missing makes no parents",
        &[],
        "
        mv /a /d/b !! ENOENT
        mv /no/a /d/b !! ENOENT
        ls / => (nothing)",
    ),
    (
        "mv below a file is refused",
        &[],
        "
        write /f x
        write /g y
        mv /g /f/h !! ENOTDIR
        mv /g/h /f !! ENOTDIR",
    ),
    (
        "mv of a directory onto its ancestor is refused",
        &[],
        "
        mkdir -p /a/b
        mv /a/b /a !! ENOTEMPTY",
    ),
    (
        "mv changes case only",
        &[],
        "
        write /readme x
        mv /readme /README
        ls / => README",
    ),
    (
        "mv swaps through a third name",
        &[],
        "
        write /a 1
        write /b 2
        mv /a /t
        mv /b /a
        mv /t /b
        cat /a => 2
        cat /b => 1",
    ),
    (
        "what moved away is gone, and its name is free",
        &[],
        "
        write /a/f x
        mv /a /b
        write /a/f y => created
        cat /a/f => y
        cat /b/f => x",
    ),
    (
        "cp copies a file",
        &[],
        "
        write /a x
        cp /a /b
        write /a y
        cat /b => x
        cat /a => y",
    ),
    (
        "cp keeps mode and time",
        &[Modes],
        "
        write -m=755 /a x
        utimes 1000 /a
        cp /a /b
        mode /b => 755
        mtime /b => 1000
        write /c y
        cp /a /c
        mode /c => 755
        mtime /c => 1000",
    ),
    (
        "cp replaces a file, which keeps its identity",
        &[Identity],
        "
        write /a new
        write /b old
        id b /b
        cp /a /b
        cat /b => new
        is b /b => yes",
    ),
    (
        "cp makes missing parents by default",
        &[],
        "
        write /a x
        cp -noparents /a /d/b !! ENOENT
        cp /a /d/b
        cat /d/b => x",
    ),
    (
        "cp of a directory wants recursive",
        &[],
        "
        write /a/f x
        cp /a /b !! EISDIR
        cp -r /a /b
        cat /b/f => x",
    ),
    (
        "cp recursive copies all below",
        &[],
        r#"
        write /a/b/c 1
        write /a/d 2
        mkdir /a/e
        write /a/.h 3
        cp -r /a /z
        walk /z => /z/.h /z/b/ /z/b/c /z/d /z/e/
        write /a/b/c changed
        cat /z/b/c => 1"#,
    ),
    (
        "cp recursive merges into a directory",
        &[],
        "
        write /a/f new
        write /a/sub/g 2
        write /b/f old
        write /b/keep 3
        write /b/sub/h 4
        cp -r /a /b
        cat /b/f => new
        cat /b/keep => 3
        ls /b/sub => g h",
    ),
    (
        "cp recursive refuses before it copies",
        &[],
        "
        write /a/a 1
        write /a/x/f 2
        write /b/x 3
        cp -r /a /b !! ENOTDIR
        write /c/a/f 4
        write /c/k 5
        write /e/a 6
        cp -r /e /c !! EISDIR",
    ),
    (
        "cp into itself is refused",
        &[],
        "
        write /a/f x
        cp -r /a /a/b !! EINVAL
        cp -r /a /a/b/c !! EINVAL
        cp -r /a /a !! EINVAL
        cp -r / /a/b !! EINVAL
        write /f x
        cp /f /f !! EINVAL",
    ),
    (
        "what is refused as into itself makes no folder, through links either",
        &[Symlinks],
        "
        write /a/f x
        ln a /l
        cp -r /a /a/x/y !! EINVAL
        cp -r /a /l/x/y !! EINVAL
        mv /a /a/x/y !! EINVAL
        mv /a /l/x/y !! EINVAL
        ls /a => f",
    ),
    (
        "cp into the parent merges",
        &[],
        "
        write /a/b/f x
        cp -r /a/b /a
        ls /a => b/ f
        cat /a/f => x",
    ),
    (
        "cp of a file over a directory is refused, and the reverse",
        &[],
        "
        write /f x
        mkdir /d
        cp /f /d !! EISDIR
        cp -r /d /f !! ENOTDIR
        cp /f / !! EISDIR",
    ),
    (
        "cp without replacing refuses what exists",
        &[],
        "
        write /a x
        write /b y
        cp -n /a /b !! EEXIST
        cp -n /a /c
        cat /c => x",
    ),
    (
        "cp of what is missing makes no parents",
        &[],
        "
        cp /a /d/b !! ENOENT
        cp -r /no/a /d/b !! ENOENT
        ls / => (nothing)",
    ),
    (
        "cp below a file is refused",
        &[],
        "
        write /f x
        cp /f /f/g !! ENOTDIR
        cp /f/g /h !! ENOTDIR",
    ),
    (
        "cp of an empty file",
        &[],
        r#"
        write /a ""
        cp /a /b
        cat /b => (empty)"#,
    ),
    (
        "cp copies links as links",
        &[Symlinks],
        "
        write /d/f x
        ln f /d/l
        ln /nowhere /d/broken
        cp -r /d /e
        readlink /e/l => f
        readlink /e/broken => /nowhere
        cat /e/l => x
        cp /d/l /k
        readlink /k => f",
    ),
    (
        "cp and mv replace a link, not what it points to",
        &[Symlinks],
        "
        write /f old
        write /g new
        ln f /l
        ln f /m
        cp /g /l
        lstat /l => file 3
        mv /g /m
        lstat /m => file 3
        cat /f => old",
    ),
    (
        "mv moves a link and not its target",
        &[Symlinks],
        "
        write /f x
        ln f /l
        mv /l /d/m
        readlink /d/m => f
        exists /d/m => no
        cat /f => x
        ln /f /n
        write /o y
        mv /n /o
        readlink /o => /f",
    ),
];
