//! Finds out which files processes have open.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

/// Which of these files a process of this host has open; none where the system does not tell. Those
/// of other users are hidden from all but root.
#[cfg(target_os = "linux")]
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "/proc (proc(5)) is the system's word on processes, not a disk"
)]
pub fn open_of(files: &[&Utf8Path]) -> Option<BTreeSet<Utf8PathBuf>> {
    let mut found = BTreeSet::new();
    let mut seen_ourselves = false;
    for process in std::fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let number = process.file_name();
        if !number.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        seen_ourselves |= number.to_str() == Some(&std::process::id().to_string());
        // one that has ended, or is another user's
        let Ok(open) = std::fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        for link in open.filter_map(Result::ok) {
            let target = std::fs::read_link(link.path()).unwrap_or_default();
            found.extend(
                files
                    .iter()
                    .filter(|file| target.as_path() == file.as_std_path())
                    .map(|file| (*file).to_owned()),
            );
        }
    }
    seen_ourselves.then_some(found)
}

/// Which of these files a process of this host has open; none where the system does not tell.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn open_of(_files: &[&Utf8Path]) -> Option<BTreeSet<Utf8PathBuf>> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_we_have_open_is_found_and_another_is_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().canonicalize().expect("it is there");
        let path = Utf8PathBuf::from_path_buf(path).expect("it is UTF-8");
        let other = path.with_extension("other");
        let found = open_of(&[&path, &other]).expect("this system tells");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [path]);
    }
}
