//! Who may read a file is as before, once a restore is undone.

use super::world::World;

const FILES: &str = "stat -c '%a %n' README.md docs/key docs/shared docs/tool docs/guide.md";

#[test]
fn permission_bits_come_back() {
    let world = World::after(
        "umask 022; rm README.md; echo x >README.md; echo key >docs/key
        git add docs/key; git commit -qm key docs/key; chmod 600 README.md docs/key
        echo s >docs/shared; chmod 666 docs/shared; echo t >docs/tool; chmod 710 docs/tool
        git rm -q --cached docs/guide.md; chmod 640 docs/guide.md",
    );
    let before = world.sh(FILES);
    assert!(before.contains("600 docs/key"), "{before}");
    world.restore(&[]).ok();
    assert_ne!(world.sh(&format!("{FILES} 2>&1 || :")), before);
    world.restore(&["--undo"]).ok();
    assert_eq!(world.sh(FILES), before);
}

/// The other name would lose its bits too, and may be anywhere.
#[test]
fn a_file_with_other_names_keeps_its_write_bit_and_that_is_said() {
    let world = World::after("chmod u+w README.md; ln README.md ../readme-elsewhere");
    let said = world.restore(&[]);
    assert!(
        said.stderr
            .contains("cannot set the write bits of README.md"),
        "{said}"
    );
    assert_eq!(said.status, 6, "{said}");
    assert!(!said.stdout.contains("README.md"), "{said}");
    assert!(!said.stderr.contains("nothing to restore"), "{said}");
}

#[test]
fn setuid_and_closed_directories_come_back() {
    let files = "stat -c '%a %n' docs/keys docs/keys/key docs/empty docs/tool";
    let world = World::after(
        "umask 022; mkdir docs/keys docs/empty; echo key >docs/keys/key; echo t >docs/tool
        chmod 700 docs/keys; chmod 750 docs/empty; chmod 600 docs/keys/key; chmod 4755 docs/tool",
    );
    let before = world.sh(files);
    assert!(before.contains("4755 docs/tool"), "{before}");
    world.restore(&[]).ok();
    assert_ne!(world.sh(&format!("{files} 2>&1 || :")), before);
    world.restore(&["--undo"]).ok();
    assert_eq!(world.sh(files), before);
}
