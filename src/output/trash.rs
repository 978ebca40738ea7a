//! Prints what `remove --undo` brought back.

use serde_json::{Value, json};

use super::Printed;
use crate::answer::Paint;
use crate::commands::revive::Revived;

/// The path on stdout, as `add` has it; what was done on stderr.
pub fn human(all: &[Revived], paint: Paint) -> Printed {
    let mut printed = Printed::default();
    for one in all {
        let name = paint.name(&one.name);
        let (at, reference) = (place(one), &one.plan.reference);
        if !one.dry_run {
            let text = format!("brought back {name} {at}, from {reference}\n");
            printed.stderr.push_str(&text);
            printed
                .stdout
                .extend_from_slice(format!("{}\n", one.path).as_bytes());
            continue;
        }
        let text = format!("would bring back {name} {at}, from {reference}\n");
        printed.stderr.push_str(&text);
        let others = one.all.iter().rev();
        for other in others.filter(|other| other.reference != one.plan.reference) {
            let reference = &other.reference;
            let text = format!("  another removal of this name: {reference}\n");
            printed.stderr.push_str(&text);
        }
    }
    printed
}

/// What HEAD is on.
fn place(one: &Revived) -> String {
    let trash = &one.plan.trash;
    let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    match trash.on.as_deref().map(short) {
        Some(branch) if trash.unborn => format!("on branch {branch}, which has no commit yet"),
        Some(branch) => format!("at {}, branch {branch}", trash.head.short()),
        None => format!("at {}, on no branch", trash.head.short()),
    }
}

/// One worktree that came back.
pub fn json(one: &Revived) -> Value {
    let all = one.all.iter().rev();
    json!({
        "name": one.name,
        "path": one.path,
        "branch": one.branch,
        "head": (!one.plan.trash.unborn).then_some(&one.plan.trash.head),
        "dry_run": one.dry_run,
        "undone": one.plan.reference,
        "removals": all.map(|other| json!({
            "ref": other.reference,
            "commit": other.commit,
        })).collect::<Vec<_>>(),
    })
}
