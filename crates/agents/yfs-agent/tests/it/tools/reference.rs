//! The contract of the reference server's tools.

use expect_test::expect;
use yfs_agent::ToolVocabulary;
use yfs_vfs::FileSystemExt;

use crate::support::fixture::ToolFixture;

#[tokio::test]
async fn replies_have_the_texts_of_the_reference() {
    let script = r#"
        create_directory {"path": "/src/a"}
        write_file {"path": "/src/main.py", "content": "def f():\n    return 1\n\n# é\n"}
        write_file {"path": "/none/x", "content": ""}
        write_file {"path": "/notes.txt", "content": "one\r\ntwo\r\nthree"}
        read_text_file {"path": "/src/main.py", "head": 2}
        read_text_file {"path": "/src/main.py", "tail": 1}
        read_text_file {"path": "/src/main.py", "tail": 1, "head": 1}
        read_multiple_files {"paths": ["/src/main.py", "/none"]}
        read_multiple_files {"paths": []}
        edit_file {"path": "/src/main.py", "edits": [{"oldText": "return 1", "newText": "return 2"}], "dryRun": true}
        edit_file {"path": "/src/main.py", "edits": [{"oldText": "  return 1\n", "newText": "  x = 2\n  return x\n"}]}
        edit_file {"path": "/src/main.py", "edits": [{"oldText": "def f():\n        x = 2", "newText": "def f():\n        x = 3"}]}
        edit_file {"path": "/src/main.py", "edits": [{"oldText": "x", "newText": "y"}]}
        edit_file {"path": "/src/main.py", "edits": [{"oldText": "zzz", "newText": "y"}]}
        edit_file {"path": "/notes.txt", "edits": [{"oldText": "one\ntwo", "newText": "1\n2"}]}
        read_text_file {"path": "/notes.txt"}
        list_directory {"path": "/"}
        list_directory_with_sizes {"path": "/", "sortBy": "size"}
        directory_tree {"path": "/"}
        directory_tree {"path": "/", "excludePatterns": ["src"]}
        search_files {"path": "/", "pattern": "**/*.py"}
        search_files {"path": "/", "pattern": "*.py"}
        move_file {"source": "/notes.txt", "destination": "/src/main.py"}
        move_file {"source": "/notes.txt", "destination": "/src/notes.txt"}
        get_file_info {"path": "/src/notes.txt"}
        list_allowed_directories {}
    "#;
    ToolFixture::new(&[ToolVocabulary::Reference]).check(script, expect![[r#"
        > create_directory {"path": "/src/a"}
        Successfully created directory /src/a
        > write_file {"path": "/src/main.py", "content": "def f():\n    return 1\n\n# é\n"}
        Successfully wrote to /src/main.py
        > write_file {"path": "/none/x", "content": ""}
        ! ENOENT: no such file or directory, open '/none/x'
        > write_file {"path": "/notes.txt", "content": "one\r\ntwo\r\nthree"}
        Successfully wrote to /notes.txt
        > read_text_file {"path": "/src/main.py", "head": 2}
        def f():
            return 1
        > read_text_file {"path": "/src/main.py", "tail": 1}

        > read_text_file {"path": "/src/main.py", "tail": 1, "head": 1}
        ! Cannot specify both head and tail parameters simultaneously
        > read_multiple_files {"paths": ["/src/main.py", "/none"]}
        /src/main.py:
        def f():
            return 1

        # é


        ---
        /none: Error - ENOENT: no such file or directory, open '/none'
        > read_multiple_files {"paths": []}
        ! MCP error -32602: Input validation error: Invalid arguments for tool read_multiple_files: Too small: expected array to have >=1 items at paths
        > edit_file {"path": "/src/main.py", "edits": [{"oldText": "return 1", "newText": "return 2"}], "dryRun": true}
        ```diff
        Index: /src/main.py
        ===================================================================
        --- /src/main.py	original
        +++ /src/main.py	modified
        @@ -1,4 +1,4 @@
         def f():
        -    return 1
        +    return 2
        ␠
         # é
        ```


        > edit_file {"path": "/src/main.py", "edits": [{"oldText": "  return 1\n", "newText": "  x = 2\n  return x\n"}]}
        ```diff
        Index: /src/main.py
        ===================================================================
        --- /src/main.py	original
        +++ /src/main.py	modified
        @@ -1,4 +1,5 @@
         def f():
        -    return 1
        +    x = 2
        +  return x
        ␠
         # é
        ```


        > edit_file {"path": "/src/main.py", "edits": [{"oldText": "def f():\n        x = 2", "newText": "def f():\n        x = 3"}]}
        ```diff
        Index: /src/main.py
        ===================================================================
        --- /src/main.py	original
        +++ /src/main.py	modified
        @@ -1,5 +1,5 @@
         def f():
        -    x = 2
        +    x = 3
           return x
        ␠
         # é
        ```


        > edit_file {"path": "/src/main.py", "edits": [{"oldText": "x", "newText": "y"}]}
        ! The text to replace occurs 2 times; make it unique by more of its lines:
        x
        > edit_file {"path": "/src/main.py", "edits": [{"oldText": "zzz", "newText": "y"}]}
        ! Could not find exact match for edit:
        zzz
        > edit_file {"path": "/notes.txt", "edits": [{"oldText": "one\ntwo", "newText": "1\n2"}]}
        ```diff
        Index: /notes.txt
        ===================================================================
        --- /notes.txt	original
        +++ /notes.txt	modified
        @@ -1,3 +1,3 @@
        -one
        -two
        +1
        +2
         three
        \ No newline at end of file
        ```


        > read_text_file {"path": "/notes.txt"}
        1␍
        2␍
        three
        > list_directory {"path": "/"}
        [FILE] notes.txt
        [DIR] src
        > list_directory_with_sizes {"path": "/", "sortBy": "size"}
        [FILE] notes.txt                            11 B
        [DIR] src                            

        Total: 1 files, 1 directories
        Combined size: 11 B
        > directory_tree {"path": "/"}
        [
          {
            "name": "notes.txt",
            "type": "file"
          },
          {
            "name": "src",
            "type": "directory",
            "children": [
              {
                "name": "a",
                "type": "directory",
                "children": []
              },
              {
                "name": "main.py",
                "type": "file"
              }
            ]
          }
        ]
        > directory_tree {"path": "/", "excludePatterns": ["src"]}
        [
          {
            "name": "notes.txt",
            "type": "file"
          }
        ]
        > search_files {"path": "/", "pattern": "**/*.py"}
        /src/main.py
        > search_files {"path": "/", "pattern": "*.py"}
        No matches found
        > move_file {"source": "/notes.txt", "destination": "/src/main.py"}
        ! Destination already exists: /src/main.py
        > move_file {"source": "/notes.txt", "destination": "/src/notes.txt"}
        Successfully moved /notes.txt to /src/notes.txt
        > get_file_info {"path": "/src/notes.txt"}
        size: 11
        created: Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)
        modified: Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)
        accessed: Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)
        isDirectory: false
        isFile: true
        permissions: 644
        > list_allowed_directories {}
        Allowed directories:
        /
    "#]]).await;
}

#[tokio::test]
async fn roots_limit_the_tools_and_media_are_blocks() {
    let fixture = ToolFixture::new(&[ToolVocabulary::Reference]);
    let fs = fixture.session.fs();
    let path = |text: &str| text.parse().expect("a path");
    fs.create_new(&path("/in/p.png"), vec![1, 2, 255].into()).await.expect("written");
    fs.create_new(&path("/in/a b.zip"), vec![1, 2, 255].into()).await.expect("written");
    fixture.session.set_roots(&[path("/in")]);
    let script = r#"
        read_media_file {"path": "/in/p.png"}
        read_media_file {"path": "a b.zip"}
        read_media_file {"path": "/inside"}
        list_allowed_directories {}
    "#;
    fixture
        .check(
            script,
            expect![[r#"
                > read_media_file {"path": "/in/p.png"}
                [image image/png, 3 bytes]
                > read_media_file {"path": "a b.zip"}
                [resource file:///in/a%20b.zip application/octet-stream, 3 bytes]
                > read_media_file {"path": "/inside"}
                ! Access denied - path outside allowed directories: /inside not in /in
                > list_allowed_directories {}
                Allowed directories:
                /in
            "#]],
        )
        .await;
    let reply = fixture.call("read_media_file", serde_json::json!({"path": "/in/p.png"})).await;
    expect![[r#"{"content":[{"data":"AQL/","mimeType":"image/png","type":"image"}]}"#]]
        .assert_eq(&reply.structured.expect("a result").to_string());
}
