//! Shows what was made, put back or removed.

use super::count;
use crate::answer::Paint;
use crate::commands::remove::Removed;
use crate::output::Printed;
use crate::size::Size;
use crate::worktree::removal::plan::BranchFate;

/// The rescue ref on stdout, where there is one; what was done on stderr.
pub fn remove(all: &[Removed], paint: Paint) -> Printed {
    let mut printed = Printed::default();
    for one in all {
        let verb = if one.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let branch = match &one.branch_fate {
            BranchFate::Stays => format!("branch {} stays", one.branch),
            BranchFate::Deleted(tip) => {
                let merged = one.merged.as_ref();
                let merged = merged.map(|how| format!(", {how}")).unwrap_or_default();
                format!("branch {} (was {}{merged})", one.branch, tip.short())
            }
            BranchFate::Private => format!("branch {} went with its clone", one.branch),
            BranchFate::Gone => "its branch was gone".to_owned(),
        };
        let ignored = ignored(one);
        let name = paint.name(&one.name);
        printed
            .stderr
            .push_str(&format!("{verb} {name}: {}, {branch}{ignored}\n", one.path));
        if let Some(trash) = &one.trash {
            let shown = trash.shown();
            let text = if trash.removal.is_some() {
                format!("kept in {shown}; to bring it back: git agentwt remove --undo {name}\n")
            } else {
                format!("kept its commits; to see them: git log {shown}\n")
            };
            printed.stderr.push_str(&text);
            let line = format!("{shown}\n");
            printed.stdout.extend_from_slice(line.as_bytes());
        } else if one.dry_run && one.is_kept {
            let files = one.uncommitted.as_ref().map_or(0, Vec::len);
            let files = count(files, "uncommitted file", "uncommitted files");
            let text = format!("  would keep it in the trash, with {files}\n");
            printed.stderr.push_str(&text);
        } else if one.dry_run && one.commits > 0 {
            let text = format!(
                "  would keep its commits under refs/agentwt/trash/{}/\n",
                one.name
            );
            printed.stderr.push_str(&text);
        }
    }
    printed
}

/// How many ignored files went with a worktree, and where most of them were.
fn ignored(one: &Removed) -> String {
    const SHOWN: usize = 3;
    let number = one.ignored.unwrap_or(0);
    if number == 0 {
        return String::new();
    }
    let files = count(number, "ignored file", "ignored files");
    let places = one.ignored_places.iter().take(SHOWN);
    let mut places: Vec<String> = places
        .map(|(place, size)| format!("{place} {}", Size(*size)))
        .collect();
    if one.ignored_places.len() > SHOWN {
        places.push("…".to_owned());
    }
    format!(", {files} ({})", places.join(", "))
}
