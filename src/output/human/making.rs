//! Shows what was made, put back or removed.

use super::count;
use crate::answer::Paint;
use crate::commands::remove::Removed;
use crate::output::Printed;
use crate::plan::remove::BranchFate;
use crate::size::Size;

/// The rescue ref on stdout, where there is one; what was done on stderr.
pub fn remove(all: &[Removed], paint: Paint) -> Printed {
    let mut printed = Printed::default();
    for one in all {
        let verb = if one.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let branch = match &one.plan.branch {
            BranchFate::Stays => format!("branch {} stays", one.branch),
            BranchFate::Deleted(tip) => {
                let merged = one.plan.merged.as_ref();
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
            printed.stderr.push_str(&format!(
                "saved what was not committed or merged; to see it: git show --stat {}\n",
                trash.name
            ));
            printed
                .stdout
                .extend_from_slice(format!("{}\n", trash.name).as_bytes());
        } else if one.dry_run && !(one.plan.save.is_empty() && one.plan.keep.is_empty()) {
            let files = count(one.plan.save.len(), "file", "files");
            printed.stderr.push_str(&format!(
                "  would first save {files} under refs/agentwt/trash/{}/\n",
                one.name
            ));
        }
    }
    printed
}

/// How many ignored files went with a worktree, and where most of them were.
fn ignored(one: &Removed) -> String {
    const SHOWN: usize = 3;
    if one.ignored == 0 {
        return String::new();
    }
    let files = count(one.ignored, "ignored file", "ignored files");
    let places = one.ignored_places.iter().take(SHOWN);
    let mut places: Vec<String> = places
        .map(|(place, size)| format!("{place} {}", Size(*size)))
        .collect();
    if one.ignored_places.len() > SHOWN {
        places.push("…".to_owned());
    }
    format!(", {files} ({})", places.join(", "))
}
