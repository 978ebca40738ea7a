//! Content and digest are those of the source, whatever its size and its holes.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::disk::copy::content;
use crate::disk::copy::staging::Staging;
use crate::disk::copy::tests::support::{Ground, lstat};
use crate::words::error::Interrupted;
use crate::words::progress::Progress;

/// Bytes that do not repeat with any buffer.
fn bytes(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new()
        .update(b"seed")
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

#[test]
fn files_of_every_size_are_copied() {
    let ground = Ground::new();
    let chunk = 256 << 10;
    for size in [
        0,
        1,
        4095,
        4096,
        chunk - 1,
        chunk,
        chunk + 1,
        3 * chunk,
        (17 << 20) + 5,
    ] {
        ground.put(&format!("{size}"), bytes(size));
    }
    let settled = ground.place();
    for placed in &settled.staged {
        let path = placed.path.to_os_path().expect("a path");
        let source = std::fs::read(ground.from().as_std_path().join(&path)).expect("the source");
        let copy = std::fs::read(ground.to().as_std_path().join(&path)).expect("the copy");
        assert!(source == copy, "{} has the same bytes", placed.path);
        let digest = placed.digest.map(|digest| digest.to_string());
        if let Some(digest) = digest {
            assert_eq!(digest, blake3::hash(&source).to_string(), "{}", placed.path);
        } else {
            assert!(source.len() > 16 << 20, "only a large clone has no digest");
        }
    }
}

#[test]
fn a_sparse_file_stays_sparse() {
    let ground = Ground::new();
    for (name, size, data) in [
        ("holes", 40 << 20, vec![0, 5 << 20, 39 << 20]),
        ("ends_in_a_hole", 30 << 20, vec![1 << 20]),
        ("nothing", 20 << 20, vec![]),
        ("small", 1 << 20, vec![512 << 10]),
    ] {
        let file = ground.put(name, "");
        let file = std::fs::File::options()
            .write(true)
            .open(file)
            .expect("it is there");
        file.set_len(size).expect("it grows");
        for at in data {
            file.write_all_at(&bytes(64 << 10), at)
                .expect("it is written");
        }
    }
    let settled = ground.place();
    for placed in &settled.staged {
        let path = placed.path.to_os_path().expect("a path");
        let source = ground.from().as_std_path().join(&path);
        let copy = ground.to().as_std_path().join(&path);
        let blocks = |path| std::fs::metadata(path).expect("it is there").blocks();
        assert!(
            blocks(&copy) <= blocks(&source) + 16,
            "{} stays sparse",
            placed.path
        );
        let read = std::fs::read(&copy).expect("the copy");
        assert!(
            read == std::fs::read(&source).expect("the source"),
            "{}",
            placed.path
        );
        if let Some(digest) = placed.digest {
            assert_eq!(digest.to_string(), blake3::hash(&read).to_string());
        }
    }
}

#[test]
fn hard_links_become_files_of_their_own() {
    let ground = Ground::new();
    let one = ground.put("one", "text");
    std::fs::hard_link(one, ground.from().join("two")).expect("a link");
    drop(ground.place());
    let [one, two] = ["one", "two"].map(|name| lstat(ground.to().join(name)));
    assert_ne!(one.inode, two.inode);
    assert_eq!((one.size, two.size), (4, 4));
}

#[test]
fn a_stop_leaves_nothing() {
    let ground = Ground::new();
    for file in 0..20 {
        ground.put(&format!("d/{file}"), bytes(1 << 20));
    }
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) == 10;
    let stopped = ground
        .stage_until(&ground.items(), &stop)
        .expect_err("it was stopped");
    assert!(stopped.find::<Interrupted>().is_some());
    ground.require_no_staging();
}

#[test]
fn progress_counts_all_files_and_bytes() {
    let ground = Ground::new();
    ground.put("small", bytes(5));
    ground.put("large", bytes(1 << 20));
    ground.put("larger", bytes(20 << 20));
    let sparse = ground.put("sparse", "");
    let sparse = std::fs::File::options()
        .write(true)
        .open(sparse)
        .expect("it is there");
    sparse.set_len(1 << 20).expect("it grows");
    let progress = Progress::default();
    let staging = Staging {
        source: &ground.from(),
        directory: &ground.staging(),
        progress: &progress,
        stop: &|| Ok(()),
    };
    content::stage(&staging, &ground.items()).expect("it is staged");
    let bytes = 5 + (22 << 20);
    assert_eq!(progress.reached(), (bytes, Some(bytes)));
}
