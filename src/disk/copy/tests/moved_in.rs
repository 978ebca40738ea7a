//! What stands in the destination is never written through or over.

use miette::Diagnostic;

use crate::disk::copy::tests::child::Child;
use crate::disk::copy::tests::support::{Ground, listing, lstat, names, put};
use crate::inventory::placed::PlacedKind;
use crate::words::exit::ExitCode;

#[track_caller]
fn settling_fails(ground: &Ground, over: &[&str]) -> String {
    let before = listing(&ground.to());
    let staged = ground.stage(&ground.items()).expect("it is staged");
    let error = ground.settle_over(staged, over).expect_err("it is refused");
    assert_eq!(error.exit_code(), ExitCode::Refused);
    assert!(error.help().is_some());
    assert!(!error.to_string().contains("what is left"), "{error}");
    assert_eq!(names(&listing(&ground.to())), names(&before));
    ground.require_no_staging();
    error.to_string()
}

#[test]
fn nothing_is_written_through_a_link() {
    for target in ["../outside", "inside", "nowhere"] {
        let ground = Ground::new();
        std::fs::create_dir(ground.root().join("outside")).expect("a directory");
        std::fs::create_dir(ground.to().join("inside")).expect("a directory");
        ground.put("a/f", "text");
        ground.put("d/e/f", "text");
        std::fs::create_dir(ground.to().join("d")).expect("a directory");
        let target = if target == "inside" {
            "../inside"
        } else {
            target
        };
        std::os::unix::fs::symlink(target, ground.to().join("d/e")).expect("a link");
        assert_eq!(
            settling_fails(&ground, &[]),
            "cannot place d/e: a link stands there"
        );
        assert_eq!(listing(&ground.root().join("outside")), "");
    }
}

#[test]
fn a_file_or_link_where_something_is_to_be_is_refused() {
    let text = "cannot place f: a file stands there";
    let ground = Ground::new();
    ground.put("a", "text");
    ground.put("f", "text");
    ground.put_there("f", "other");
    assert_eq!(settling_fails(&ground, &[]), text);
    std::fs::remove_file(ground.to().join("f")).expect("it is removed");
    std::fs::create_dir(ground.to().join("f")).expect("a directory");
    let text = "cannot place f: a directory stands there";
    assert_eq!(settling_fails(&ground, &[]), text);
    assert_eq!(settling_fails(&ground, &["f"]), text);
    std::fs::remove_dir(ground.to().join("f")).expect("it is removed");
    std::os::unix::fs::symlink("../outside", ground.to().join("f")).expect("a link");
    let text = "cannot place f: a link stands there";
    assert_eq!(settling_fails(&ground, &[]), text);
    assert!(!ground.root().join("outside").exists());
}

#[test]
fn only_what_was_seen_is_replaced_and_it_can_be_taken_back() {
    let ground = Ground::new();
    ground.put("d/f", "new");
    ground.put("d/g", "new");
    ground.put("l", "new");
    ground.put_there("d/f", "old");
    std::os::unix::fs::symlink("d/f", ground.to().join("l")).expect("a link");
    let before = listing(&ground.to());
    let staged = ground.stage(&ground.items()).expect("it is staged");
    let settled = ground
        .settle_over(staged, &["d/f", "l"])
        .expect("it is settled");
    assert_eq!(
        std::fs::read(ground.to().join("d/f")).expect("a file"),
        b"new"
    );
    assert_eq!(
        std::fs::read(ground.to().join("l")).expect("a file"),
        b"new"
    );
    assert_eq!(settled.take_back(), [""; 0]);
    assert_eq!(names(&listing(&ground.to())), names(&before));
    assert_eq!(
        std::fs::read(ground.to().join("d/f")).expect("a file"),
        b"old"
    );
    assert_eq!(
        std::fs::read_link(ground.to().join("l"))
            .expect("a link")
            .to_str(),
        Some("d/f")
    );
    ground.require_no_staging();
}

#[test]
fn what_was_changed_since_it_was_seen_is_not_replaced() {
    let ground = Ground::new();
    ground.put("a", "new");
    ground.put("f", "new");
    ground.put_there("f", "old");
    let staged = ground.stage(&ground.items()).expect("it is staged");
    let seen = lstat(ground.to().join("f"));
    ground.put_there("f", "edited");
    let over = [(super::support::repo_path("f"), seen)].into();
    let error = ground.settle_seen(staged, &over);
    let error = error.expect_err("it is refused");
    assert_eq!(error.to_string(), "f changed while it was copied");
    assert_eq!(names(&listing(&ground.to())), ["f"]);
    assert_eq!(
        std::fs::read(ground.to().join("f")).expect("a file"),
        b"edited"
    );
    ground.require_no_staging();
}

#[test]
fn a_directory_that_was_there_stays_as_it_was_and_is_not_ours() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    ground.put_there("d/own", "text");
    let settled = ground.place();
    let placed: Vec<String> = settled.staged.iter().map(|s| s.path.to_string()).collect();
    assert_eq!(placed, ["d/f"]);
    assert_eq!(settled.take_back(), [""; 0]);
    assert_eq!(names(&listing(&ground.to())), ["d", "d/own"]);
}

#[test]
fn directories_that_were_made_on_the_way_are_told() {
    let ground = Ground::new();
    ground.put("d/e/f", "text");
    ground.put("x/y/z", "text");
    std::fs::create_dir(ground.to().join("x")).expect("a directory");
    let mut items = ground.items();
    items.retain(|item| item.path.to_string().ends_with(['f', 'z']));
    let staged = ground.stage(&items).expect("it is staged");
    let settled = ground.move_in(staged).expect("it is settled");
    let made = settled
        .staged
        .iter()
        .filter(|s| s.kind == PlacedKind::Directory);
    let made: Vec<String> = made.map(|s| s.path.to_string()).collect();
    assert_eq!(made, ["d", "d/e", "x/y"]);
    for made in &settled.staged {
        let path = made.path.to_os_path().expect("a path");
        assert_eq!(
            made.stat,
            lstat(ground.to().as_std_path().join(path)),
            "{}",
            made.path
        );
    }
    assert_eq!(settled.take_back(), [""; 0]);
    assert_eq!(names(&listing(&ground.to())), ["x"]);
}

#[test]
fn taking_back_keeps_what_somebody_else_put_there_or_edited() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    ground.put("d/g", "text");
    ground.put("e/f", "text");
    let settled = ground.place();
    ground.put_there("d/foreign", "text");
    ground.put_there("d/g", "edited");
    let warnings = settled.take_back();
    assert_eq!(
        warnings,
        [
            "cannot remove d/g again: it was changed",
            "cannot remove d again: other files are in it",
        ]
    );
    assert_eq!(names(&listing(&ground.to())), ["d", "d/foreign", "d/g"]);
    ground.require_no_staging();
}

#[test]
fn what_was_replaced_is_kept_when_its_place_was_taken() {
    let ground = Ground::new();
    ground.put("f", "new");
    ground.put_there("f", "old");
    let staged = ground.stage(&ground.items()).expect("it is staged");
    let settled = ground.settle_over(staged, &["f"]).expect("it is settled");
    ground.put_there("f", "edited");
    let warnings = settled.take_back();
    let held = ground.staging().join("0");
    assert_eq!(
        warnings,
        [
            "cannot remove f again: it was changed".to_owned(),
            format!("cannot put f back: File exists (os error 17); what was there is {held}"),
        ]
    );
    assert_eq!(std::fs::read(held).expect("a file"), b"old");
    assert_eq!(
        std::fs::read(ground.to().join("f")).expect("a file"),
        b"edited"
    );
}

#[test]
fn a_kill_between_two_renames_leaves_whole_files_only() {
    let ground = Ground::new();
    for file in ["a/1", "a/2", "b/c/3", "4", "5"] {
        ground.put(file, file.repeat(1000));
    }
    let traced = std::process::Command::new("strace")
        .args(["-o/dev/null", "true"])
        .status();
    if !traced.is_ok_and(|status| status.success()) {
        println!("skipped: there is no strace that may trace");
        return;
    }
    // `a` is there: its entries are moved one by one
    for at in 1..=5 {
        put(&ground.to().join("a/own"), "own");
        let inject = format!(
            "set -- strace -f -qq -o/dev/null -e inject=renameat2:signal=KILL:when={at} \"$0\" \
             --exact disk::copy::tests::child::in_a_child --ignored; exec \"$@\""
        );
        let output = Child::new(&ground, "place").shell(&inject).output();
        assert!(!output.status.success(), "it was killed at {at}");
        let source = listing(&ground.from());
        let there = listing(&ground.to());
        let mut placed = 0;
        for line in there.lines().filter(|line| line.contains(" 100")) {
            if !line.starts_with("a/own ") {
                assert!(source.lines().any(|whole| whole == line), "{line} is whole");
                placed += 1;
            }
        }
        assert!(
            ground.staging().exists() && placed <= 5,
            "killed at {at}: {there}"
        );
        std::fs::remove_dir_all(ground.staging()).expect("the staging is ours");
        std::fs::remove_dir_all(ground.to()).expect("it is removed");
    }
    std::fs::create_dir(ground.to()).expect("a directory");
    assert_eq!(ground.place().done(), [""; 0]);
    assert_eq!(listing(&ground.to()), listing(&ground.from()));
}
