//! Cases with several concurrent callers.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use futures::FutureExt;

use super::{
    CaseFailure,
    native::{Native, ensure, path},
};
use yfs_vfs::{
    FileSystem, FileSystemExt,
    edit::TextReplacement,
    error::{FsCode, FsError},
    options::{CreateMode, MkdirOptions, MoveOptions, WriteOptions},
};

type Fs = Arc<dyn FileSystem>;
type Outcome = Result<(), CaseFailure>;

const N_CALLERS: usize = 16;

pub(super) const CASES: &[Native] = &[
    ("of many that create one file exactly one succeeds", &[], |fs| create_race(fs).boxed()),
    ("of many that make one directory exactly one succeeds", &[], |fs| mkdir_race(fs).boxed()),
    ("of many that make the same parents all succeed", &[], |fs| parents_race(fs).boxed()),
    ("of many that move one file exactly one succeeds", &[], |fs| move_race(fs).boxed()),
    ("of many that expect one version exactly one succeeds", &[], |fs| version_race(fs).boxed()),
    ("appends of many all land whole", &[], |fs| append_race(fs).boxed()),
    ("edits of many all land", &[], |fs| edit_race(fs).boxed()),
    ("readers see one whole version or another", &[], |fs| reader_race(fs).boxed()),
    ("moves against each other leave one tree", &[], |fs| crossing_moves(fs).boxed()),
    ("moves over one file each replace it whole", &[], |fs| replacing_moves(fs).boxed()),
    ("what is appended while a file is moved over another stays", &[], |fs| {
        late_appends(fs).boxed()
    }),
];

/// Runs `run` for `N_CALLERS` concurrent callers, on the threads of the runtime.
async fn race<T, F>(run: impl Fn(usize) -> F) -> Result<Vec<Result<T, FsError>>, CaseFailure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, FsError>> + Send + 'static,
{
    let tasks: Vec<_> = (0..N_CALLERS).map(|caller| tokio::spawn(run(caller))).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.map_err(|error| CaseFailure(error.to_string()))?);
    }
    Ok(results)
}

/// Checks that exactly one call succeeded, and that the others failed with this code.
fn one_winner<T>(results: &[Result<T, FsError>], code: FsCode) -> Outcome {
    let n_winners = results.iter().filter(|result| result.is_ok()).count();
    ensure(n_winners == 1, || format!("{n_winners} succeeded"))?;
    let other = results.iter().filter_map(|result| result.as_ref().err());
    let mut other = other.filter(|error| error.code != code);
    other.next().map_or(Ok(()), |error| Err(CaseFailure(format!("a loser got {error}"))))
}

fn all_succeed<T>(results: Vec<Result<T, FsError>>) -> Outcome {
    results.into_iter().find_map(Result::err).map_or(Ok(()), |error| Err(error.into()))
}

async fn create_race(fs: Fs) -> Outcome {
    for round in 0..10 {
        let file = path(&format!("/d{round}/f"))?;
        let results = race(|caller| {
            let (fs, file) = (fs.clone(), file.clone());
            let options = WriteOptions { create: CreateMode::New, ..WriteOptions::default() };
            async move {
                fs.write(&file, Bytes::from(caller.to_string()), &options).await?;
                Ok(caller)
            }
        })
        .await?;
        one_winner(&results, FsCode::EEXIST)?;
        let winner = results.into_iter().find_map(Result::ok).unwrap_or_default();
        let content = fs.read_to_string(&file).await?;
        ensure(content == winner.to_string(), || "the loser's bytes are there".to_owned())?;
    }
    Ok(())
}

async fn mkdir_race(fs: Fs) -> Outcome {
    let dir = path("/d")?;
    let results = race(|_| {
        let (fs, dir) = (fs.clone(), dir.clone());
        async move { fs.mkdir(&dir, &MkdirOptions::default()).await }
    })
    .await?;
    one_winner(&results, FsCode::EEXIST)
}

async fn parents_race(fs: Fs) -> Outcome {
    let results = race(|caller| {
        let fs = fs.clone();
        async move {
            let file = path(&format!("/a/b/c/{caller}"))
                .map_err(|_| FsError::bare(FsCode::EINVAL, yfs_vfs::error::Op::Open))?;
            fs.write_text(&file, "x").await
        }
    })
    .await?;
    all_succeed(results)?;
    let n_files = fs.readdir(&path("/a/b/c")?).await?.len();
    ensure(n_files == N_CALLERS, || format!("{n_files} files are there"))
}

async fn move_race(fs: Fs) -> Outcome {
    let from = path("/from")?;
    fs.write_text(&from, "x").await?;
    let dest = |caller: usize| path(&format!("/to{caller}"));
    let dests: Vec<_> = (0..N_CALLERS).map(dest).collect::<Result<_, _>>()?;
    let results = race(|caller| {
        let (fs, from, to) = (fs.clone(), from.clone(), dests[caller].clone());
        async move { fs.mv(&from, &to, &MoveOptions::default()).await }
    })
    .await?;
    one_winner(&results, FsCode::ENOENT)?;
    let n_files = fs.readdir(&path("/")?).await?.len();
    ensure(n_files == 1, || format!("{n_files} files are there"))
}

async fn version_race(fs: Fs) -> Outcome {
    let file = path("/a")?;
    let version = fs.write_text(&file, "start").await?.version;
    let results = race(|caller| {
        let (fs, file) = (fs.clone(), file.clone());
        let expected_version = version.clone();
        let options = WriteOptions { expected_version, ..WriteOptions::default() };
        async move { fs.write(&file, Bytes::from(format!("by {caller}")), &options).await }
    })
    .await?;
    one_winner(&results, FsCode::ESTALE)
}

async fn append_race(fs: Fs) -> Outcome {
    let file = path("/log")?;
    let results = race(|caller| {
        let (fs, file) = (fs.clone(), file.clone());
        async move {
            for round in 0..8 {
                let line = Bytes::from(format!("caller {caller} round {round}\n"));
                fs.append(&file, line, &WriteOptions::default()).await?;
            }
            Ok(())
        }
    })
    .await?;
    all_succeed(results)?;
    let text = fs.read_to_string(&file).await?;
    let lines: BTreeSet<&str> = text.lines().collect();
    ensure(lines.len() == N_CALLERS * 8, || format!("{} lines are there", lines.len()))?;
    ensure(text.lines().count() == N_CALLERS * 8, || "lines are doubled".to_owned())?;
    let whole = lines.iter().all(|line| line.starts_with("caller ") && line.contains(" round "));
    ensure(whole, || "a line was torn".to_owned())
}

async fn edit_race(fs: Fs) -> Outcome {
    let file = path("/a")?;
    let text: String = (0..N_CALLERS).map(|caller| format!("<{caller}> stays\n")).collect();
    fs.write_text(&file, &text).await?;
    let results = race(|caller| {
        let (fs, file) = (fs.clone(), file.clone());
        async move {
            fs.edit(&file, &TextReplacement::once(format!("<{caller}>"), format!("[{caller}]")))
                .await
        }
    })
    .await?;
    all_succeed(results)?;
    let expected: String = (0..N_CALLERS).map(|caller| format!("[{caller}] stays\n")).collect();
    let text = fs.read_to_string(&file).await?;
    ensure(text == expected, || format!("edits were lost: {text}"))
}

async fn reader_race(fs: Fs) -> Outcome {
    let file = path("/a")?;
    fs.write_text(&file, &"0".repeat(5_000)).await?;
    let results = race(|caller| {
        let (fs, file) = (fs.clone(), file.clone());
        async move {
            for round in 0..10 {
                if caller % 2 == 0 {
                    let digit = ((caller + round) % 10).to_string();
                    fs.write_text(&file, &digit.repeat(5_000)).await?;
                } else {
                    let data = fs.read(&file).await?.data;
                    let whole = data.len() == 5_000 && data.iter().all(|byte| *byte == data[0]);
                    if !whole {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        }
    })
    .await?;
    let torn = results.iter().any(|result| matches!(result, Ok(false)));
    ensure(!torn, || "a reader saw a torn file".to_owned())?;
    all_succeed(results)
}

async fn crossing_moves(fs: Fs) -> Outcome {
    let (a, b) = (path("/a")?, path("/b")?);
    for round in 0..20 {
        fs.mkdir_all(&a).await?;
        fs.mkdir_all(&b).await?;
        let (a_in_b, b_in_a) = (path("/b/a")?, path("/a/b")?);
        let options = MoveOptions { parents: false, ..MoveOptions::default() };
        let (first, second) =
            futures::join!(fs.mv(&a, &a_in_b, &options), fs.mv(&b, &b_in_a, &options));
        ensure(first.is_ok() != second.is_ok(), || {
            format!("round {round}: {first:?} and {second:?}")
        })?;
        let n_directories = fs.totals(&path("/")?).await?.n_directories;
        ensure(n_directories == 2, || format!("{n_directories} directories are left"))?;
        fs.rm_all(&a).await?;
        fs.rm_all(&b).await?;
    }
    Ok(())
}

async fn replacing_moves(fs: Fs) -> Outcome {
    let to = path("/to")?;
    fs.write_text(&to, "before").await?;
    let text = |caller: usize| format!("by {caller}\n").repeat(100);
    for caller in 0..N_CALLERS {
        fs.write_text(&path(&format!("/from{caller}"))?, &text(caller)).await?;
    }
    let sources = (0..N_CALLERS).map(|caller| path(&format!("/from{caller}")));
    let sources: Vec<_> = sources.collect::<Result<_, _>>()?;
    let results = race(|caller| {
        let (fs, from, to) = (fs.clone(), sources[caller].clone(), to.clone());
        async move { fs.mv(&from, &to, &MoveOptions::default()).await }
    })
    .await?;
    all_succeed(results)?;
    let left = fs.read_to_string(&to).await?;
    ensure((0..N_CALLERS).any(|caller| left == text(caller)), || format!("not whole: {left}"))?;
    let n_files = fs.readdir(&path("/")?).await?.len();
    ensure(n_files == 1, || format!("{n_files} files are there"))
}

/// Some callers append to a file while others move it over another file. Each line must be in the
/// moved file or in a new file with the old name.
async fn late_appends(fs: Fs) -> Outcome {
    let from = path("/from")?;
    let homes = (0..N_CALLERS).map(|caller| path(&format!("/to{caller}")));
    let homes: Vec<_> = homes.collect::<Result<_, _>>()?;
    for home in &homes {
        fs.write_text(home, "").await?;
    }
    let results = race(|caller| {
        let (fs, from, home) = (fs.clone(), from.clone(), homes[caller].clone());
        async move {
            for round in 0..16 {
                if caller % 4 == 0 {
                    match fs.mv(&from, &home, &MoveOptions::default()).await {
                        Err(error) if error.code != FsCode::ENOENT => return Err(error),
                        // Stop here, so that a later move does not replace the moved file.
                        Ok(()) => return Ok(()),
                        Err(_) => (),
                    }
                } else {
                    let line = Bytes::from(format!("caller {caller} round {round}\n"));
                    fs.append(&from, line, &WriteOptions::default()).await?;
                }
                tokio::task::yield_now().await;
            }
            Ok(())
        }
    })
    .await?;
    all_succeed(results)?;
    let mut text = String::new();
    for file in fs.readdir(&path("/")?).await? {
        text += &fs.read_to_string(&path(&format!("/{}", file.name))?).await?;
    }
    let n_lines = N_CALLERS * 3 / 4 * 16;
    let lines: BTreeSet<&str> = text.lines().collect();
    ensure(lines.len() == n_lines && text.lines().count() == n_lines, || {
        format!("{} different lines, {} in all", lines.len(), text.lines().count())
    })
}
