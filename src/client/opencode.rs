//! opencode: `AGENTS.md`, or a file that the `instructions` of `opencode.json` name.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents opencode.
pub struct Opencode;

const USUAL: &str = "AGENTS.md";
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
        "Version 2 accepts `instructions` and does not read what they name yet: there, tell it to \
         read AGENTS.local.md.",
    ],
    read_in: &[
        "opencode.ai/v2/docs/instructions, /config and /migrate-v1 (version 2.0, stored copies of 2026-09)",
        "opencode.ai/docs/rules (version 1, stored copy of 2026)",
    ],
    by_hand: "opencode run \"$(cat <prompt file>)\"",
};

impl Client for Opencode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        let text = context.render(None);
        if places.state(USUAL).is_free() {
            return Ok(Layout::default().with(USUAL, text));
        }
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
