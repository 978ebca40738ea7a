//! Claude Code: `.claude/CLAUDE.md`, or `CLAUDE.local.md`, from which it imports what they hide.

use super::{About, Client, ClientRefusal, Context, Layout, Places, Reads};

/// Represents Claude Code.
pub struct ClaudeCode;

const PROJECT: &str = "CLAUDE.md";
const DOTTED: &str = ".claude/CLAUDE.md";
const LOCAL: &str = "CLAUDE.local.md";
const AGENTS: &str = "AGENTS.md";

const ABOUT: About = About {
    name: "claude-code",
    title: "Claude Code",
    files: &[
        Reads {
            path: DOTTED,
            when: "usually",
        },
        Reads {
            path: LOCAL,
            when: "if the other is not free",
        },
    ],
    known: &[
        "It reads CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md of the directory it is started \
         in and of those above, and joins them.",
        "Since 2.1.277 it reads AGENTS.md where there is none of those: ours imports it then \
         (@AGENTS.md), as it would else be hidden.",
        "Since 2.1.69 the main worktree's files above are not read a second time.",
        "Lines such as `@path` in a prompt import that file; HTML comments are not shown to it.",
    ],
    read_in: &[
        "code.claude.com/docs/en/memory (stored copies of 2026; its change of 2025-12-02)",
        "CHANGELOG.md up to 2.1.240 (2026-08-22)",
        "mods/agents-md/README.md of 2.1.277",
    ],
    by_hand: "claude \"$(cat <prompt file>)\"",
};

impl Client for ClaudeCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn layout(&self, context: &Context<'_>, places: Places<'_>) -> Result<Layout, ClientRefusal> {
        let path = places.first_free(&[DOTTED, LOCAL], &ABOUT, context)?;
        let own = [PROJECT, DOTTED, LOCAL].iter();
        let has_own = own.clone().any(|path| places.state(path).is_read());
        let hides = !has_own && places.state(AGENTS).is_read();
        // an import is relative to the file that it stands in
        let import = if path == DOTTED {
            "The repository's own instructions:\n\n@../AGENTS.md"
        } else {
            "The repository's own instructions:\n\n@AGENTS.md"
        };
        let text = context.render(hides.then_some(import));
        Ok(Layout::default().with(path, text))
    }
}
