//! Only what is as it was placed is removed.

use crate::disk::copy::removal::{Removed, remove_placed};
use crate::disk::copy::staging::Staged;
use crate::disk::copy::tests::support::{Ground, listing, names};

fn remove(ground: &Ground, placed: &[Staged]) -> Removed {
    remove_placed(&ground.to(), placed).expect("the destination is there")
}

fn shown(removed: &Removed) -> String {
    let gone = removed
        .removed
        .iter()
        .map(|path| format!("removed {path}\n"));
    let stayed = removed.stayed.iter();
    let stayed = stayed.map(|(path, reason)| format!("stays {path}: {reason}\n"));
    gone.chain(stayed).collect()
}

#[test]
fn what_was_edited_and_its_directories_stay() {
    let ground = Ground::new();
    for file in ["a/1", "a/2", "a-b", "b/c/3", "gone"] {
        ground.put(file, file);
    }
    let placed = ground.place().staged;
    ground.put_there("a/2", "edited");
    std::fs::remove_file(ground.to().join("gone")).expect("it is removed");
    assert_eq!(
        shown(&remove(&ground, &placed)),
        "removed b/c/3\nremoved b/c\nremoved b\nremoved a/1\nremoved a-b\n\
         stays a/2: it was changed\nstays a: other files are in it\n"
    );
    assert_eq!(names(&listing(&ground.to())), ["a", "a/2"]);
}

#[test]
fn nothing_is_removed_through_a_link() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    let placed = ground.place().staged;
    let away = ground.root().join("away");
    std::fs::rename(ground.to().join("d"), &away).expect("it is moved");
    std::os::unix::fs::symlink(&away, ground.to().join("d")).expect("a link");
    assert_eq!(
        shown(&remove(&ground, &placed)),
        "stays d/f: something else stands where its directory was\nstays d: it was changed\n"
    );
    assert_eq!(names(&listing(&away)), ["f"]);
}
