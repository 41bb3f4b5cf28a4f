//! Names of files that tools execute or load automatically. The mirror does not write such files of
//! other authors, unless the user allows it: otherwise every writer of the workspace could execute
//! code on the machine of the user.

pub use yfs_vfs::reserved_names::{TEMPORARY, is_reserved};

use yfs_vfs::reserved_names::plain_name;

/// Directories whose content tools execute or load automatically.
#[rustfmt::skip]
const RISKY_DIRECTORIES: [&str; 19] = [
    ".cargo", ".claude", ".codex", ".cursor", ".devcontainer", ".direnv", ".fleet",
    ".git-hooks", ".githooks", ".husky", ".idea", ".mvn", ".nvim", ".ssh", ".vim", ".vs",
    ".vscode", ".yarn", ".zed",
];

/// Files that tools execute or load when a user enters or opens the directory, or calls the tool.
#[rustfmt::skip]
const RISKY_FILES: [&str; 47] = [
    ".babelrc", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".bunfig.toml",
    ".condarc", ".curlrc", ".dir-locals.el", ".emacs", ".env", ".envrc", ".eslintrc.cjs",
    ".eslintrc.js", ".exrc", ".gdbinit", ".gitattributes", ".gitconfig", ".gitmodules",
    ".inputrc", ".justfile", ".lldbinit", ".lvimrc", ".mailrc", ".mcp.json", ".mise.toml",
    ".netrc", ".npmrc", ".nvim.lua", ".nvimrc", ".pnpmfile.cjs", ".pre-commit-config.yaml",
    ".profile", ".pypirc", ".pythonrc", ".screenrc", ".tmux.conf", ".tool-versions", ".vimrc",
    ".wgetrc", ".yarnrc", ".yarnrc.yml", ".zlogin", ".zprofile", ".zshenv", ".zshrc",
    "mise.toml",
];

/// Reports whether a path, relative to the mirrored directory, leads to a file that tools
/// execute or load automatically.
pub fn is_risky<'a>(path: impl IntoIterator<Item = &'a str>) -> bool {
    let mut components = path.into_iter().map(plain_name).peekable();
    while let Some(name) = components.next() {
        let is_risky = match components.peek() {
            Some(_) => RISKY_DIRECTORIES.contains(&&*name),
            None => RISKY_FILES.contains(&&*name) || RISKY_DIRECTORIES.contains(&&*name),
        };
        if is_risky || is_reserved(&name) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risky_names_are_recognized_in_every_spelling() {
        let cases = [
            ("notes.md", false),
            ("src/main.rs", false),
            ("a.git/config", false),
            (".gitignore", false),
            (".git/hooks/pre-commit", true),
            ("deep/down/.GIT/config", true),
            (".git./config", true),
            (".g\u{200c}it/config", true),
            (".vscode/tasks.json", true),
            (".VSCode/tasks.json", true),
            (".vscode", true),
            ("web/.envrc", true),
            (".envrc ", true),
            (".npmrc::$DATA", true),
            (".env/readme", false),
            (".yfs/workspace.db", true),
        ];
        for (path, expected) in cases {
            assert_eq!(is_risky(path.split('/')), expected, "{path}");
        }
    }
}
