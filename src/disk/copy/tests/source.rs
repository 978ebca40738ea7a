//! What happens to a source while it is copied; nothing is copied that was not chosen.

use std::sync::Once;

use miette::Diagnostic;

use crate::disk::copy::content;
use crate::disk::copy::staging::Staging;
use crate::disk::copy::tests::child::{As, Child, said};
use crate::disk::copy::tests::support::{Ground, listing, put};
use crate::words::exit::ExitCode;
use crate::words::progress::Progress;

/// Stages all, and does something before anything is copied.
#[track_caller]
fn staging_fails(ground: &Ground, change: impl Fn() + Sync) -> String {
    let changed = Once::new();
    let stop = || {
        changed.call_once(&change);
        false
    };
    let error = ground
        .stage_until(&ground.items(), &stop)
        .expect_err("it is refused");
    assert_eq!(error.exit_code(), ExitCode::Refused);
    assert!(error.help().is_some());
    ground.require_no_staging();
    assert_eq!(listing(&ground.to()), "");
    error.to_string()
}

#[test]
fn links_are_copied_as_links() {
    let ground = Ground::new();
    ground.put("d/f", "text");
    let outside = put(&ground.root().join("outside/secret"), "secret");
    for (name, target) in [
        ("dangling", "nowhere"),
        ("absolute", outside.to_str().expect("it is UTF-8")),
        ("up", "../outside/secret"),
        ("directory", "d"),
        ("d/nested", "../directory/f"),
        ("loop", "loop"),
    ] {
        std::os::unix::fs::symlink(target, ground.from().join(name)).expect("a link");
    }
    let settled = ground.place();
    assert_eq!(listing(&ground.to()), listing(&ground.from()));
    let link = settled
        .staged
        .iter()
        .find(|s| s.path.to_string() == "dangling");
    let digest = link.and_then(|link| link.digest).expect("it has a digest");
    assert_eq!(digest.to_string(), blake3::hash(b"nowhere").to_string());
}

#[test]
fn a_file_that_becomes_a_link_is_not_followed() {
    let ground = Ground::new();
    let secret = put(&ground.root().join("outside/secret"), "text");
    let file = ground.put("d/f", "text");
    let said = staging_fails(&ground, || {
        std::fs::remove_file(&file).expect("it is removed");
        std::os::unix::fs::symlink(&secret, &file).expect("a link");
    });
    assert_eq!(said, "d/f changed while it was copied");
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    // also not when the link leads to the very directory that was chosen
    for target in ["outside", "away"] {
        let ground = Ground::new();
        put(&ground.root().join("outside/f"), "text");
        ground.put("d/e/f", "text");
        let e = ground.from().join("d/e");
        let said = staging_fails(&ground, || {
            std::fs::rename(&e, ground.root().join("away")).expect("it is moved");
            std::os::unix::fs::symlink(ground.root().join(target), &e).expect("a link");
        });
        assert_eq!(said, "d/e changed while it was copied");
    }
}

#[test]
fn another_directory_in_its_place_is_not_the_one_that_was_chosen() {
    let ground = Ground::new();
    ground.put("d/e/f", "text");
    let e = ground.from().join("d/e");
    let said = staging_fails(&ground, || {
        std::fs::rename(&e, ground.root().join("away")).expect("it is moved");
        put(&e.join("f"), "text");
    });
    assert_eq!(said, "d/e changed while it was copied");
}

#[test]
fn a_fifo_in_place_of_a_file_is_refused_and_does_not_block() {
    let ground = Ground::new();
    let file = ground.put("d/f", "");
    let said = staging_fails(&ground, || {
        std::fs::remove_file(&file).expect("it is removed");
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.expect("mkfifo starts").success());
    });
    assert_eq!(said, "d/f changed while it was copied");
}

#[test]
fn a_file_that_is_gone_is_refused() {
    let ground = Ground::new();
    let file = ground.put("d/f", "");
    let said = staging_fails(&ground, || {
        std::fs::remove_file(&file).expect("it was there");
    });
    assert_eq!(said, "d/f changed while it was copied");
}

#[test]
fn a_file_that_is_written_to_is_refused() {
    let ground = Ground::new();
    let file = ground.put("d/f", "text");
    let said = staging_fails(&ground, || {
        std::fs::write(&file, "tex2").expect("it is written");
    });
    assert_eq!(said, "d/f changed while it was copied");
}

#[test]
fn a_large_file_that_is_written_to_meanwhile_is_refused() {
    let ground = Ground::new();
    let file = ground.put("f", vec![1; 100 << 20]);
    let progress = Progress::default();
    let staging = Staging {
        source: &ground.from(),
        directory: &ground.staging(),
        progress: &progress,
        stop: &|| Ok(()),
    };
    let items = ground.items();
    let error = std::thread::scope(|threads| {
        threads.spawn(|| {
            use std::os::unix::fs::FileExt;
            while progress.reached().0 == 0 {
                std::hint::spin_loop();
            }
            let file = std::fs::File::options().write(true).open(&file);
            let written = file.and_then(|file| file.write_all_at(b"2", 0));
            written.expect("it is written");
        });
        content::stage(&staging, &items).expect_err("it is refused")
    });
    assert_eq!(error.to_string(), "f changed while it was copied");
    ground.require_no_staging();
}

#[test]
fn a_link_that_is_changed_is_refused() {
    let ground = Ground::new();
    ground.put("d/f", "");
    std::fs::remove_file(ground.from().join("d/f")).expect("it is removed");
    let link = ground.from().join("d/link");
    std::os::unix::fs::symlink("f", &link).expect("a link");
    let said = staging_fails(&ground, || {
        std::fs::remove_file(&link).expect("it is removed");
        std::fs::write(&link, "f").expect("a file");
    });
    assert_eq!(said, "d/link changed while it was copied");
}

#[test]
fn a_source_that_may_not_be_read_is_named_and_nothing_is_left() {
    let ground = Ground::new();
    ground.put("a/readable", "text");
    let file = ground.put("d/secret", "text");
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o0))
        .expect("mode");
    let output = Child::new(&ground, "fail").user(As::Ordinary).output();
    let said = said(&output);
    assert!(
        said.contains("said: cannot read d/secret: Permission denied (os error 13)"),
        "{said}"
    );
    ground.require_no_staging();
}

#[test]
fn a_kill_at_any_file_leaves_the_source_as_it_was_and_nothing_half() {
    let ground = Ground::new();
    for file in ["a/1", "a/2", "b/c/3", "b/c/4", "5"] {
        ground.put(file, file.repeat(1000));
    }
    std::os::unix::fs::symlink("1", ground.from().join("a/link")).expect("a link");
    let source = listing(&ground.from());
    // three directories, six entries; the last one is not reached
    for at in 0..=9 {
        let output = Child::new(&ground, &format!("abort {at}")).output();
        assert_eq!(output.status.success(), at == 9, "{at}: {}", said(&output));
        assert_eq!(listing(&ground.from()), source);
        if at < 9 {
            assert_eq!(listing(&ground.to()), "", "killed at {at}");
            std::fs::remove_dir_all(ground.staging()).expect("the staging is ours");
        }
    }
    assert_eq!(listing(&ground.to()), source);
}
