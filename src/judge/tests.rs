use std::collections::{BTreeMap, BTreeSet};

use crate::inventory::manifest::{Item, Manifest};
use crate::judge::change::{
    Cause, Change, ChangeSet, Content, Extent, INDEX_LOCK, Kind, Place, Seen, SharedChange,
    by_kind, by_seen,
};
use crate::judge::compare::{Delta, State, compare, same};
use crate::judge::finding::{Level, Reason, Report, VerifyOptions, verify, without_scope};
use crate::scope::compiled::Scope;
use crate::scope::rule::{Case, RuleList, RuleOrigin, ScopeRule};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

fn commit(letter: &str) -> CommitId {
    CommitId::parse(&letter.repeat(40)).expect("a letter from a to f")
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).expect("it is normal")
}

fn change(text: &str, kind: Kind, seen: Seen) -> Change {
    Change::new(Place::Path(path(text)), kind, seen)
}

fn directory(text: &str, seen: Seen) -> Change {
    Change {
        is_directory: true,
        ..change(text, Kind::Created, seen)
    }
}

fn entry(mode: Mode, byte: u8) -> Entry {
    Entry {
        mode,
        id: ObjectId::from_bytes(&[byte; 20]).expect("20 bytes"),
    }
}

fn change_set(changes: Vec<Change>) -> ChangeSet {
    ChangeSet::new(commit("a"), commit("b"), changes)
}

/// `src` is to be written, `docs` and a directory `lib` to be read, names that end with `.pem` are
/// excluded, and no rule says anything of other paths.
fn scope() -> Scope {
    let rules = [
        (RuleList::Write, "src/**"),
        (RuleList::Read, "docs/**"),
        (RuleList::Read, "lib/"),
        (RuleList::Exclude, "*.pem"),
    ];
    let rules = rules.map(|(list, pattern)| ScopeRule::new(list, pattern, RuleOrigin::Default));
    Scope::compile(rules.into(), Case::Sensitive).expect("the patterns are valid")
}

/// Each finding as `path reason level`.
fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in &report.findings {
        let place = &finding.change.place;
        let reason = finding.reason.as_str();
        let level = finding.level.as_str();
        lines.push(format!("{place} {reason} {level}"));
    }
    lines
}

fn verdict_on(changes: ChangeSet) -> Vec<String> {
    lines(&verify(&scope(), changes, VerifyOptions::default()))
}

#[test]
fn a_place_has_one_text_and_the_bytes_of_a_path() {
    for (place, tsv, bytes) in [
        (Place::Path(path("src/a")), "src/a", Some("src/a")),
        (Place::Path(path("@head")), "\\100head", Some("@head")),
        (Place::Absolute("/r/a".into()), "/r/a", Some("/r/a")),
        (Place::Git("config".into()), "@git/config", None),
        (Place::Admin("HEAD".into()), "@wt/HEAD", None),
        (Place::Head, "@head", None),
        (Place::Worktree, "@worktree", None),
        (Place::Main("a".into()), "@main/a", None),
        (Place::Outside("/a".into()), "@outside/a", None),
    ] {
        assert_eq!(place.to_tsv(), tsv);
        assert_eq!(place.path_bytes(), bytes.map(str::as_bytes), "{tsv}");
        let field = bytes.unwrap_or(tsv);
        assert_eq!(place.to_bytes(), field.as_bytes(), "{tsv}");
        let is_path = matches!(place, Place::Path(_));
        assert_eq!(place.path().is_some(), is_path, "{tsv}");
    }
    assert_eq!(Place::Path(path("@head")).to_string(), "@head");
}

#[test]
fn a_shared_place_is_read_from_its_text() {
    for (text, place) in [
        ("@git/refs/heads/x", Place::Git("refs/heads/x".into())),
        ("@main/a/b", Place::Main("a/b".into())),
        ("@wt/HEAD", Place::Admin("HEAD".into())),
        ("@outside/etc/a", Place::Outside("/etc/a".into())),
        ("/etc/a", Place::Outside("/etc/a".into())),
    ] {
        assert_eq!(Place::of_shared(text), place, "{text}");
    }
}

#[test]
fn each_kind_and_extent_has_a_word() {
    for (kind, word) in [
        (Kind::Created, "created"),
        (Kind::Modified, "modified"),
        (Kind::Deleted, "deleted"),
        (Kind::Typechange, "typechange"),
        (Kind::Mode, "mode"),
        (Kind::Present, "present"),
        (Kind::Ref, "ref"),
        (Kind::Config, "config"),
        (Kind::Hook, "hook"),
        (Kind::Worktree, "worktree"),
        (Kind::Leak, "leak"),
        (Kind::Perm, "perm"),
        (Kind::Integrity, "integrity"),
    ] {
        assert_eq!(kind.as_str(), word);
    }
    assert_eq!(Extent::Everything.as_str(), "everything");
    assert_eq!(Extent::Commits.as_str(), "commits");
}

#[test]
fn where_a_change_was_seen_has_a_word_and_a_text() {
    for (seen, word, text) in [
        (Seen::Commit(commit("c")), "commit", "commit cccccccccc"),
        (Seen::Committed, "committed", "committed"),
        (Seen::Index, "index", "index"),
        (Seen::Disk, "disk", "disk"),
        (Seen::Untracked, "untracked", "untracked"),
        (Seen::Ignored, "ignored", "ignored"),
        (Seen::Synced, "synced", "synced"),
        (
            Seen::AssumeUnchanged,
            "assume-unchanged",
            "hidden by assume-unchanged",
        ),
        (
            Seen::SkipWorktree,
            "skip-worktree",
            "hidden by skip-worktree",
        ),
    ] {
        assert_eq!(seen.as_str(), word);
        assert_eq!(seen.to_string(), text);
        let is_commit = matches!(seen, Seen::Commit(_));
        assert_eq!(seen.commit().is_some(), is_commit, "{word}");
    }
}

#[test]
fn an_answer_has_each_word_once_and_every_commit() {
    let mut twice = change("a", Kind::Modified, Seen::Commit(commit("a")));
    twice.seen.insert(Seen::Commit(commit("b")));
    let answer = serde_json::to_value(&twice).expect("it is plain data");
    let commits = [commit("a"), commit("b")];
    let expected = serde_json::json!({
        "path": "a",
        "kind": "modified",
        "seen": ["commit"],
        "commits": commits,
    });
    assert_eq!(answer, expected);
}

#[test]
fn changes_are_counted_by_kind_and_by_where_they_were_seen() {
    let mut twice = change("a", Kind::Modified, Seen::Commit(commit("a")));
    twice.seen.insert(Seen::Commit(commit("b")));
    twice.seen.insert(Seen::Disk);
    let changes = [
        twice,
        change("b", Kind::Modified, Seen::Disk),
        change("c", Kind::Deleted, Seen::Disk),
    ];
    let counts = |words: &[(&str, u64)]| -> BTreeMap<String, u64> {
        let pairs = words.iter();
        pairs.map(|(word, n)| ((*word).to_owned(), *n)).collect()
    };
    let kinds = counts(&[("modified", 2), ("deleted", 1)]);
    assert_eq!(by_kind(&changes), kinds);
    let places = counts(&[("commit", 1), ("disk", 3)]);
    assert_eq!(by_seen(&changes), places, "a change counts once in a place");
}

#[test]
fn what_is_only_ignored_does_not_count() {
    let ignored = change("out", Kind::Created, Seen::Ignored);
    let mut staged = change("staged", Kind::Created, Seen::Ignored);
    staged.seen.insert(Seen::Index);
    let untracked = change("new", Kind::Created, Seen::Untracked);
    let changes = change_set(vec![ignored, staged, untracked]);
    let counted: Vec<String> = changes
        .counted()
        .map(|change| change.place.to_string())
        .collect();
    assert_eq!(counted, ["staged", "new"]);
}

#[test]
fn a_setting_that_had_no_value_is_known_by_its_text() {
    let setting = |file: &str, detail: &str| {
        let place = Place::Git(file.into());
        let mut change = Change::detailed(place, Kind::Config, detail);
        change.now = vec![Content::value("core.pager", Some("1".to_owned()))];
        change
    };
    let added = setting("config", "core.pager was added: less");
    assert_eq!(added.detail.as_deref(), Some("core.pager was added: less"));
    assert_eq!(added.added_key(), Some("core.pager"));
    let changed = setting("config", "core.pager was less, is more");
    assert_eq!(changed.added_key(), None);
    let of_other_file = setting("config.worktree", "core.pager was added: less");
    assert_eq!(of_other_file.added_key(), None);
}

#[test]
fn a_content_is_named_where_it_is_known() {
    let unread = |mode| Entry {
        mode,
        id: ObjectId::none(),
    };
    let named = |key: &str, text: String| Some((key.to_owned(), text));
    let file = entry(Mode::Executable, 0x11);
    let empty = format!("directory {}", ObjectId::none());
    for (content, expected) in [
        (
            Content::value("core.pager", Some("1".to_owned())),
            named("core.pager", "1".to_owned()),
        ),
        (Content::value("", None), named("", "absent".to_owned())),
        (Content::Entry(None), named("", "absent".to_owned())),
        (
            Content::Entry(Some(file)),
            named("", format!("100755 {}", "11".repeat(20))),
        ),
        (
            Content::Entry(Some(unread(Mode::EmptyDirectory))),
            named("", empty),
        ),
        (Content::Entry(Some(unread(Mode::File))), None),
    ] {
        assert_eq!(content.named(), expected, "{content:?}");
    }
}

#[test]
fn a_submodule_that_was_never_filled_is_an_empty_directory() {
    let gitlink = Some(entry(Mode::Gitlink, 1));
    let empty = Some(entry(Mode::EmptyDirectory, 0));
    let file = Some(entry(Mode::File, 1));
    for (reference, now, is_same) in [
        (gitlink, empty, true),
        (gitlink, Some(entry(Mode::Gitlink, 2)), false),
        (file, empty, false),
        (file, file, true),
        (None, empty, true),
        (None, file, false),
        (file, None, false),
        (gitlink, None, false),
        (None, None, true),
    ] {
        assert_eq!(same(reference, now), is_same, "{reference:?}, {now:?}");
    }
}

fn delta(text: &str, entry: Entry) -> Delta {
    Delta::from([(path(text), Some(entry))])
}

/// Compares two states with a base that has the file or link `a`.
fn changes_of(base: Entry, index: Entry, disk: Entry) -> Vec<Change> {
    let item = Item {
        path: path("a"),
        base: Some(base),
        disk: None,
    };
    let base = Manifest::new(vec![item], 0);
    let references = [Delta::new()];
    let index = delta("a", index);
    let disk = delta("a", disk);
    let states = [
        State::new(&index, &references, &|_| Seen::Index),
        State::new(&disk, &references, &|_| Seen::Disk),
    ];
    compare(&base, &states)
}

#[test]
fn of_two_states_content_says_more_than_the_executable_bit() {
    let base = entry(Mode::File, 1);
    let bit = entry(Mode::Executable, 1);
    let content = entry(Mode::File, 2);
    for (index, disk) in [(bit, content), (content, bit)] {
        let changes = changes_of(base, index, disk);
        assert_eq!(changes.len(), 1, "each path has one change");
        assert_eq!(changes[0].kind, Kind::Modified);
        assert_eq!(changes[0].seen, BTreeSet::from([Seen::Index, Seen::Disk]));
        let now = [index, disk].map(|entry| Content::Entry(Some(entry)));
        assert_eq!(changes[0].now, now, "the content in each state is named");
    }
}

#[test]
fn what_a_link_or_a_submodule_names_is_its_content() {
    for mode in [Mode::Link, Mode::Gitlink] {
        let now = entry(mode, 2);
        let changes = changes_of(entry(mode, 1), now, now);
        assert_eq!(changes[0].kind, Kind::Modified, "{mode:?}");
        assert_eq!(changes[0].is_directory, mode == Mode::Gitlink, "{mode:?}");
    }
    let gitlink = entry(Mode::Gitlink, 2);
    let changes = changes_of(entry(Mode::File, 1), gitlink, gitlink);
    assert_eq!(changes[0].kind, Kind::Typechange);
    assert!(changes[0].is_directory, "it is one by now");
    let executable = entry(Mode::Executable, 2);
    let changes = changes_of(entry(Mode::File, 1), executable, executable);
    assert_eq!(changes[0].kind, Kind::Modified, "both differ");
}

#[test]
fn a_net_change_is_judged_by_the_access_of_its_path() {
    let rows = [
        ("src/a", Seen::Disk, ""),
        ("docs/a", Seen::Disk, "docs/a read-only violation"),
        ("other", Seen::Disk, "other excluded violation"),
        ("lib", Seen::Disk, "lib excluded violation"),
        ("src/k.pem", Seen::Disk, "src/k.pem excluded violation"),
        // build output is allowed for, unless a rule excludes it
        ("docs/out", Seen::Ignored, ""),
        ("out", Seen::Ignored, ""),
        ("out.pem", Seen::Ignored, "out.pem excluded violation"),
    ];
    for (text, seen, expected) in rows {
        let changes = change_set(vec![change(text, Kind::Created, seen)]);
        assert_eq!(verdict_on(changes).join(", "), expected, "{text}");
    }
    for (text, expected) in [
        ("docs/sub", "docs/sub read-only violation"),
        ("lib", "lib read-only violation"),
        ("sub.pem", "sub.pem excluded violation"),
    ] {
        let changes = change_set(vec![directory(text, Seen::Disk)]);
        assert_eq!(verdict_on(changes), [expected]);
    }
}

#[test]
fn what_does_no_harm_is_a_notice() {
    let state = ".claude/settings.local.json";
    for (text, kind, seen, level) in [
        ("docs/a", Kind::Perm, Seen::Disk, "read-only notice"),
        ("docs/a", Kind::Mode, Seen::Disk, "read-only violation"),
        // a file that an agent program writes for itself
        (state, Kind::Created, Seen::Untracked, "excluded notice"),
        (state, Kind::Modified, Seen::Synced, "excluded notice"),
        (state, Kind::Deleted, Seen::Synced, "excluded violation"),
        (state, Kind::Modified, Seen::Disk, "excluded violation"),
        (
            "docs/a",
            Kind::Created,
            Seen::Untracked,
            "read-only violation",
        ),
    ] {
        let changes = change_set(vec![change(text, kind, seen)]);
        assert_eq!(verdict_on(changes), [format!("{text} {level}")]);
    }
    let mut staged = change(state, Kind::Created, Seen::Untracked);
    staged.seen.insert(Seen::Index);
    let expected = format!("{state} excluded violation");
    assert_eq!(verdict_on(change_set(vec![staged])), [expected]);
}

#[test]
fn a_change_that_is_set_apart_is_judged_once() {
    let mut converted = change("docs/a", Kind::Modified, Seen::Disk);
    converted.now = vec![Content::Entry(None)];
    let ignoring_itself = directory("docs/d", Seen::Untracked);
    let mut changes = change_set(vec![converted.clone(), ignoring_itself.clone()]);
    changes.apart = vec![
        converted,
        ignoring_itself,
        directory("d.pem", Seen::Untracked),
        directory("other", Seen::Untracked),
        change("k.pem", Kind::Modified, Seen::Disk),
    ];
    let expected = [
        "docs/d read-only violation",
        "docs/a read-only notice",
        "docs/d read-only notice",
        "k.pem excluded notice",
        "other excluded notice",
    ];
    assert_eq!(verdict_on(changes), expected);
}

#[test]
fn history_is_a_notice_and_counts_unless_only_the_net_does() {
    let seen = || Seen::Commit(commit("c"));
    let mut changes = change_set(Vec::new());
    changes.history = vec![
        change("docs/a", Kind::Modified, seen()),
        change("docs/b", Kind::Leak, seen()),
        change("src/a", Kind::Modified, seen()),
        change("src/b", Kind::Leak, seen()),
        change("k.pem", Kind::Modified, seen()),
    ];
    let expected = [
        "docs/a history notice",
        "docs/b history notice",
        "k.pem history notice",
        "src/b history notice",
    ];
    assert_eq!(verdict_on(changes.clone()), expected);
    let net = VerifyOptions {
        net: true,
        ..VerifyOptions::default()
    };
    assert!(lines(&verify(&scope(), changes.clone(), net)).is_empty());
    let strict = VerifyOptions {
        strict: true,
        ..VerifyOptions::default()
    };
    let report = verify(&scope(), changes, strict);
    assert_eq!(report.violations().count(), 4);
}

#[test]
fn what_needs_no_scope_is_judged_by_what_it_is() {
    let place = |name: &str| Place::Git(name.into());
    let mut changes = change_set(Vec::new());
    changes.leaks = vec![
        change("a", Kind::Leak, Seen::Disk),
        change("out", Kind::Leak, Seen::Ignored),
    ];
    changes.links_out = vec![change("link", Kind::Created, Seen::Disk)];
    changes.integrity = vec![
        Change::new(Place::Admin(INDEX_LOCK.into()), Kind::Integrity, Seen::Disk),
        Change::new(Place::Worktree, Kind::Integrity, Seen::Disk),
    ];
    changes.noted = vec![Change::new(Place::Head, Kind::Integrity, Seen::Disk)];
    changes.shared = vec![
        SharedChange::new(place("config"), Kind::Config, "", Cause::RunsCode),
        SharedChange::new(place("refs/x"), Kind::Ref, "", Cause::Unknown),
    ];
    let report = without_scope(changes);
    let expected = [
        "a excluded violation",
        "out excluded notice",
        "link outside notice",
        "@wt/index.lock integrity notice",
        "@worktree integrity violation",
        "@head integrity notice",
        "@git/config shared violation",
        "@git/refs/x shared notice",
    ];
    assert_eq!(lines(&report), expected);
    assert!(!report.valid());
    assert_eq!(report.violations().count(), 3);
    assert_eq!(report.notices().count(), 5);
    assert!(without_scope(change_set(Vec::new())).valid());
}

#[test]
fn each_reason_is_of_one_layer() {
    for (reason, word, layer) in [
        (Reason::ReadOnly, "read-only", "net"),
        (Reason::Excluded, "excluded", "net"),
        (Reason::Outside, "outside", "net"),
        (Reason::Integrity, "integrity", "net"),
        (Reason::Shared, "shared", "net"),
        (Reason::History, "history", "history"),
    ] {
        assert_eq!(reason.as_str(), word);
        assert_eq!(reason.layer(), layer, "{word}");
    }
    assert_eq!(Level::Violation.as_str(), "violation");
    assert_eq!(Level::Notice.as_str(), "notice");
}
