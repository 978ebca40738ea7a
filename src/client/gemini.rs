//! Gemini CLI: `GEMINI.md`, or a name that `.gemini/settings.json` adds.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents Gemini CLI.
pub struct Gemini;

const USUAL: &str = "GEMINI.md";
const LOCAL: &str = "GEMINI.local.md";
const SETTINGS: &str = ".gemini/settings.json";
/// Both names, so that the repository's own file is read as well.
const BOTH: &str = r#"{
  "context": {
    "fileName": ["GEMINI.md", "GEMINI.local.md"]
  }
}
"#;

const ABOUT: About = About {
    name: "gemini",
    title: "Gemini CLI",
    files: &[
        Reads {
            path: USUAL,
            when: "usually",
        },
        Reads {
            path: LOCAL,
            when: "if GEMINI.md is not free",
        },
        Reads {
            path: SETTINGS,
            when: "then too: its context.fileName names both",
        },
    ],
    known: &[
        "It reads its files of the directory it is started in and of those above, up to the \
         first with a .git: the main worktree's GEMINI.md is not read.",
        "A context.fileName of your own in ~/.gemini/settings.json adds to GEMINI.md (in older \
         versions it replaced it); ours takes its place.",
        "Where it does not trust the folder it leaves .gemini/settings.json unread.",
        "Lines such as `@path.md` in a prompt import that file.",
    ],
    read_in: &[
        "docs/cli/gemini-md.md and docs/reference/configuration.md at 5411f113ca (0.56.0-nightly, 2026-08-21)",
        "packages/core/src/utils/memoryDiscovery.ts of the same",
    ],
    by_hand: "gemini -i \"$(cat <prompt file>)\"",
};

impl Client for Gemini {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        let text = context.render(None);
        if places.state(USUAL).is_free() {
            return Ok(Layout::default().with(USUAL, text));
        }
        let variant = [LOCAL, SETTINGS];
        if variant.iter().all(|path| places.state(path).is_free()) {
            return Ok(Layout::default().with(LOCAL, text).with(SETTINGS, BOTH));
        }
        Err(places.refusal(&[USUAL, LOCAL, SETTINGS], &ABOUT, context))
    }
}
