//! Measures how much of the disk a directory takes.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use ignore::WalkBuilder;

use super::pool::map_parallel;

/// The unit of `st_blocks` (stat(3type)), whatever the block size of the file system.
const BLOCK: u64 = 512;

/// Returns the bytes that each of these directories takes with everything below, in blocks of the
/// disk, as du(1) counts. A file with several names in a directory counts once there; no link is
/// followed. None where something cannot be read.
#[must_use]
pub fn usage(directories: &[&Utf8Path]) -> Vec<Option<u64>> {
    let measure = |(): &mut (), directory: &&Utf8Path| {
        Ok::<_, std::convert::Infallible>(measure(directory).ok())
    };
    map_parallel(directories, || Ok(()), measure).unwrap_or_default()
}

fn measure(directory: &Utf8Path) -> Result<u64, ignore::Error> {
    let mut blocks = 0;
    let mut seen = HashSet::new();
    for entry in WalkBuilder::new(directory).standard_filters(false).build() {
        let metadata = entry?.metadata()?;
        let is_known = !metadata.is_dir()
            && metadata.nlink() > 1
            && !seen.insert((metadata.dev(), metadata.ino()));
        if !is_known {
            blocks += metadata.blocks();
        }
    }
    Ok(blocks * BLOCK)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make files")]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_and_links_are_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let measure = || match usage(&[path])[..] {
            [Some(bytes)] => bytes,
            ref other => panic!("{other:?}"),
        };
        let empty = measure();
        std::fs::write(path.join("a"), vec![b'x'; 100_000]).expect("written");
        let one = measure();
        assert!((100_000..200_000).contains(&(one - empty)), "{one}");
        std::fs::hard_link(path.join("a"), path.join("b")).expect("linked");
        std::os::unix::fs::symlink("a", path.join("c")).expect("linked");
        assert!(measure() - one < 10_000, "{}", measure());
        std::fs::create_dir(path.join("d")).expect("made");
        std::fs::write(path.join("d/e"), vec![b'x'; 100_000]).expect("written");
        assert!(measure() - one > 100_000);
        assert_eq!(usage(&[&path.join("gone")]), [None]);
    }
}
