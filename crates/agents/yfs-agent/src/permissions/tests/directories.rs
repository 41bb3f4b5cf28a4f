//! Directories that alone are allowed: the links that lead into them, and the way to them.

use std::{fs, sync::Arc};

use yfs_conformance::file_system::script;
use yfs_vfs::{FileSystem, HostFs};

use super::{super::PermissionRules, PermittedFs};

/// Returns the disk behind rules that allow the spellings of one directory.
fn confined(spellings: &[&std::path::Path]) -> Arc<dyn FileSystem> {
    let disk = HostFs::open(std::path::Path::new("/")).expect("the disk");
    let paths: Vec<_> = spellings
        .iter()
        .map(|path| path.to_str().expect("UTF-8").parse().expect("a path"))
        .collect();
    let rules = PermissionRules::only_below(&paths).expect("rules");
    Arc::new(PermittedFs::new(Arc::new(disk), rules).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_behind_a_link_and_absolute_links_inside_are_reached() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path().canonicalize().expect("the directory exists");
    let (real, link, outside) = (place.join("real"), place.join("link"), place.join("out"));
    for dir in [&real, &outside] {
        fs::create_dir(dir).expect("a new directory");
        fs::write(dir.join("f.txt"), "text").expect("a new file");
    }
    let links = [
        (real.clone(), link.clone()),
        (real.join("f.txt"), real.join("absolute")),
        (link.join("f.txt"), real.join("twice")),
        (outside.join("f.txt"), real.join("leaves")),
        (outside.clone(), real.join("leaves-by-directory")),
        (real.join("../out/f.txt"), real.join("climbs")),
    ];
    for (target, at) in links {
        std::os::unix::fs::symlink(target, at).expect("a new link");
    }
    let fs = confined(&[&link, &real]);
    for root in [&real, &link] {
        let root = root.display();
        let checks = format!(
            "cat {root}/f.txt => text
             cat {root}/absolute => text
             cat {root}/twice => text
             write {root}/absolute text
             cat {root}/leaves !! EACCES
             cat {root}/leaves-by-directory/f.txt !! EACCES
             cat {root}/climbs !! EACCES
             write {root}/leaves x !! EACCES"
        );
        script::check(&fs, &checks).await.expect("the links inside are followed");
    }
    assert_eq!(fs::read_to_string(outside.join("f.txt")).expect("still there"), "text");
    // Only one of the spellings is allowed, so the link does not lead into the directory.
    let fs = confined(&[&link]);
    let check = format!("cat {}/f.txt !! EACCES", link.display());
    script::check(&fs, &check).await.expect("a refusal");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directories_above_show_only_the_way() {
    // Without a hidden name, below which nothing is searched.
    let place = tempfile::Builder::new().prefix("way").tempdir();
    let place = place.expect("a temporary directory");
    let place = place.path().canonicalize().expect("the directory exists");
    let inside = place.join("in/deep");
    fs::create_dir_all(&inside).expect("a new directory");
    fs::create_dir(place.join("other")).expect("a new directory");
    fs::write(inside.join("f.txt"), "needle").expect("a new file");
    fs::write(place.join("in/hidden.txt"), "needle").expect("a new file");
    let fs = confined(&[&inside]);
    let (place, inside) = (place.display(), inside.display());
    let checks = format!(
        "ls {place} => in/
         ls {place}/in => deep/
         grep needle => {inside}/f.txt:1:needle
         cat {place}/in/hidden.txt !! EACCES
         write {place}/in/new x !! EACCES
         mkdir {inside}/a
         write {inside}/a/f x
         rm -r {inside}/a"
    );
    script::check(&fs, &checks).await.expect("only the way is seen");
    let root = fs.readdir(&yfs_types::path::VPath::root()).await.expect("the root is listed");
    assert_eq!(root.len(), 1, "{root:?}");
}
