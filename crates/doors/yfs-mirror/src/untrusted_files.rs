//! Names of files that tools execute or load automatically. The mirror does not write such files of
//! other authors, unless the user allows it: otherwise every writer of the workspace could execute
//! code on the machine of the user.

pub use yfs_vfs::reserved_names::{TEMPORARY, is_reserved};

use smol_str::SmolStr;
use yfs_vfs::reserved_names::plain_name;

/// Directories whose content tools execute or load automatically.
#[rustfmt::skip]
const RISKY_DIRECTORIES: [&str; 55] = [
    ".agent", ".agents", ".amazonq", ".augment", ".bundle", ".bzr", ".cargo", ".claude",
    ".cline", ".clinerules", ".codeium", ".codex", ".continue", ".crush", ".cursor",
    ".devcontainer", ".direnv", ".factory", ".fleet", ".gemini", ".git-hooks", ".githooks",
    ".gnupg", ".goose", ".hg", ".husky", ".idea", ".ipython", ".jj", ".junie", ".jupyter",
    ".kilocode", ".kiro", ".lefthook", ".mise", ".mvn", ".nvim", ".opencode", ".openhands",
    ".qwen", ".roo", ".run", ".ssh", ".tabnine", ".terraform", ".theia", ".trae", ".vim",
    ".void", ".vs", ".vscode", ".warp", ".windsurf", ".yarn", ".zed",
];

/// Files that tools execute or load when a user enters or opens the directory, or calls the tool:
/// shells, editors, debuggers, interpreters, package managers, test runners, linters, and agents,
/// which follow the instructions in theirs. What a user builds or runs as such (a `Makefile`, a
/// script) is not in the list.
#[rustfmt::skip]
const RISKY_FILES: [&str; 148] = [
    ".aider.conf.yml", ".aider.model.settings.yml", ".autoenv", ".autoenv.zsh", ".bash_aliases",
    ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".bazeliskrc", ".bazelrc",
    ".bazelversion", ".buckconfig", ".buckconfig.local", ".bunfig.toml", ".clangd",
    ".clinerules", ".condarc", ".coveragerc", ".credo.exs", ".crush.json", ".cshrc", ".curlrc",
    ".cursorrules", ".czrc", ".dir-locals-2.el", ".dir-locals.el", ".emacs", ".env", ".envrc",
    ".exrc", ".flake8", ".formatter.exs", ".forward", ".gdbinit", ".ghci", ".gitattributes",
    ".gitconfig", ".gitmodules", ".goosehints", ".gvimrc", ".hgrc", ".hgsub", ".ideavimrc",
    ".iex.exs", ".inputrc", ".irbrc", ".justfile", ".kilocodemodes", ".kshrc", ".lefthook.yaml",
    ".lefthook.yml", ".lldbinit", ".login", ".logout", ".luarc.json", ".luarc.jsonc", ".lvimrc",
    ".mailrc", ".mcp.json", ".mise.local.toml", ".mise.toml", ".mypy.ini", ".netrc", ".npmrc",
    ".nvim.lua", ".nvimrc", ".ocamlinit", ".overcommit.yml", ".pam_environment", ".pdbrc",
    ".pdbrc.py", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", ".pre-commit-config.yaml",
    ".procmailrc", ".profile", ".pryrc", ".pylintrc", ".pypirc", ".pythonrc", ".pythonrc.py",
    ".pythonstartup", ".rdbgrc", ".renviron", ".replit", ".rhosts", ".roomodes", ".roorules",
    ".rprofile", ".rspec", ".rtx.toml", ".rubocop.yml", ".rules", ".sbtopts", ".screenrc",
    ".shosts", ".solargraph.yml", ".swcrc", ".tcshrc", ".tmux.conf", ".tool-versions",
    ".utoprc", ".vimrc", ".wgetrc", ".windsurfrules", ".xinitrc", ".xprofile", ".xsession",
    ".xsessionrc", ".yarnrc", ".yarnrc.yml", ".ycm_extra_conf.py", ".zlogin", ".zlogout",
    ".zprofile", ".zshenv", ".zshrc", "agent.md", "agents.local.md", "agents.md",
    "agents.override.md", "ansible.cfg", "autorun.inf", "bunfig.toml", "claude.local.md",
    "claude.md", "codex.md", "conftest.py", "copilot-instructions.md", "crush.json", "crush.md",
    "desktop.ini", "gemini.md", "lefthook.yaml", "lefthook.yml", "mise.local.toml", "mise.toml",
    "opencode.json", "opencode.jsonc", "pylintrc", "qwen.md", "replit.md", "sitecustomize.py",
    "user.bazelrc", "usercustomize.py", "warp.md",
];

/// Files of configuration that may be code, also with an extension (`.eslintrc.cjs`).
#[rustfmt::skip]
const RISKY_FAMILIES: [&str; 11] = [
    ".babelrc", ".commitlintrc", ".eslintrc", ".huskyrc", ".lintstagedrc", ".mocharc", ".nycrc",
    ".postcssrc", ".prettierrc", ".releaserc", ".stylelintrc",
];

/// Files and directories in directories that are otherwise harmless.
const RISKY_PAIRS: [(&str, &str); 9] = [
    (".config", "mise"),
    (".config", "mise.toml"),
    (".config", "nvim"),
    (".github", "agents"),
    (".github", "chatmodes"),
    (".github", "copilot-instructions.md"),
    (".github", "hooks"),
    (".github", "instructions"),
    (".github", "prompts"),
];

/// Ends of names of the form `.env.NAME` that no tool loads.
const HARMLESS_ENV: [&str; 4] = ["dist", "example", "sample", "template"];

/// Reports whether a path, relative to the mirrored directory, leads to a file that tools
/// execute or load automatically.
pub fn is_risky<'a>(path: impl IntoIterator<Item = &'a str>) -> bool {
    let mut components = path.into_iter().map(plain_name).peekable();
    let mut above = SmolStr::default();
    while let Some(name) = components.next() {
        let is_last = components.peek().is_none();
        if is_reserved(&name)
            || RISKY_DIRECTORIES.contains(&&*name)
            || RISKY_PAIRS.contains(&(&above, &name))
            || is_last && is_risky_file(&name)
        {
            return true;
        }
        above = name;
    }
    false
}

fn is_risky_file(name: &str) -> bool {
    let is_family = |family: &&str| {
        name.strip_prefix(*family).is_some_and(|end| end.is_empty() || end.starts_with('.'))
    };
    let environment = name.strip_prefix(".env.");
    RISKY_FILES.contains(&name)
        || RISKY_FAMILIES.iter().any(is_family)
        || environment.is_some_and(|name| !HARMLESS_ENV.contains(&name))
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
            ("AGENTS.md", true),
            ("docs/Claude.MD", true),
            ("GEMINI.md", true),
            (".github/copilot-instructions.md", true),
            (".github/instructions/a.instructions.md", true),
            (".github/workflows/test.yml", false),
            (".cursor/rules/a.mdc", true),
            (".cursorrules", true),
            (".windsurf", true),
            (".windsurfrules", true),
            (".gemini/settings.json", true),
            (".clinerules", true),
            (".clinerules/a.md", true),
            ("tests/conftest.py", true),
            (".Rprofile", true),
            (".irbrc", true),
            (".pdbrc", true),
            (".bazelrc", true),
            (".pylintrc", true),
            (".prettierrc.mjs", true),
            (".prettierrcs", false),
            (".env.local", true),
            (".env.example", false),
            ("agents.markdown", false),
            ("README.md", false),
            ("Makefile", false),
        ];
        for (path, expected) in cases {
            assert_eq!(is_risky(path.split('/')), expected, "{path}");
        }
    }
}
