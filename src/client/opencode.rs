//! opencode: `AGENTS.md`, or a file that the `instructions` of `opencode.json` name.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents opencode.
pub struct Opencode;

const USUAL: &str = "AGENTS.md";
/// What version 1 reads where there is no `AGENTS.md`.
const CLAUDE: &str = "CLAUDE.md";
const LOCAL: &str = "AGENTS.local.md";
const CONFIG: &str = "opencode.json";
const INSTRUCTIONS: &str = r#"{
  "$schema": "https://opencode.ai/config.json",
  "instructions": ["AGENTS.local.md"]
}
"#;

const ABOUT: About = About {
    name: "opencode",
    title: "opencode",
    files: &[
        Reads {
            path: USUAL,
            when: "usually",
        },
        Reads {
            path: LOCAL,
            when: "if AGENTS.md is not free",
        },
        Reads {
            path: CONFIG,
            when: "then too: its `instructions` name it",
        },
    ],
    known: &[
        "It joins AGENTS.md of the directory it is started in and of those above; version 2 goes \
         up to the home directory, and so reads the main worktree's AGENTS.md as well.",
        "Version 1 reads CLAUDE.md where there is no AGENTS.md: ours then says to read it too.",
        "Version 2 accepts `instructions` and does not read what they name yet: there, tell it to \
         read AGENTS.local.md.",
    ],
    read_in: &[
        "opencode.ai/v2/docs/instructions, /config and /migrate-v1 (version 2.0, stored copies of 2026-09)",
        "opencode.ai/docs/rules and packages/opencode/src/session/instruction.ts (version 1, 2026)",
    ],
    by_hand: "opencode run \"$(cat <prompt file>)\"",
};

impl Client for Opencode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        if places.state(USUAL).is_free() {
            let hides = places.state(CLAUDE).is_read();
            let pointer = "Read `CLAUDE.md` now, and follow it as well: it has the repository's own \
                instructions, and opencode reads this file in its stead.";
            let text = context.render(hides.then_some(pointer));
            return Ok(Layout::default().with(USUAL, text));
        }
        let text = context.render(None);
        let variant = [LOCAL, CONFIG];
        if variant.iter().any(|path| !places.state(path).is_free()) {
            return Err(places.refusal(&[USUAL, LOCAL, CONFIG], &ABOUT, context));
        }
        let layout = Layout::default().with(LOCAL, text);
        Ok(layout.with(CONFIG, INSTRUCTIONS).noting(
            "opencode 2 does not read the `instructions` of opencode.json yet: begin with `read AGENTS.local.md`",
        ))
    }
}
