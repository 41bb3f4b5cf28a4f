//! Bytes in, bytes out.

use yfs_markdown::{
    front_matter::{patch, read, split},
    parse::parse,
    schema::SchemaProfile,
    source::{SourceMap, remember, render},
    tree_equality::same,
    write::write,
};

use crate::golden::examples;

const PROFILES: [SchemaProfile; 2] = [SchemaProfile::CommonMark, SchemaProfile::Gfm];

/// Reads, keeps the memory as entries, and writes.
fn through(text: &str, profile: SchemaProfile) -> String {
    let (document, map) = remember(text, profile);
    let entries = map.entries();
    let again = entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let again = SourceMap::from_entries(again);
    assert_eq!(again, map, "{text:?}");
    render(&document, &again, profile)
}

#[test]
fn examples_come_back() {
    for profile in PROFILES {
        for example in examples(profile) {
            let text = &example.markdown;
            assert_eq!(&through(text, profile), text, "{} in {profile:?}", example.id);
            for end in ["\r\n", "\r"] {
                let text = text.replace('\n', end);
                assert_eq!(through(&text, profile), text, "{} in {profile:?}", example.id);
            }
            let text = format!("\u{feff}{}", text.trim_end());
            assert_eq!(through(&text, profile), text, "{} in {profile:?}", example.id);
        }
    }
}

/// Two examples beside each other: gaps, lists and definitions of one must not spoil the other.
#[test]
fn pairs_of_examples_come_back() {
    let mut failures = Vec::new();
    for profile in PROFILES {
        let examples = examples(profile);
        for (index, first) in examples.iter().enumerate() {
            let second = &examples[(index * 7 + 13) % examples.len()];
            for text in [
                format!("{}{}", first.markdown, second.markdown),
                format!("{}\n\n\n{}", first.markdown, second.markdown),
                format!("{}\n{}\n{}", first.markdown, second.markdown, first.markdown),
                first.markdown.lines().map(|line| format!("> {line}\n")).collect(),
                format!("- {}", first.markdown.replace('\n', "\n  ")),
                format!("1)\t{}", second.markdown.replace('\n', "\n\t")),
            ] {
                let again = through(&text, profile);
                if again != text {
                    failures
                        .push(format!("{} in {profile:?}: {text:?} became {again:?}", first.id));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
}

/// A memory of another text costs formatting and nothing else.
#[test]
fn a_stale_memory_never_serves_other_content() {
    for profile in PROFILES {
        let examples = examples(profile);
        for (index, example) in examples.iter().enumerate() {
            for step in [1, 5, 23] {
                let other = &examples[(index + step) % examples.len()];
                let (document, _) = remember(&example.markdown, profile);
                let joined = format!("{}\n\n{}", other.markdown, example.markdown);
                let (_, map) = remember(&joined, profile);
                let text = render(&document, &map, profile);
                let meant = parse(&write(&document, profile), profile);
                assert!(same(&parse(&text, profile), &meant), "{}: {text:?}", example.id);
            }
        }
    }
}

/// Files that people wrote, front matter and all: those of this repository.
#[test]
fn files_come_back() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let mut directories = vec![format!("{root}/docs"), format!("{root}/fixtures/handbook")];
    let mut n_files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("the repository is there") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                directories.push(path.display().to_string());
            } else if path.extension().is_some_and(|extension| extension == "md") {
                n_files += 1;
                check_file(&std::fs::read_to_string(&path).expect("a readable file"));
            }
        }
    }
    assert!(n_files > 30, "only {n_files} files were found");
}

fn check_file(text: &str) {
    for text in [text.to_owned(), text.replace('\n', "\r\n"), text.trim_end().to_owned()] {
        let file = split(&text);
        for profile in PROFILES {
            assert_eq!(through(file.body, profile), file.body);
        }
        if let Some(front) = file.front {
            let mapping = read(front.yaml).expect("front matter in this repository is sound");
            assert_eq!(patch(front.yaml, &mapping.entries), front.yaml);
        }
    }
}

#[test]
fn templates_and_oddities_come_back() {
    for text in [
        "{% include head.html %}\n{{ page.title | escape }}\n\n\
         {% for p in posts %}\n* {{ p }}\n{% endfor %}\n",
        "+ a\n\n  b\n+ c\n\n\n\n   d\n",
        "1. a\n1. b\n1. c\n",
        "08) a\n09) b\n",
        "Setext *em*\nwrapped\n---\n\n# ATX closed ##\n#\tTab\n",
        "a  \nb\\\nc\n\td\n",
        "| a | b |\n|:--|--:|\n|1|2|\nc | d\n",
        "[^n]: note\n    more\n\n  > quote in it\n\n[^n] and [^m]\n\n[^m]:\tother\n",
        "<details>\n<summary>x</summary>\n\n*in*\n\n</details>\n",
        "[a]: <u v> \"t\"\n[b]:\n  /w\n\n[A][b], [a], ![b]\n",
        "\t- tab list\n\t  more\n\n-\ttabbed\n\n\tmore\n-\n  late\n",
        "* * *\n- - -\n***bold em***\n__b__ _e_\n",
        "> a\nlazy\n>> deep\n>\n>     code\n\n\n> apart\n",
        "\n\n\n",
        "   \n",
        "\u{feff}",
        "\u{feff}\n# x",
        "a\r\nb\nc\rd\n\r\ne",
        "~~~~\n```\n~~~\n~~~~~\n\n````js  x\n````",
        "```\nnever closed\n\n",
        "- [ ] a\n- [X] b\n  - [x]\tc\n",
    ] {
        for profile in PROFILES {
            assert_eq!(through(text, profile), text, "{profile:?}");
        }
    }
}
