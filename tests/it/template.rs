//! The repository that most tests begin with is a copy: it is what git makes.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::support::TestRepo;

/// Every path with its permissions and what is in it.
fn everything(dir: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = path.symlink_metadata().expect("it is there");
        let content = if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
            String::new()
        } else if metadata.is_symlink() {
            let text = std::fs::read_link(&path).expect("a link");
            text.display().to_string()
        } else {
            let bytes = std::fs::read(&path).expect("a file");
            bytes.escape_ascii().to_string()
        };
        let name = path.strip_prefix(dir).expect("it is below");
        let mode = metadata.permissions().mode();
        all.insert(name.display().to_string(), format!("{mode:o} {content}"));
    }
    all
}

/// What the index has, without stat data.
fn entries(repo: &TestRepo) -> String {
    let entries = repo.git(&["ls-files", "-s", "-t", "-v"]);
    let tree = repo.git(&["cat-file", "-p", "HEAD^{tree}"]);
    format!("{entries}\n{tree}\n{}", repo.git(&["write-tree"]))
}

#[test]
fn the_copied_project_is_what_git_makes() {
    // whichever of the two is made first, one of them was copied
    let (copied, again) = (TestRepo::project(), TestRepo::project());
    let made = TestRepo::project_by_git();
    for copied in [copied, again] {
        let [mut found, mut wanted] = [&copied, &made].map(|repo| everything(repo.main()));
        let [index, made_index] = [&mut found, &mut wanted].map(|files| files.remove(".git/index"));
        assert_eq!(found, wanted);
        assert_eq!(index.map(|text| text.len() > 100), Some(true));
        assert!(made_index.is_some());
        assert_eq!(entries(&copied), entries(&made));
        copied.git(&["fsck", "--strict"]);
    }
}

#[test]
fn the_stat_data_in_the_index_of_a_copy_is_that_of_its_files() {
    // the first may have been made by git, for the second to be copied
    let [_first, repo] = [TestRepo::project(), TestRepo::project()];
    let index = repo.main().join(".git/index");
    let before = std::fs::read(&index).expect("an index");
    // it does not read a file whose stat data is right, and writes nothing then
    repo.git(&["update-index", "--really-refresh"]);
    assert_eq!(std::fs::read(&index).expect("an index"), before);
    assert_eq!(repo.git(&["diff-files"]), "");
    let debug = repo.git(&["ls-files", "--debug", "README.md"]);
    let metadata = repo.main().join("README.md").metadata().expect("a file");
    let ctime = format!("ctime: {}:{}", metadata.ctime(), metadata.ctime_nsec());
    assert!(debug.contains(&ctime), "{ctime}: {debug}");
    let newer = |file: &Path| {
        let metadata = file.metadata().expect("a file");
        (metadata.mtime(), metadata.mtime_nsec())
    };
    assert!(newer(&index) > newer(&repo.main().join("README.md")));
}
