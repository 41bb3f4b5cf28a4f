//! The contract of `memory` and `str_replace_based_edit_tool`.

use std::sync::Arc;

use expect_test::expect;
use yfs_agent::ToolVocabulary;
use yfs_vfs::{FileSystem, FileSystemExt, MemoryFs};

use crate::support::fixture::ToolFixture;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one script and its replies")]
async fn memory_has_the_texts_of_its_contract() {
    let script = r#"
        memory {"command": "view", "path": "/memories"}
        memory {"command": "create", "path": "/memories/prefs.md", "file_text": "Prices: with tax.\nTone: short.\n"}
        memory {"command": "create", "path": "/memories/prefs.md", "file_text": "x"}
        memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "short", "new_str": "brief"}
        memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "none", "new_str": "brief"}
        memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "e", "new_str": "x"}
        memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "", "new_str": "x"}
        memory {"command": "insert", "path": "/memories/prefs.md", "insert_line": 0, "insert_text": "Sam\n"}
        memory {"command": "insert", "path": "/memories/prefs.md", "insert_line": 9, "insert_text": "Sam\n"}
        memory {"command": "view", "path": "/memories/prefs.md"}
        memory {"command": "view", "path": "/memories/prefs.md", "view_range": [2, -1]}
        memory {"command": "create", "path": "/memories/people/ana/notes.md", "file_text": "Likes crime."}
        memory {"command": "create", "path": "/memories/people/ana/a/deep.md", "file_text": "x"}
        memory {"command": "create", "path": "/memories/.hidden", "file_text": "x"}
        memory {"command": "view", "path": "/memories/"}
        memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/prefs.md"}
        memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/persons"}
        memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/x"}
        memory {"command": "delete", "path": "/memories"}
        memory {"command": "delete", "path": "/memories/persons"}
        memory {"command": "delete", "path": "/memories/persons"}
        memory {"command": "view", "path": "/memories/none"}
        memory {"command": "view", "path": "/etc/passwd"}
        memory {"command": "view", "path": "/memoriesx"}
        memory {"command": "view", "path": "/memories/../etc"}
        memory {"command": "create", "path": "/memories/x"}
        memory {"command": "undo_edit", "path": "/memories/x"}
    "#;
    ToolFixture::new(&[ToolVocabulary::Memory]).check(script, expect![[r#"
        > memory {"command": "view", "path": "/memories"}
        Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:
        0B	/memories
        > memory {"command": "create", "path": "/memories/prefs.md", "file_text": "Prices: with tax.\nTone: short.\n"}
        File created successfully at: /memories/prefs.md
        > memory {"command": "create", "path": "/memories/prefs.md", "file_text": "x"}
        ! File /memories/prefs.md already exists
        > memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "short", "new_str": "brief"}
        The memory file has been edited. Here is the snippet showing the change (with line numbers):
             1	Prices: with tax.
             2	Tone: brief.
             3	
        > memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "none", "new_str": "brief"}
        ! No replacement was performed, old_str `none` did not appear verbatim in /memories/prefs.md.
        > memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "e", "new_str": "x"}
        ! No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 2, 2. Please ensure it is unique
        > memory {"command": "str_replace", "path": "/memories/prefs.md", "old_str": "", "new_str": "x"}
        ! No replacement was performed, old_str is empty.
        > memory {"command": "insert", "path": "/memories/prefs.md", "insert_line": 0, "insert_text": "Sam\n"}
        The file /memories/prefs.md has been edited.
        > memory {"command": "insert", "path": "/memories/prefs.md", "insert_line": 9, "insert_text": "Sam\n"}
        ! Invalid `insert_line` parameter: 9. It should be within the range [0, 3].
        > memory {"command": "view", "path": "/memories/prefs.md"}
        Here's the content of /memories/prefs.md with line numbers:
             1	Sam
             2	Prices: with tax.
             3	Tone: brief.
             4	
        > memory {"command": "view", "path": "/memories/prefs.md", "view_range": [2, -1]}
        Here's the content of /memories/prefs.md with line numbers:
             2	Prices: with tax.
             3	Tone: brief.
             4	
        > memory {"command": "create", "path": "/memories/people/ana/notes.md", "file_text": "Likes crime."}
        File created successfully at: /memories/people/ana/notes.md
        > memory {"command": "create", "path": "/memories/people/ana/a/deep.md", "file_text": "x"}
        File created successfully at: /memories/people/ana/a/deep.md
        > memory {"command": "create", "path": "/memories/.hidden", "file_text": "x"}
        File created successfully at: /memories/.hidden
        > memory {"command": "view", "path": "/memories/"}
        Here're the files and directories up to 2 levels deep in /memories/, excluding hidden items:
        48B	/memories/
        13B	/memories/people/
        13B	/memories/people/ana/
        35B	/memories/prefs.md
        > memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/prefs.md"}
        ! The destination /memories/prefs.md already exists
        > memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/persons"}
        Successfully renamed /memories/people to /memories/persons
        > memory {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/x"}
        ! The path /memories/people does not exist
        > memory {"command": "delete", "path": "/memories"}
        ! Cannot delete the /memories directory itself
        > memory {"command": "delete", "path": "/memories/persons"}
        Successfully deleted /memories/persons
        > memory {"command": "delete", "path": "/memories/persons"}
        ! The path /memories/persons does not exist
        > memory {"command": "view", "path": "/memories/none"}
        ! The path /memories/none does not exist. Please provide a valid path.
        > memory {"command": "view", "path": "/etc/passwd"}
        ! Path must start with /memories, got: /etc/passwd
        > memory {"command": "view", "path": "/memoriesx"}
        ! Path must start with /memories, got: /memoriesx
        > memory {"command": "view", "path": "/memories/../etc"}
        ! Path /memories/../etc would escape /memories directory
        > memory {"command": "create", "path": "/memories/x"}
        ! this command needs `file_text`
        > memory {"command": "undo_edit", "path": "/memories/x"}
        ! Error: invalid arguments for memory: unknown variant `undo_edit`, expected one of `view`, `create`, `str_replace`, `insert`, `delete`, `rename`
    "#]]).await;
}

#[tokio::test]
async fn a_link_does_not_lead_out_of_memory() {
    let fs = MemoryFs::new();
    let path = |text: &str| text.parse().expect("a path");
    fs.write_text(&path("/secret/key"), "x").await.expect("written");
    fs.mkdir_all(&path("/memories")).await.expect("made");
    fs.symlink("/secret", &path("/memories/out")).await.expect("linked");
    let fixture = ToolFixture::over(Arc::new(fs), &[ToolVocabulary::Memory]);
    let script = r#"
        memory {"command": "view", "path": "/memories/out/key"}
        memory {"command": "create", "path": "/memories/out/new", "file_text": "x"}
        memory {"command": "rename", "old_path": "/memories/out/key", "new_path": "/memories/key"}
    "#;
    fixture
        .check(
            script,
            expect![[r#"
                > memory {"command": "view", "path": "/memories/out/key"}
                ! Path /memories/out/key would escape /memories directory
                > memory {"command": "create", "path": "/memories/out/new", "file_text": "x"}
                ! Path /memories/out/new would escape /memories directory
                > memory {"command": "rename", "old_path": "/memories/out/key", "new_path": "/memories/key"}
                ! Path /memories/out/key would escape /memories directory
            "#]],
        )
        .await;
}

#[tokio::test]
async fn the_editor_keeps_line_endings() {
    let script = r#"
        str_replace_based_edit_tool {"command": "create", "path": "/dos.txt", "file_text": "one\r\ntwo\r\n"}
        str_replace_based_edit_tool {"command": "str_replace", "path": "/dos.txt", "old_str": "one\ntwo", "new_str": "1\n2"}
        str_replace_based_edit_tool {"command": "insert", "path": "/dos.txt", "insert_line": 1, "insert_text": "1.5\n"}
        str_replace_based_edit_tool {"command": "view", "path": "/dos.txt", "view_range": [1, 2]}
        str_replace_based_edit_tool {"command": "view", "path": "/"}
        str_replace_based_edit_tool {"command": "delete", "path": "/dos.txt"}
    "#;
    ToolFixture::new(&[ToolVocabulary::TextEditor]).check(script, expect![[r#"
        > str_replace_based_edit_tool {"command": "create", "path": "/dos.txt", "file_text": "one\r\ntwo\r\n"}
        File created successfully at: /dos.txt
        > str_replace_based_edit_tool {"command": "str_replace", "path": "/dos.txt", "old_str": "one\ntwo", "new_str": "1\n2"}
        The file has been edited. Here is the snippet showing the change (with line numbers):
             1	1␍
             2	2␍
             3	
        > str_replace_based_edit_tool {"command": "insert", "path": "/dos.txt", "insert_line": 1, "insert_text": "1.5\n"}
        The file /dos.txt has been edited.
        > str_replace_based_edit_tool {"command": "view", "path": "/dos.txt", "view_range": [1, 2]}
        Here's the content of /dos.txt with line numbers:
             1	1␍
             2	1.5␍
        > str_replace_based_edit_tool {"command": "view", "path": "/"}
        Here're the files and directories up to 2 levels deep in /, excluding hidden items:
        11B	/
        11B	/dos.txt
        > str_replace_based_edit_tool {"command": "delete", "path": "/dos.txt"}
        ! Error: invalid arguments for str_replace_based_edit_tool: unknown variant `delete`, expected one of `view`, `create`, `str_replace`, `insert`
    "#]]).await;
}
