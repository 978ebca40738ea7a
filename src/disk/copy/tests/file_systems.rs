//! Full disks, and file systems that make clones; both need root to be mounted.

use std::path::Path;
use std::process::Command;

use miette::Diagnostic;

use crate::disk::copy::tests::child::is_root;
use crate::disk::copy::tests::support::Ground;

/// Represents a mounted file system, which is unmounted with it.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// Mounts one; none, with a message, when that is not possible here.
    fn new(make: &str) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        if !is_root() {
            println!("skipped: only root mounts file systems");
            return None;
        }
        let line = format!("mkdir at && {make}");
        let output = Command::new("sh")
            .args(["-ec", &line])
            .current_dir(directory.path())
            .output();
        let output = output.expect("sh starts");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            println!("skipped: `{make}` is not possible here: {said}");
            return None;
        }
        Some(Self(directory))
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("at")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn as_root_a_full_disk_is_told_with_the_file_and_nothing_is_left() {
    let Some(mounted) = Mounted::new("mount -t tmpfs -o size=4m tmpfs at") else {
        return;
    };
    for size in [1 << 20, 100 << 10] {
        let source = Ground::new();
        for file in 0..60 {
            source.put(&format!("d{}/f{file}", file % 3), vec![7; size]);
        }
        let small = Ground::within(&mounted.path());
        std::fs::remove_dir(small.from()).expect("it is empty");
        std::os::unix::fs::symlink(source.from(), small.from()).expect("a link");
        let error = small.stage(&source.items()).expect_err("it does not fit");
        let said = error.to_string();
        assert!(said.starts_with("cannot copy d"), "{said}");
        assert!(
            said.ends_with(": No space left on device (os error 28)"),
            "{said}"
        );
        let help = error.help().map(|help| help.to_string());
        assert_eq!(
            help.as_deref(),
            Some("free some space (`df -h .`), then try again")
        );
        assert!(!said.contains("what is left"), "{said}");
        small.require_no_staging();
    }
}

#[test]
fn as_root_large_files_are_cloned_where_the_file_system_clones() {
    let makers = [
        "truncate -s 400M image && mkfs.btrfs -q image && mount -o loop image at",
        "truncate -s 400M image && mkfs.xfs -q image && mount -o loop image at",
    ];
    for make in makers {
        if let Some(mounted) = Mounted::new(make) {
            require_clones(&mounted.path());
        }
    }
}

fn require_clones(directory: &Path) {
    let ground = Ground::within(directory);
    let bytes = |size: usize| (0..251).cycle().take(size).collect::<Vec<u8>>();
    ground.put("small", bytes(1000));
    ground.put("middle", bytes(2 << 20));
    ground.put("large", bytes(40 << 20));
    let settled = ground.place();
    for placed in &settled.staged {
        let path = ground.to().join(placed.path.to_string());
        let copy = std::fs::read(&path).expect("the copy");
        assert!(
            copy == bytes(copy.len()),
            "{} has the same bytes",
            placed.path
        );
        match placed.path.to_string().as_str() {
            "large" => {
                assert_eq!(placed.digest, None, "a large clone is not read");
                let extents = Command::new("filefrag").arg("-v").arg(&path).output();
                let extents = extents.expect("filefrag starts").stdout;
                let extents = String::from_utf8_lossy(&extents).into_owned();
                assert!(extents.contains("shared"), "{extents}");
            }
            _ => {
                let digest = placed.digest.map(|digest| digest.to_string());
                assert_eq!(digest, Some(blake3::hash(&copy).to_string()));
            }
        }
    }
}
