//! Symbolic links.

use super::Scripted;
use crate::file_system::CaseRequirement::{Clamping, Modes, Symlinks};

pub(super) const CASES: &[Scripted] = &[
    (
        "link leads to a file",
        &[Symlinks],
        "
        write /a hello
        ln a /l
        cat /l => hello
        stat /l => file 5
        lstat /l => symlink 1
        readlink /l => a
        realpath /l => /a
        ls / => a l@",
    ),
    (
        "link counts from its directory, or from the root",
        &[Symlinks],
        "
        write /d/a 1
        write /a 2
        ln a /d/l
        ln ../a /d/up
        ln /a /d/top
        ln ./../d//a /d/odd
        cat /d/l => 1
        cat /d/up => 2
        cat /d/top => 2
        cat /d/odd => 1",
    ),
    (
        "link to a directory is walked through",
        &[Symlinks],
        "
        write /d/f x
        ln d /l
        cat /l/f => x
        ls /l => f
        stat /l => directory 0
        realpath /l/f => /d/f
        write /l/g y
        cat /d/g => y
        mkdir /l/e
        ls /d => e/ f g
        rm /l/g
        ls /d => e/ f",
    ),
    (
        "dot-dot in a link goes up from where it led",
        &[Symlinks],
        "
        mkdir -p /a/b
        write /a/f x
        ln a/b /l
        ln l/../f /m
        cat /m => x",
    ),
    (
        "dot-dot in a link stays at the root",
        &[Symlinks, Clamping],
        "
        write /a/f x
        ln ../../../a/f /a/l
        cat /a/l => x",
    ),
    (
        "links may lead to links",
        &[Symlinks],
        "
        write /f x
        ln f /1
        ln 1 /2
        ln /2 /3
        cat /3 => x
        realpath /3 => /f
        readlink /3 => /2",
    ),
    (
        "links that go round are refused",
        &[Symlinks],
        "
        ln b /a
        ln a /b
        cat /a !! ELOOP
        stat /a !! ELOOP
        ls /a !! ELOOP
        realpath /a !! ELOOP
        write /a x !! ELOOP
        write /a/f x !! ELOOP
        lstat /a => symlink 1
        exists /a => no
        ln self /self
        cat /self !! ELOOP
        rm /self",
    ),
    (
        "dangling links",
        &[Symlinks],
        "
        ln nowhere /l
        cat /l !! ENOENT
        stat /l !! ENOENT
        realpath /l !! ENOENT
        exists /l => no
        lstat /l => symlink 7
        readlink /l => nowhere
        ls / => l@
        cat /l/f !! ENOENT
        write /l/f x !! ENOENT
        mkdir -p /l/d !! ENOENT",
    ),
    (
        "write through a dangling link makes the target",
        &[Symlinks],
        "
        mkdir /d
        ln d/f /l
        write /l x => created
        cat /d/f => x
        lstat /l => symlink 3
        ln no/f /m
        write /m x !! ENOENT",
    ),
    (
        "write follows a link, or replaces it on request",
        &[Symlinks],
        "
        write /f old
        ln f /l
        write /l new
        cat /f => new
        lstat /l => symlink 1
        write -nofollow /l plain
        lstat /l => file 5
        cat /f => new",
    ),
    (
        "create-new refuses even a dangling link",
        &[Symlinks],
        "
        ln nowhere /l
        write -new /l x !! EEXIST
        append -new /l x !! EEXIST
        mkdir /l !! EEXIST
        mkdir -p /l !! EEXIST
        ln x /l !! EEXIST",
    ),
    (
        "append and edit follow a link",
        &[Symlinks],
        "
        write /f one
        ln f /l
        append /l two
        edit /l one 1
        cat /f => 1two
        lstat /l => symlink 1",
    ),
    (
        "mkdir recursive welcomes a link to a directory",
        &[Symlinks],
        "
        mkdir /d
        ln d /l
        mkdir -p /l
        mkdir /l !! EEXIST
        mkdir -p /l/a/b
        ls /d => a/
        write /f x
        ln f /k
        mkdir -p /k !! EEXIST
        mkdir -p /k/a !! ENOTDIR",
    ),
    (
        "rm takes the link and leaves the target",
        &[Symlinks],
        "
        write /d/f x
        ln d /l
        rm -r /l
        cat /d/f => x
        ln d /l
        rm /l
        ls / => d/
        ln l2 /l2
        rm -r -f /l2
        ls / => d/",
    ),
    (
        "rm recursive does not pass through links",
        &[Symlinks],
        "
        write /keep/f x
        mkdir /d
        ln ../keep /d/l
        rm -r /d
        cat /keep/f => x",
    ),
    (
        "link refuses what exists, and bad targets",
        &[Symlinks],
        r#"
        write /a x
        ln b /a !! EEXIST
        ln b / !! EEXIST
        ln "" /l !! ENOENT
        ln "a\0b" /l !! EINVAL
        ln {x*4096} /l !! ENAMETOOLONG
        ln x /a/l !! ENOTDIR
        ln x "/a\\b" !! EINVAL"#,
    ),
    (
        "link makes missing parents",
        &[Symlinks],
        "
        ln ../../f /a/b/l
        write /f x
        cat /a/b/l => x",
    ),
    (
        "readlink of what is no link",
        &[],
        "
        readlink /a !! ENOENT
        write /a x
        readlink /a !! EINVAL
        readlink / !! EINVAL
        readlink /a/b !! ENOTDIR",
    ),
    (
        "slash at the end of a target wants a directory",
        &[Symlinks],
        "
        write /f x
        mkdir /d
        ln f/ /l
        ln d/ /m
        cat /l !! ENOTDIR
        ls /m => (nothing)",
    ),
    (
        "chmod and utimes follow a link",
        &[Symlinks, Modes],
        "
        write /f x
        ln f /l
        chmod 600 /l
        mode /f => 600
        utimes 1000 /l
        mtime /f => 1000",
    ),
    (
        "walk, totals and glob do not follow links",
        &[Symlinks],
        "
        write /d/f x
        ln . /d/loop
        ln d /l
        walk / => /d/ /d/f /d/loop@ /l@
        totals / => 1 1 1
        glob ** => /d/f /d/loop@ /l@
        grep x => /d/f:1:x
        walk /l => /l/f /l/loop@",
    ),
    (
        "realpath of a plain path is the path",
        &[],
        "
        write /a/b x
        realpath /a/b => /a/b
        realpath /a => /a
        realpath /a/c !! ENOENT
        realpath /a/b/c !! ENOTDIR",
    ),
    (
        "many links on one path",
        &[Symlinks],
        "
        write /f x
        ln f /l0
        mkdir /d
        ln .. /d/up
        cat {/d/up*20}/l0 => x
        cat {/d/up*41}/l0 !! ELOOP",
    ),
];
