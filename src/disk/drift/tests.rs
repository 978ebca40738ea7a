#![expect(clippy::disallowed_methods, reason = "the tests make files")]

use std::os::unix::fs::{PermissionsExt, symlink};

use camino::Utf8PathBuf;

use super::*;
use crate::disk::digest::digest_below;
use crate::disk::files::settled_time;
use crate::disk::stat::stat_of;
use crate::inventory::placed::PlacedOrigin;

/// A main worktree and a worktree with the same files, all of them in the list.
struct World {
    _tmp: tempfile::TempDir,
    main: Utf8PathBuf,
    here: Utf8PathBuf,
}

const PATHS: [&str; 4] = [".env", "certs", "certs/a.pem", "certs/link"];

impl World {
    fn new() -> Self {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(tmp.path()).expect("it is UTF-8");
        let (main, here) = (root.join("main"), root.join("here"));
        for root in [&main, &here] {
            std::fs::create_dir_all(root.join("certs")).expect("a directory");
            std::fs::write(root.join(".env"), "A=1\n").expect("a file");
            std::fs::write(root.join("certs/a.pem"), "PEM\n").expect("a file");
            symlink("a.pem", root.join("certs/link")).expect("a link");
        }
        Self {
            _tmp: tmp,
            main,
            here,
        }
    }

    fn file(&self, text: &str, digest: bool) -> PlacedFile {
        let path = RepoPath::parse(text).expect("it is normal");
        let stat = |root: &Utf8PathBuf| {
            let metadata = std::fs::symlink_metadata(root.join(text)).expect("it is there");
            stat_of(&metadata)
        };
        let found = digest_below(&self.here, &path).expect("it can be read");
        let kind = found.map_or(PlacedKind::Directory, |(kind, _)| kind);
        PlacedFile {
            origin: PlacedOrigin::Synced,
            kind,
            digest: found.map(|(_, digest)| digest).filter(|_| digest),
            stat: stat(&self.here),
            source: Some(stat(&self.main)),
            path,
        }
    }

    /// The list; stat data prove what they say.
    fn placed(&self, digest: bool) -> Placed {
        let files: Vec<_> = PATHS.iter().map(|path| self.file(path, digest)).collect();
        let newest = files.iter().map(|file| file.stat.ctime).max();
        let settled = settled_time(&self.here, newest.unwrap_or(0)).expect("a time");
        Placed::new(files, settled)
    }

    fn states(&self, placed: &Placed) -> Vec<String> {
        let drifts = drift(&self.here, Some(&self.main), placed).expect("both are there");
        let all = placed.files().iter().zip(drifts);
        let moved = all.filter(|(_, drift)| !drift.is_same());
        moved
            .map(|(file, drift)| format!("{}: {}", file.path, drift.words().join(", ")))
            .collect()
    }
}

#[test]
fn what_nobody_touched_is_the_same_whatever_stat_data_say() {
    let world = World::new();
    let placed = world.placed(true);
    assert_eq!(world.states(&placed), Vec::<String>::new());
    for root in [&world.here, &world.main] {
        let bytes = std::fs::read(root.join(".env")).expect("it is there");
        std::fs::remove_file(root.join(".env")).expect("a file");
        std::fs::write(root.join(".env"), bytes).expect("a file");
        let read_only = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(root.join("certs/a.pem"), read_only).expect("a file");
    }
    assert_eq!(world.states(&placed), Vec::<String>::new());
    for file in placed.files() {
        let same = is_unchanged(&world.here, Some(&world.main), file);
        assert!(same.expect("it can be read"), "{}", file.path);
    }
}

#[test]
fn an_edit_of_the_same_size_and_time_is_seen_on_either_side() {
    for (edited_here, state) in [(true, ".env: edited here"), (false, ".env: source newer")] {
        let world = World::new();
        let placed = world.placed(true);
        let file = if edited_here {
            &world.here
        } else {
            &world.main
        }
        .join(".env");
        let before = std::fs::metadata(&file).expect("it is there");
        std::fs::write(&file, "A=2\n").expect("a file");
        let open = std::fs::File::options().write(true).open(&file);
        let open = open.expect("a file");
        open.set_modified(before.modified().expect("a time"))
            .expect("a time");
        assert_eq!(world.states(&placed), [state]);
        let env = placed.get(&RepoPath::parse(".env").expect("a path"));
        let same = is_unchanged(&world.here, None, env.expect("it is placed"));
        assert_eq!(same.expect("it can be read"), !edited_here);
    }
}

#[test]
fn kinds_and_executable_bits_count_and_links_are_not_followed() {
    let world = World::new();
    let placed = world.placed(true);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.here.join(".env"), executable).expect("a file");
    std::fs::remove_file(world.here.join("certs/link")).expect("a link");
    std::fs::write(world.here.join("certs/link"), "a.pem").expect("a file");
    std::fs::remove_file(world.main.join("certs/a.pem")).expect("a file");
    assert_eq!(
        world.states(&placed),
        [
            ".env: edited here",
            "certs/a.pem: gone at source",
            "certs/link: edited here"
        ]
    );
    // the very same files, behind a link
    std::fs::rename(world.here.join("certs"), world.here.join("else")).expect("a directory");
    symlink("else", world.here.join("certs")).expect("a link");
    let gone = "certs/a.pem: missing, gone at source";
    assert_eq!(
        world.states(&placed)[1..],
        ["certs: edited here", gone, "certs/link: missing"]
    );
}

#[test]
fn without_a_digest_the_source_stands_in_for_it_while_it_is_as_it_was() {
    let world = World::new();
    let placed = world.placed(false);
    assert_eq!(world.states(&placed), Vec::<String>::new());
    // here it was written anew, with what the source has
    std::fs::remove_file(world.here.join(".env")).expect("a file");
    std::fs::write(world.here.join(".env"), "A=1\n").expect("a file");
    // there it was written anew, with what is proven to stand here
    std::fs::write(world.main.join("certs/a.pem"), "PEM\n").expect("a file");
    assert_eq!(world.states(&placed), Vec::<String>::new());
    std::fs::write(world.main.join("certs/a.pem"), "PEN\n").expect("a file");
    assert_eq!(world.states(&placed), ["certs/a.pem: source newer"]);
    std::fs::write(world.main.join(".env"), "A=1\n").expect("a file");
    let both = ".env: edited here, source newer";
    assert_eq!(world.states(&placed), [both, "certs/a.pem: source newer"]);
}

#[test]
fn files_of_many_blocks_stay_in_order_and_context_has_no_source() {
    let world = World::new();
    let paths: Vec<String> = (0..100).map(|n| format!("many/{n:03}")).collect();
    for root in [&world.here, &world.main] {
        std::fs::create_dir_all(root.join("many")).expect("a directory");
        for path in &paths {
            std::fs::write(root.join(path), path).expect("a file");
        }
    }
    let mut files: Vec<_> = paths.iter().map(|path| world.file(path, true)).collect();
    for file in &mut files[50..] {
        file.source = None;
        file.origin = PlacedOrigin::Context;
    }
    let placed = Placed::new(files, 0);
    for path in [&paths[7], &paths[77]] {
        std::fs::write(world.here.join(path), "edited").expect("a file");
        std::fs::remove_file(world.main.join(path)).expect("a file");
    }
    let both = "many/007: edited here, gone at source";
    assert_eq!(world.states(&placed), [both, "many/077: edited here"]);
}
