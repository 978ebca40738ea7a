//! Modes and times are those of the source.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use crate::disk::copy::tests::child::{As, Child};
use crate::disk::copy::tests::support::{Ground, listing, lstat, repo_path};
use crate::inventory::placed::{Placed, PlacedFile, PlacedKind, PlacedOrigin};

fn chmod(path: impl AsRef<std::path::Path>, bits: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).expect("the mode is set");
}

#[test]
fn a_copy_has_the_bits_that_are_asked_for_and_never_lends_rights() {
    let ground = Ground::new();
    for (bits, copied) in [
        (0o600, 0o600),
        (0o644, 0o644),
        (0o755, 0o755),
        (0o666, 0o666),
        (0o777, 0o777),
        (0o444, 0o444),
        (0o400, 0o400),
        (0o4755, 0o755),
        (0o2755, 0o755),
        (0o6711, 0o711),
    ] {
        let file = ground.put(&format!("{bits:o}-{copied:o}"), "text");
        chmod(file, bits);
    }
    for placed in ground.place().staged {
        let name = placed.path.to_string();
        let (_, copied) = name.split_once('-').expect("two numbers");
        assert_eq!(format!("{:o}", placed.stat.mode & 0o7777), copied, "{name}");
    }
}

#[test]
fn the_umask_takes_nothing_off() {
    let ground = Ground::new();
    for bits in [0o666, 0o777, 0o640] {
        chmod(ground.put(&format!("in/{bits:o}"), "text"), bits);
    }
    chmod(ground.from().join("in"), 0o777);
    Child::new(&ground, "place").shell("umask 077").ok();
    assert_eq!(listing(&ground.to()), listing(&ground.from()));
}

#[test]
fn a_directory_that_nobody_asked_for_is_no_more_open_than_its_source() {
    let ground = Ground::new();
    ground.put("closed/in/f", "text");
    ground.put("open/f", "text");
    chmod(ground.from().join("closed"), 0o700);
    chmod(ground.from().join("open"), 0o777);
    Child::new(&ground, "place files").shell("umask 022").ok();
    let bits = |path: &str| lstat(ground.to().join(path)).mode & 0o7777;
    assert_eq!((bits("closed"), bits("open")), (0o700, 0o755));
}

#[test]
fn times_are_kept_to_the_nanosecond() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    ground.put("d/large", vec![1; 1 << 20]);
    std::fs::create_dir(ground.from().join("d/empty")).expect("a directory");
    std::os::unix::fs::symlink("f", ground.from().join("d/link")).expect("a link");
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_789);
    let older = SystemTime::UNIX_EPOCH - Duration::new(5, 7);
    for (path, time) in [
        ("d/f", old),
        ("d/large", older),
        ("d/empty", old),
        ("d", older),
    ] {
        let file = std::fs::File::open(ground.from().join(path)).expect("it is there");
        file.set_modified(time).expect("the time is set");
    }
    drop(ground.place());
    assert_eq!(listing(&ground.to()), listing(&ground.from()));
    assert_eq!(lstat(ground.to().join("d/large")).mtime, -5_000_000_007);
}

#[test]
fn a_read_only_directory_is_placed_and_taken_back_by_an_ordinary_user() {
    let ground = Ground::new();
    for directory in ["new", "there"] {
        ground.put(&format!("{directory}/in/f"), "text");
        chmod(ground.from().join(directory).join("in"), 0o555);
        chmod(ground.from().join(directory), 0o555);
    }
    std::fs::create_dir(ground.to().join("there")).expect("a directory");
    Child::new(&ground, "place").user(As::Ordinary).ok();
    let bits = |path: &str| lstat(ground.to().join(path)).mode & 0o7777;
    assert_eq!((bits("new"), bits("new/in")), (0o555, 0o555));
    assert_eq!(bits("there/in"), 0o555);
    for path in ["new/in", "new", "there/in"] {
        let (from, to) = (
            lstat(ground.from().join(path)),
            lstat(ground.to().join(path)),
        );
        assert_eq!(from.mtime, to.mtime, "{path}");
    }
    ground.require_no_staging();
    for path in ["to/new", "to/new/in", "to/there/in"] {
        chmod(ground.root().join(path), 0o755);
    }
    std::fs::remove_dir_all(ground.to()).expect("it is removed");
    std::fs::create_dir_all(ground.to().join("there")).expect("a directory");
    Child::new(&ground, "take back").user(As::Ordinary).ok();
    let left = listing(&ground.to());
    assert!(
        left.starts_with("there ") && left.lines().count() == 1,
        "{left}"
    );
    ground.require_no_staging();
}

#[test]
fn a_read_only_directory_is_closed_again_before_the_list_is_written() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    let directory = ground.to().join("d");
    std::fs::create_dir(&directory).expect("a directory");
    chmod(&directory, 0o555);
    let ours = PlacedFile {
        path: repo_path("d"),
        origin: PlacedOrigin::Synced,
        kind: PlacedKind::Directory,
        digest: None,
        stat: lstat(&directory),
        source: None,
    };
    let ours = Placed::new(vec![ours], 0);
    let staged = ground.stage(&ground.items()).expect("it is staged");
    let settled = ground.settle_into(staged, &BTreeMap::new(), &ours);
    let settled = settled.expect("it is settled");
    assert!(directory.join("f").exists());
    assert_eq!(lstat(&directory).mode & 0o7777, 0o555);
    assert_eq!(settled.take_back(), [""; 0]);
    assert!(!directory.join("f").exists());
    assert_eq!(lstat(&directory).mode & 0o7777, 0o555);
}
