//! The contract of the deepagents tools.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use yfs_agent::{DeepAgentsProfile, ToolVocabulary};
use yfs_types::path::VPath;
use yfs_vfs::{FileSystemExt, MemoryFs};

use crate::support::fixture::ToolFixture;

const REPLACING: ToolVocabulary = ToolVocabulary::DeepAgents(DeepAgentsProfile::Replacing);
const CREATE_ONLY: ToolVocabulary = ToolVocabulary::DeepAgents(DeepAgentsProfile::CreateOnly);

/// `glob` said that there were no files in directories that `ls` and `grep` showed.
#[tokio::test]
async fn glob_finds_what_grep_finds_in_directories_with_a_dot() {
    let script = r#"
        write_file {"file_path": "/app/.notes/report.md", "content": "needle\n"}
        grep {"pattern": "needle"}
        glob {"pattern": "**/report.md"}
        glob {"pattern": "*.md", "path": "/app"}
    "#;
    ToolFixture::new(&[REPLACING])
        .check(
            script,
            expect![[r#"
        > write_file {"file_path": "/app/.notes/report.md", "content": "needle\n"}
        Updated file /app/.notes/report.md
        > grep {"pattern": "needle"}
        /app/.notes/report.md
        > glob {"pattern": "**/report.md"}
        ['/app/.notes/report.md']
        > glob {"pattern": "*.md", "path": "/app"}
        ['/app/.notes/report.md']
    "#]],
        )
        .await;
}

/// Files that are not text were skipped in silence.
#[tokio::test]
async fn grep_names_the_files_that_are_not_text() {
    let fs = MemoryFs::new();
    for (at, content) in [("/a.bin", "needle\0"), ("/b.bin", "\0"), ("/c.txt", "needle\n")] {
        fs.write_text(&VPath::parse(at).expect("a path"), content).await.expect("written");
    }
    let fixture = ToolFixture::over(Arc::new(fs), &[REPLACING]);
    let script = r#"
        grep {"pattern": "needle"}
        grep {"pattern": "none"}
        grep {"pattern": "none", "glob": "a.*"}
        grep {"pattern": "needle", "glob": "*.txt"}
    "#;
    fixture
        .check(
            script,
            expect![[r#"
        > grep {"pattern": "needle"}
        /c.txt

        Note: 2 files are not text and were not searched: /a.bin, /b.bin
        > grep {"pattern": "none"}
        No matches found

        Note: 2 files are not text and were not searched: /a.bin, /b.bin
        > grep {"pattern": "none", "glob": "a.*"}
        No matches found

        Note: 1 file is not text and was not searched: /a.bin
        > grep {"pattern": "needle", "glob": "*.txt"}
        /c.txt
    "#]],
        )
        .await;
}

#[tokio::test]
async fn replies_have_the_texts_of_deepagents() {
    let script = r#"
        ls {"path": "/"}
        write_file {"file_path": "/src/main.py", "content": "import os\n\nprint('a|b')\n"}
        write_file {"file_path": "src/util.py", "content": "x = 1\nx = 2"}
        write_file {"file_path": "/empty.txt", "content": ""}
        write_file {"file_path": "/it's.txt", "content": "x"}
        ls {"path": "/"}
        ls {"path": "/none"}
        ls {"path": "/empty.txt"}
        read_file {"file_path": "/src/main.py"}
        read_file {"file_path": "/src/main.py", "offset": 1, "limit": 1}
        read_file {"file_path": "/src/main.py", "offset": -3, "limit": 1}
        read_file {"file_path": "/src/main.py", "limit": 0}
        read_file {"file_path": "/src/main.py", "offset": 9}
        read_file {"file_path": "/empty.txt"}
        read_file {"file_path": "/none"}
        read_file {"file_path": "/../x"}
        read_file {"file_path": "C:\\x"}
        edit_file {"file_path": "/src/util.py", "old_string": "x", "new_string": "y"}
        edit_file {"file_path": "/src/util.py", "old_string": "x", "new_string": "y", "replace_all": true}
        edit_file {"file_path": "/src/util.py", "old_string": "", "new_string": "y"}
        edit_file {"file_path": "/src/util.py", "old_string": "zzz", "new_string": "y"}
        edit_file {"file_path": "/src/util.py", "old_string": "y = 2\n", "new_string": "y = 3\n"}
        edit_file {"file_path": "/none", "old_string": "a", "new_string": "y"}
        glob {"pattern": "*.py"}
        glob {"pattern": "/*.py", "path": "/src"}
        glob {"pattern": "**/*.rs"}
        glob {"pattern": "../*"}
        grep {"pattern": "y ="}
        grep {"pattern": "y =", "output_mode": "content"}
        grep {"pattern": "y =", "output_mode": "count"}
        grep {"pattern": "y =", "output_mode": "content", "max_count": 1}
        grep {"pattern": "foo|bar"}
        grep {"pattern": "y", "max_count": 0}
        delete {"file_path": "/src"}
        delete {"file_path": "/src"}
    "#;
    ToolFixture::new(&[REPLACING]).check(script, expect![[r#"
        > ls {"path": "/"}
        No files found
        > write_file {"file_path": "/src/main.py", "content": "import os\n\nprint('a|b')\n"}
        Updated file /src/main.py
        > write_file {"file_path": "src/util.py", "content": "x = 1\nx = 2"}
        Updated file /src/util.py
        > write_file {"file_path": "/empty.txt", "content": ""}
        Updated file /empty.txt
        > write_file {"file_path": "/it's.txt", "content": "x"}
        Updated file /it's.txt
        > ls {"path": "/"}
        ['/empty.txt', "/it's.txt", '/src/']
        > ls {"path": "/none"}
        ! Error: Path '/none': path_not_found
        > ls {"path": "/empty.txt"}
        ! Error: Path '/empty.txt': not_a_directory
        > read_file {"file_path": "/src/main.py"}
        @@ lines 1-3 of 3 @@
        import os

        print('a|b')
        > read_file {"file_path": "/src/main.py", "offset": 1, "limit": 1}
        @@ lines 2-2 of 3 | next offset 2 @@

        > read_file {"file_path": "/src/main.py", "offset": -3, "limit": 1}
        [Requested offset -3 is before the start of the file; read from line 1 instead.]
        @@ lines 1-1 of 3 | next offset 1 @@
        import os
        > read_file {"file_path": "/src/main.py", "limit": 0}
        System reminder: no lines were read because `limit` was 0. The file was not inspected and may have contents; retry with `limit` >= 1 to read it.
        > read_file {"file_path": "/src/main.py", "offset": 9}
        ! Error: Line offset 9 exceeds file length (3 lines)
        > read_file {"file_path": "/empty.txt"}
        System reminder: File exists but has empty contents
        > read_file {"file_path": "/none"}
        ! Error: File '/none' not found
        > read_file {"file_path": "/../x"}
        ! Error: Path traversal not allowed: /../x
        > read_file {"file_path": "C:\\x"}
        ! Error: Windows absolute paths are not supported: C:\x. Please use virtual paths starting with / (e.g., /workspace/file.txt)
        > edit_file {"file_path": "/src/util.py", "old_string": "x", "new_string": "y"}
        ! Error: String 'x' appears 2 times in file. Use replace_all=True to replace all instances, or provide a more specific string with surrounding context.
        > edit_file {"file_path": "/src/util.py", "old_string": "x", "new_string": "y", "replace_all": true}
        Successfully replaced 2 instance(s) of the string in '/src/util.py'
        > edit_file {"file_path": "/src/util.py", "old_string": "", "new_string": "y"}
        ! Error: old_string cannot be empty. Provide the exact text to replace.
        > edit_file {"file_path": "/src/util.py", "old_string": "zzz", "new_string": "y"}
        ! Error: String not found in file: 'zzz'
        > edit_file {"file_path": "/src/util.py", "old_string": "y = 2\n", "new_string": "y = 3\n"}
        ! Error: old_string ends with a newline, but the file does not end with a newline. Retry with the trailing newline removed from old_string (and from new_string if it also ends with a newline).
        > edit_file {"file_path": "/none", "old_string": "a", "new_string": "y"}
        ! Error: File '/none' not found
        > glob {"pattern": "*.py"}
        ['/src/main.py', '/src/util.py']
        > glob {"pattern": "/*.py", "path": "/src"}
        ['/src/main.py', '/src/util.py']
        > glob {"pattern": "**/*.rs"}
        No files found
        > glob {"pattern": "../*"}
        ! Error: EINVAL: invalid argument, glob '../*': the pattern contains the component '..'
        > grep {"pattern": "y ="}
        /src/util.py
        > grep {"pattern": "y =", "output_mode": "content"}
        /src/util.py:
          1: y = 1
          2: y = 2
        > grep {"pattern": "y =", "output_mode": "count"}
        /src/util.py: 2
        > grep {"pattern": "y =", "output_mode": "content", "max_count": 1}
        /src/util.py:
          1: y = 1

        Note: the search stopped early (it hit its time limit or the maximum match count). The matches above are valid but incomplete. Narrow the search (a more specific pattern or a narrower path), or raise max_count, to see the rest.
        > grep {"pattern": "foo|bar"}
        No matches found

        Note: grep matches literal text, not regex, so characters like `|`, `.*`, and `\.` are searched verbatim. Search for the literal text you need instead; for `|` alternation, run a separate search per alternative.
        > grep {"pattern": "y", "max_count": 0}
        ! Error: max_count must be at least 1
        > delete {"file_path": "/src"}
        Deleted /src
        > delete {"file_path": "/src"}
        ! Error: '/src' not found
    "#]]).await;
}

#[tokio::test]
async fn a_profile_only_creates_files() {
    let fixture = ToolFixture::new(&[CREATE_ONLY]);
    let script = r#"
        write_file {"file_path": "/a", "content": "1"}
        write_file {"file_path": "/a", "content": "2"}
        read_file {"file_path": "/a"}
    "#;
    fixture.check(script, expect![[r#"
        > write_file {"file_path": "/a", "content": "1"}
        Updated file /a
        > write_file {"file_path": "/a", "content": "2"}
        ! Error: Cannot write to /a because it already exists. Read and then make an edit, or write to a new path.
        > read_file {"file_path": "/a"}
        @@ lines 1-1 of 1 @@
        1
    "#]]).await;
    let names: Vec<_> =
        fixture.catalog.definitions_for(&fixture.session).map(|tool| &tool.name[..]).collect();
    assert_eq!(names, ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]);
}

/// Windows of lines and of characters of long lines, joined, are the file.
#[tokio::test]
async fn windows_join_to_the_file() {
    let long = "é".repeat(200_000);
    for text in ["a\r\nb\r\n\r\nc", "a\n\n\n", "\n\nx\n", &format!("one\n{long}\nlast\n")] {
        let fixture = ToolFixture::new(&[REPLACING]);
        let written = fixture.session.fs().write_text(&"/f".parse().expect("a path"), text).await;
        written.expect("it can be written");
        let (mut joined, mut offset, mut skipped) = (String::new(), 0, 0);
        loop {
            let arguments = json!({
                "file_path": "/f", "offset": offset, "limit": 2, "char_offset": skipped,
            });
            let reply = fixture.call("read_file", arguments).await;
            let output = reply.structured.clone().expect("a window");
            let next_skipped = output["next_char_offset"].as_u64().expect("a number");
            if next_skipped > 0 || skipped > 0 {
                let body = reply.joined_text();
                let body = body.split_once("@@\n").expect("a header").1;
                joined.push_str(body);
                if next_skipped == 0 {
                    joined.push('\n');
                }
            } else {
                joined.push_str(output["content"].as_str().expect("text"));
            }
            let Some(next) = output["next_offset"].as_u64() else { break };
            (offset, skipped) = (next, next_skipped);
        }
        assert!(joined == text, "{} characters of {}", joined.len(), text.len());
    }
}

#[tokio::test]
async fn line_endings_stay_and_media_are_blocks() {
    let fs = MemoryFs::new();
    let path = |text: &str| text.parse().expect("a path");
    fs.write_text(&path("/dos.txt"), "one\r\ntwo\r\n").await.expect("written");
    fs.create_new(&path("/a b.pdf"), vec![1, 2, 255].into()).await.expect("written");
    fs.create_new(&path("/p.png"), vec![1, 2, 255].into()).await.expect("written");
    fs.create_new(&path("/big.bin"), vec![255; 512_001].into()).await.expect("written");
    let fixture = ToolFixture::over(Arc::new(fs), &[REPLACING]);
    let script = r#"
        edit_file {"file_path": "/dos.txt", "old_string": "one\ntwo", "new_string": "1\n2"}
        read_file {"file_path": "/dos.txt"}
        read_file {"file_path": "/p.png"}
        read_file {"file_path": "/a b.pdf"}
        read_file {"file_path": "/big.bin"}
        edit_file {"file_path": "/p.png", "old_string": "one", "new_string": "1"}
    "#;
    fixture
        .check(
            script,
            expect![[r#"
        > edit_file {"file_path": "/dos.txt", "old_string": "one\ntwo", "new_string": "1\n2"}
        Successfully replaced 1 instance(s) of the string in '/dos.txt'
        > read_file {"file_path": "/dos.txt"}
        @@ lines 1-2 of 2 @@
        1␍
        2␍
        > read_file {"file_path": "/p.png"}
        [image image/png, 3 bytes]
        > read_file {"file_path": "/a b.pdf"}
        [resource file:///a%20b.pdf application/pdf, 3 bytes]
        > read_file {"file_path": "/big.bin"}
        ! Error: File '/big.bin': Binary file exceeds maximum preview size of 512000 bytes
        > edit_file {"file_path": "/p.png", "old_string": "one", "new_string": "1"}
        ! Error: Cannot edit binary files with text replacements.
    "#]],
        )
        .await;
}
