//! The contract of the `fs_*` tools.

use expect_test::expect;
use yfs_agent::ToolVocabulary;

use crate::support::fixture::ToolFixture;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one script and its replies")]
async fn files_are_written_read_and_changed() {
    let fixture = ToolFixture::new(&[ToolVocabulary::FileTools]);
    fixture
        .check(
            r#"
            fs_write {"path": "/a/b.txt", "content": "one\r\ntwo\nthree"}
            fs_read {"path": "/a/b.txt"}
            fs_read_lines {"path": "/a/b.txt", "offset": 2, "limit": 1}
            fs_edit {"path": "/a/b.txt", "old_text": "two", "new_text": "2"}
            fs_edit {"path": "/a/b.txt", "old_text": "e", "new_text": "x"}
            fs_edit {"path": "/a/b.txt", "old_text": "none", "new_text": "x"}
            fs_patch {"path": "/a/b.txt", "hunks": [{"old_text": "one", "new_text": "1"}, {"old_text": "2", "new_text": "II"}]}
            fs_patch {"path": "/a/b.txt", "hunks": [{"old_text": "1", "new_text": "I"}, {"old_text": "zzz", "new_text": ""}]}
            fs_read {"path": "/a/b.txt"}
            fs_copy {"source": "/a", "destination": "/c"}
            fs_move {"source": "/c/b.txt", "destination": "/a/b.txt"}
            fs_move {"source": "/c/b.txt", "destination": "/c/d.txt"}
            fs_diff {"file_a": "/a/b.txt", "file_b": "/c/d.txt"}
            fs_mkdir {"path": "/e/f"}
            fs_mkdir {"path": "/e/f"}
            fs_list {"path": "/"}
            fs_delete {"path": "/a"}
            fs_delete {"path": "/a", "recursive": true}
            fs_read {"path": "/a/b.txt"}
            fs_read {"path": "/../etc/passwd"}
            fs_read {"file": "/x"}
            fs_read {}
            "#,
            expect![[r#"
                > fs_write {"path": "/a/b.txt", "content": "one\r\ntwo\nthree"}
                Wrote 14 bytes to /a/b.txt
                > fs_read {"path": "/a/b.txt"}
                one␍
                two
                three
                > fs_read_lines {"path": "/a/b.txt", "offset": 2, "limit": 1}
                [Lines 2-2 of 3]
                     2→two

                > fs_edit {"path": "/a/b.txt", "old_text": "two", "new_text": "2"}
                Edited /a/b.txt
                > fs_edit {"path": "/a/b.txt", "old_text": "e", "new_text": "x"}
                ! Error: EINVAL: invalid argument, edit '/a/b.txt': the text to replace occurs 3 times, in lines 1, 3; it must occur once, unless all occurrences are replaced
                > fs_edit {"path": "/a/b.txt", "old_text": "none", "new_text": "x"}
                ! Error: EINVAL: invalid argument, edit '/a/b.txt': the text to replace was not found
                > fs_patch {"path": "/a/b.txt", "hunks": [{"old_text": "one", "new_text": "1"}, {"old_text": "2", "new_text": "II"}]}
                Applied 2 hunks to /a/b.txt
                > fs_patch {"path": "/a/b.txt", "hunks": [{"old_text": "1", "new_text": "I"}, {"old_text": "zzz", "new_text": ""}]}
                ! Error: hunk 2: the text to replace was not found
                > fs_read {"path": "/a/b.txt"}
                1␍
                II
                three
                > fs_copy {"source": "/a", "destination": "/c"}
                Copied /a to /c
                > fs_move {"source": "/c/b.txt", "destination": "/a/b.txt"}
                ! Error: EEXIST: file exists, rename '/c/b.txt' -> '/a/b.txt'
                > fs_move {"source": "/c/b.txt", "destination": "/c/d.txt"}
                Moved /c/b.txt to /c/d.txt
                > fs_diff {"file_a": "/a/b.txt", "file_b": "/c/d.txt"}

                > fs_mkdir {"path": "/e/f"}
                Created /e/f
                > fs_mkdir {"path": "/e/f"}
                Exists already: /e/f
                > fs_list {"path": "/"}
                [{"name":"a","type":"directory","size":0},{"name":"c","type":"directory","size":0},{"name":"e","type":"directory","size":0}]
                > fs_delete {"path": "/a"}
                ! Error: ENOTEMPTY: directory not empty, rm '/a'
                > fs_delete {"path": "/a", "recursive": true}
                Deleted /a
                > fs_read {"path": "/a/b.txt"}
                ! Error: ENOENT: no such file or directory, open '/a/b.txt'
                > fs_read {"path": "/../etc/passwd"}
                ! Error: Path traversal not allowed: /../etc/passwd
                > fs_read {"file": "/x"}
                ! Error: invalid arguments for fs_read: unknown field `file`, expected `path`
                > fs_read {}
                ! Error: invalid arguments for fs_read: missing field `path`
            "#]],
        )
        .await;
}
