//! What is copied is what it was copied from.

use crate::disk::copy::tests::support::{Ground, listing, lstat, names};

#[test]
fn everything_is_placed_as_it_was() {
    let ground = Ground::new();
    ground.put(".env", "KEY=1\n");
    ground.put("certs/deep/er/key.pem", "secret");
    ground.put("large.bin", vec![7; 3 << 20]);
    std::fs::create_dir(ground.from().join("empty")).expect("a directory");
    std::os::unix::fs::symlink("../nowhere", ground.from().join("certs/link")).expect("a link");
    let settled = ground.place();
    assert_eq!(listing(&ground.to()), listing(&ground.from()));
    for placed in &settled.staged {
        let path = placed.path.to_os_path().expect("a path");
        assert_eq!(
            placed.stat,
            lstat(ground.to().as_std_path().join(path)),
            "{}",
            placed.path
        );
    }
    assert_eq!(settled.staged.len(), ground.items().len());
    assert_eq!(settled.done(), [""; 0]);
    ground.require_no_staging();
}

#[test]
fn everything_is_taken_back() {
    let ground = Ground::new();
    ground.put("a/b/c", "1");
    ground.put("a/d", "2");
    ground.put_there("a/own", "3");
    let before = listing(&ground.to());
    let settled = ground.place();
    assert_eq!(settled.take_back(), [""; 0]);
    ground.require_no_staging();
    assert_eq!(names(&listing(&ground.to())), names(&before));
}
