//! Codex CLI: `AGENTS.md`, or `AGENTS.override.md`, which it reads in its stead.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents Codex CLI.
pub struct Codex;

const AGENTS: &str = "AGENTS.md";
const OVERRIDE: &str = "AGENTS.override.md";
/// What it reads of all its files together (`project_doc_max_bytes`), in bytes.
const LIMIT: usize = 32 * 1024;

const ABOUT: About = About {
    name: "codex",
    title: "Codex CLI",
    files: &[
        Reads {
            path: AGENTS,
            when: "usually",
        },
        Reads {
            path: OVERRIDE,
            when: "if AGENTS.md is not free; it then says to read AGENTS.md too",
        },
    ],
    known: &[
        "In each directory from the worktree's root to the one it is started in, it reads one \
         file: AGENTS.override.md before AGENTS.md, never both.",
        "It stops at the worktree's root: the main worktree's AGENTS.md is not read.",
        "What is over 32 KiB in all (project_doc_max_bytes) is cut off at the end.",
    ],
    read_in: &[
        "developers.openai.com/codex/guides/agents-md (stored copy of 2026)",
        "codex-rs/core/src/agents_md.rs at 0cf644af40 (2026)",
    ],
    by_hand: "codex \"$(cat <prompt file>)\"",
};

impl Client for Codex {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        if places.state(OVERRIDE).is_read() {
            // with that one there, whatever we write to AGENTS.md is never read
            return Err(places.refusal(&[AGENTS, OVERRIDE], &ABOUT, context));
        }
        let path = places.first_free(&[AGENTS, OVERRIDE], &ABOUT, context)?;
        let hides = path == OVERRIDE && places.state(AGENTS).is_read();
        let pointer = "Read `AGENTS.md` now, and follow it as well: it has the repository's own \
            instructions, and Codex reads this file in its stead.";
        let text = context.render(hides.then_some(pointer));
        let size = text.len();
        let layout = Layout::default().with(path, text);
        if size <= LIMIT {
            return Ok(layout);
        }
        Ok(layout.noting(format!(
            "{path} will have {size} bytes, and codex reads {LIMIT} unless `project_doc_max_bytes` in its config.toml says more: it would not see the end, where the scope stands"
        )))
    }
}
