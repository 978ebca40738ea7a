//! Prints what `remove --undo` brought back.

use serde_json::{Value, json};

use super::Printed;
use crate::answer::Paint;
use crate::commands::remove::undo::Undone;
use crate::worktree::trash::Trashed;

/// The path on stdout, as `add` has it; what was done on stderr.
pub fn human(all: &[Undone], paint: Paint) -> Printed {
    let mut printed = Printed::default();
    for one in all {
        let name = paint.name(&one.name);
        let (at, from) = (place(one), &one.from);
        if !one.dry_run {
            let text = format!("brought back {name} {at}, from {from}\n");
            printed.stderr.push_str(&text);
            let path = format!("{}\n", one.path);
            printed.stdout.extend_from_slice(path.as_bytes());
            continue;
        }
        let text = format!("would bring back {name} {at}, from {from}\n");
        printed.stderr.push_str(&text);
        for other in one
            .all
            .iter()
            .map(Trashed::shown)
            .filter(|other| other != from)
        {
            let text = format!("  another removal of this name: {other}\n");
            printed.stderr.push_str(&text);
        }
    }
    printed
}

/// What HEAD is on.
fn place(one: &Undone) -> String {
    let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    match (one.stamp.on.as_deref().map(short), &one.stamp.head) {
        (Some(branch), None) => format!("on branch {branch}, which has no commit yet"),
        (Some(branch), Some(head)) => format!("at {}, branch {branch}", head.short()),
        (None, Some(head)) => format!("at {}, on no branch", head.short()),
        (None, None) => "with a HEAD that cannot be read".to_owned(),
    }
}

/// One worktree that came back.
pub fn json(one: &Undone) -> Value {
    json!({
        "name": one.name,
        "path": one.path,
        "branch": one.branch,
        "head": one.stamp.head,
        "dry_run": one.dry_run,
        "undone": one.from,
        "removals": one.all.iter().map(entry).collect::<Vec<_>>(),
    })
}

/// One removal that is kept.
pub fn entry(one: &Trashed) -> Value {
    json!({
        "directory": one.removal.is_some().then(|| one.shown()),
        "time": one.time,
        "ref": one.commits.as_ref().map(|kept| &kept.name),
        "commit": one.commits.as_ref().map(|kept| &kept.commit),
    })
}
