//! Faults that tests inject.

use std::{
    sync::Arc,
    time::{self, Duration},
};

use yfs_conformance::file_system::script;
use yfs_conformance::{FaultFs, FsFault, fault_fs};
use yfs_vfs::{FileSystem, FsCode, MemoryFs, Op};

fn faulty() -> (Arc<FaultFs>, Arc<dyn FileSystem>) {
    let fs = Arc::new(fault_fs(Arc::new(MemoryFs::new())));
    (fs.clone(), fs)
}

#[tokio::test]
async fn every_call_of_a_kind_fails_until_cleared() {
    let (faults, fs) = faulty();
    faults.guard().inject(FsFault::every(Op::Write, FsCode::ENOSPC));
    script::check(&fs, "write /a x !! ENOSPC\nwrite /b x !! ENOSPC\nappend /c x").await.unwrap();
    faults.guard().clear_faults();
    script::check(&fs, "write /a x\ncat /a => x").await.unwrap();
}

#[tokio::test]
async fn nth_call_fails_and_no_other() {
    let (faults, fs) = faulty();
    faults.guard().inject(FsFault::nth(3, FsCode::EIO));
    let mut session = script::ScriptRunner::new(fs);
    let mut failed = Vec::new();
    for at in 1..=5 {
        let outcome = session.run("write /a x").await.unwrap();
        failed.extend(outcome.err().map(|error| (at, error.to_string())));
    }
    assert_eq!(failed, [(3, "EIO: input/output error, write '/a'".to_owned())]);
    assert_eq!(faults.guard().calls(), [Op::Write; 5]);
}

#[tokio::test]
async fn answer_can_be_lost_after_the_work_is_done() {
    let (faults, fs) = faulty();
    let fault = FsFault { done: true, times: 1, ..FsFault::every(Op::Mkdir, FsCode::EIO) };
    faults.guard().inject(fault);
    let mut session = script::ScriptRunner::new(fs);
    assert!(session.run("mkdir /d").await.unwrap().is_err());
    let again = session.run("mkdir /d").await.unwrap().unwrap_err();
    assert_eq!(again.code, FsCode::EEXIST);
}

#[tokio::test]
async fn calls_can_be_held_up() {
    let (faults, fs) = faulty();
    let delay = Duration::from_millis(20);
    faults.guard().inject(FsFault::slow(Op::Stat, delay));
    let start = time::Instant::now();
    script::check(&fs, "stat /").await.unwrap();
    assert!(start.elapsed() >= delay);
}
