//! The host's own system calls, through `std::fs`, as an oracle.

use std::{
    fs::{self, DirEntry},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use yfs_vfs::FsCode;

/// A directory of the host, used directly.
pub(crate) struct Oracle {
    root: PathBuf,
}

type Answer = Result<String, FsCode>;

/// A parsed line: the operation, its options, and its words.
struct Line<'a> {
    op: &'a str,
    options: Vec<&'a str>,
    words: Vec<&'a str>,
}

impl Oracle {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.canonicalize().unwrap() }
    }

    pub(crate) fn run(&self, line: &str) -> Answer {
        let mut words = line.split(' ');
        let op = words.next().unwrap();
        let (options, words) = words.partition(|word| word.starts_with('-'));
        let line = Line { op, options, words };
        let at = |ix: usize| match line.words[ix] {
            "/" => self.root.clone(),
            path => self.root.join(&path[1..]),
        };
        match line.op {
            "write" | "append" => self.write(&line, &at(0)),
            "mkdir" => self.mkdir(&line, &at(0)),
            "rm" => self.rm(&line, &at(0)),
            "mv" => self.mv(&line, &at(0), &at(1)),
            "cp" => self.cp(&line, &at(0), &at(1)),
            "ln" => self.ln(line.words[0], &at(1)),
            "cat" => Ok(show(&fs::read(at(0)).map_err(code)?)),
            "ls" => self.ls(&at(0)),
            "stat" => Ok(self.stat(&at(0), fs::metadata(at(0)).map_err(code)?)),
            "lstat" => Ok(self.stat(&at(0), fs::symlink_metadata(at(0)).map_err(code)?)),
            "readlink" => Ok(self.target(&fs::read_link(at(0)).map_err(code)?)),
            "realpath" => Ok(self.shown(&at(0).canonicalize().map_err(code)?)),
            "chmod" => {
                let mode = u32::from_str_radix(line.words[0], 8).unwrap();
                fs::set_permissions(at(1), fs::Permissions::from_mode(mode)).map_err(code)?;
                Ok(String::new())
            }
            other => panic!("the oracle does not know {other}"),
        }
    }

    fn write(&self, line: &Line<'_>, path: &Path) -> Answer {
        let existed = fs::metadata(path).is_ok();
        let mut options = fs::OpenOptions::new();
        match line.op {
            "write" => options.write(true).truncate(true),
            _ => options.append(true),
        };
        match () {
            () if line.has("-new") => options.truncate(false).create_new(true),
            () if line.has("-existing") => options.create(false),
            () => options.create(true),
        };
        let text = line.words[1];
        let write = || {
            let mut file = options.open(path)?;
            io::Write::write_all(&mut file, text.as_bytes())
        };
        if line.has("-existing") {
            write().map_err(code)?;
        } else {
            // With O_EXCL the host checks whether the path exists before it checks its kind.
            self.with_parents(path, write)?;
        }
        Ok((if existed { "changed" } else { "created" }).to_owned())
    }

    fn mkdir(&self, line: &Line<'_>, path: &Path) -> Answer {
        if !line.has("-p") {
            fs::create_dir(path).map_err(code)?;
            return Ok(String::new());
        }
        self.with_parents(path, || match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            result => result,
        })
        .map(|()| String::new())
    }

    fn rm(&self, line: &Line<'_>, path: &Path) -> Answer {
        if path == self.root {
            return Err(FsCode::EBUSY);
        }
        let removed = fs::symlink_metadata(path).and_then(|metadata| match metadata.is_dir() {
            true if line.has("-r") => fs::remove_dir_all(path),
            true => fs::remove_dir(path),
            false => fs::remove_file(path),
        });
        match removed.map_err(code) {
            Err(FsCode::ENOENT | FsCode::ENOTDIR) if line.has("-f") => Ok(String::new()),
            result => result.map(|()| String::new()),
        }
    }

    fn mv(&self, line: &Line<'_>, from: &Path, to: &Path) -> Answer {
        if from == self.root || to == self.root {
            return Err(FsCode::EBUSY);
        }
        let source = fs::symlink_metadata(from).map_err(code)?;
        if let Ok(dest) = fs::symlink_metadata(to) {
            let same = (source.dev(), source.ino()) == (dest.dev(), dest.ino());
            if line.has("-n") && !same {
                return Err(FsCode::EEXIST);
            }
            if dest.is_dir() && !source.is_dir() {
                return Err(FsCode::EISDIR);
            }
        }
        let rename = || fs::rename(from, to);
        if line.has("-noparents") {
            rename().map_err(code)?;
        } else {
            self.with_parents(to, rename)?;
        }
        Ok(String::new())
    }

    /// There is no system call to copy, so this implements the contract in the simplest way.
    fn cp(&self, line: &Line<'_>, from: &Path, to: &Path) -> Answer {
        let source = fs::symlink_metadata(from).map_err(code)?;
        if source.is_dir() && !line.has("-r") {
            return Err(FsCode::EISDIR);
        }
        // The nearest existing directory above the destination shows whether it lies in the source.
        let real = |path: &Path| {
            let parent = path.parent().filter(|_| path != self.root)?;
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        };
        let real_from = real(from).unwrap_or_else(|| self.root.clone());
        let place = fs::symlink_metadata(to);
        match &place {
            Ok(_) => {
                let real_to = real(to).unwrap_or_else(|| self.root.clone());
                if real_to.starts_with(&real_from) {
                    return Err(FsCode::EINVAL);
                }
                check_kinds(from, to)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut above = to.parent().unwrap();
                while let Err(error) = fs::metadata(above) {
                    // A dangling link before the last component.
                    if error.kind() != io::ErrorKind::NotFound
                        || fs::symlink_metadata(above).is_ok()
                    {
                        return Err(code(error));
                    }
                    above = above.parent().unwrap();
                }
                if above.canonicalize().map_err(code)?.starts_with(&real_from) {
                    return Err(FsCode::EINVAL);
                }
            }
            Err(error) => return Err(FsCode::of_io(error)),
        }
        let aside = tempfile::TempDir::new().unwrap();
        let snapshot = aside.path().join("copy");
        copy(from, &snapshot).map_err(code)?;
        self.with_parents(to, || copy(&snapshot, to)).map(|()| String::new())
    }

    fn ln(&self, target: &str, path: &Path) -> Answer {
        let on_host = match target.strip_prefix('/') {
            Some(below) => self.root.join(below),
            None => PathBuf::from(target),
        };
        self.with_parents(path, || symlink(on_host, path)).map(|()| String::new())
    }

    fn ls(&self, path: &Path) -> Answer {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(code)? {
            let entry = entry.map_err(code)?;
            let kind = entry.file_type().map_err(code)?;
            let mark = if kind.is_dir() {
                "/"
            } else if kind.is_symlink() {
                "@"
            } else {
                ""
            };
            names.push((entry.file_name().into_string().unwrap(), mark));
        }
        names.sort();
        let names: Vec<_> = names.iter().map(|(name, mark)| format!("{name}{mark}")).collect();
        Ok(if names.is_empty() { "(nothing)".to_owned() } else { names.join(" ") })
    }

    fn stat(&self, path: &Path, metadata: fs::Metadata) -> String {
        match metadata.file_type() {
            kind if kind.is_dir() => "directory 0".to_owned(),
            kind if kind.is_symlink() => {
                format!("symlink {}", self.target(&fs::read_link(path).unwrap()).len())
            }
            _ => format!("file {}", metadata.len()),
        }
    }

    /// Runs `work` after creating missing parents, and removes those again if it fails.
    fn with_parents(
        &self,
        path: &Path,
        work: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), FsCode> {
        let mut made: Vec<PathBuf> = Vec::new();
        let below = path.strip_prefix(&self.root).unwrap().parent().unwrap_or(Path::new(""));
        let mut parent = self.root.clone();
        let make_all = || {
            for name in below {
                parent.push(name);
                match fs::metadata(&parent) {
                    Ok(metadata) if metadata.is_dir() => (),
                    Ok(_) => return Err(FsCode::ENOTDIR),
                    Err(error) if fs::symlink_metadata(&parent).is_ok() => return Err(code(error)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        fs::create_dir(&parent).map_err(code)?;
                        made.push(parent.clone());
                    }
                    Err(error) => return Err(code(error)),
                }
            }
            work().map_err(code)
        };
        let result = make_all();
        if result.is_err() {
            made.iter().rev().for_each(|dir| fs::remove_dir(dir).unwrap());
        }
        result
    }

    /// Displays a target: an absolute one without the root's own path.
    fn target(&self, target: &Path) -> String {
        if target.is_absolute() { self.shown(target) } else { target.to_str().unwrap().to_owned() }
    }

    fn shown(&self, path: &Path) -> String {
        format!("/{}", path.strip_prefix(&self.root).unwrap().to_str().unwrap())
    }
}

impl Line<'_> {
    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

/// Checks, before anything is copied, that no directory would replace another kind or the reverse.
fn check_kinds(from: &Path, to: &Path) -> Result<(), FsCode> {
    let Ok(dest) = fs::symlink_metadata(to) else { return Ok(()) };
    let source = fs::symlink_metadata(from).map_err(code)?;
    match (source.is_dir(), dest.is_dir()) {
        (true, false) => Err(FsCode::ENOTDIR),
        (false, true) => Err(FsCode::EISDIR),
        (false, false) => Ok(()),
        (true, true) => {
            let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let mut names: Vec<_> =
                entries.map_err(code)?.iter().map(DirEntry::file_name).collect();
            names.sort();
            names.iter().try_for_each(|name| check_kinds(&from.join(name), &to.join(name)))
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        let exists = to.is_dir();
        if !exists {
            fs::create_dir(to)?;
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return if exists { Ok(()) } else { fs::set_permissions(to, metadata.permissions()) };
    }
    if fs::symlink_metadata(to).is_ok() {
        fs::remove_file(to)?;
    }
    if metadata.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

fn code(error: io::Error) -> FsCode {
    FsCode::of_io(&error)
}

fn show(bytes: &[u8]) -> String {
    if bytes.is_empty() { "(empty)".to_owned() } else { String::from_utf8(bytes.to_vec()).unwrap() }
}
