//! Aider: a conventions file, and `.aider.conf.yml`, whose `read:` names it.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents aider.
pub struct Aider;

const USUAL: &str = "CONVENTIONS.md";
const LOCAL: &str = "CONVENTIONS.local.md";
const CONFIG: &str = ".aider.conf.yml";

const ABOUT: About = About {
    name: "aider",
    title: "Aider",
    files: &[
        Reads {
            path: USUAL,
            when: "usually",
        },
        Reads {
            path: LOCAL,
            when: "if CONVENTIONS.md is not free",
        },
        Reads {
            path: CONFIG,
            when: "always: its `read:` names the files",
        },
    ],
    known: &[
        "It reads .aider.conf.yml of the home directory, of the worktree's root and of the \
         directory it is started in; a key of a later one replaces that of an earlier one.",
        "The files of `read:` are found from where it is started: start it in the worktree's root.",
        "It reads nothing of the main worktree above.",
        "It writes .aider.* files into the worktree's root, and offers to add them to .gitignore: \
         decline (--no-gitignore), or let the scope write /.gitignore.",
    ],
    read_in: &[
        "aider/website/docs/usage/conventions.md and docs/config/aider_conf at 5dc9490bb (0.86.3.dev, 2026-05-22)",
        "aider/main.py of the same",
    ],
    by_hand: "aider --read <prompt file>",
};

impl Client for Aider {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        if !places.state(CONFIG).is_free() {
            return Err(places.refusal(&[CONFIG], &ABOUT, context));
        }
        let path = places.first_free(&[USUAL, LOCAL], &ABOUT, context)?;
        let names = if path == LOCAL && places.state(USUAL).is_read() {
            "read:\n  - CONVENTIONS.md\n  - CONVENTIONS.local.md\n"
        } else if path == LOCAL {
            "read:\n  - CONVENTIONS.local.md\n"
        } else {
            "read:\n  - CONVENTIONS.md\n"
        };
        let layout = Layout::default().with(path, context.render(None));
        Ok(layout.with(CONFIG, names))
    }
}
