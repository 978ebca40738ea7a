//! Lists the agent programs: a row each says where the program reads its context by itself, what
//! is written where that file is not free, and what was read to know it (`docs/clients.md`).

use crate::client::guards::{self, Guard, GuardFacts};
use crate::client::layout::repo_path;
use crate::client::program::{AgentProgram, Reads};
use crate::inventory::placed::{Placed, PlacedOrigin};

/// What Codex reads of all its files together (`project_doc_max_bytes`), in bytes.
const CODEX_LIMIT: usize = 32 * 1024;

const fn reads(path: &'static str, when: &'static str) -> Reads {
    Reads { path, when }
}

/// What every program is told.
const TOLD: &[&str] = &["The scope, in words and patterns, at the end of the context."];
/// What no program enforces for its shell commands.
const SHELL: &str = "Shell commands pass.";

const fn guard(
    path: &'static str,
    has: &'static str,
    text: fn(&GuardFacts<'_>, Option<&str>) -> String,
) -> Guard {
    Guard { path, has, text }
}

/// A program whose usual file is read first, and that needs nothing else.
const PLAIN: AgentProgram = AgentProgram {
    name: "",
    title: "",
    files: &[],
    known: &[],
    read_in: &[],
    by_hand: "",
    guards: &[],
    enforced: &[],
    told: TOLD,
    left: &[],
    command: "",
    prompt_option: "",
    state: &[],
    second_file_start: "",
    local_wins: false,
    config: |_, _| None,
    paragraph: |_, _| None,
    note: |_, _| None,
};

/// Every program, in the order in which they are shown.
pub const ALL: &[AgentProgram] = &[
    AgentProgram {
        name: "claude-code",
        title: "Claude Code",
        files: &[
            reads(".claude/CLAUDE.md", "usually"),
            reads("CLAUDE.local.md", "if .claude/CLAUDE.md is not free"),
        ],
        known: &[
            "Reads CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md of the start directory and the \
             directories above, and joins them.",
            "Since 2.1.277, reads AGENTS.md if none of these exists: the new file imports \
             AGENTS.md (@AGENTS.md), because it would hide AGENTS.md.",
            "Since 2.1.69, does not read the files of the main worktree above a second time.",
            "Lines such as `@path` in a prompt import that file; the model does not see HTML \
             comments.",
        ],
        read_in: &[
            "code.claude.com/docs/en/memory (stored copies of 2026; its change of 2025-12-02)",
            "CHANGELOG.md up to 2.1.240 (2026-08-22)",
            "mods/agents-md/README.md of 2.1.277",
        ],
        by_hand: "claude \"$(cat <prompt file>)\"",
        guards: &[guard(
            ".claude/settings.local.json",
            "rules that deny edits, and a PreToolUse hook that asks `git agentwt guard`",
            guards::claude_code,
        )],
        enforced: &[
            "Edits by tools: the hook decides by the scope, also for absolute paths into the main \
             worktree and for links.",
            "Edits of what is excluded, and of the entries of the root in which nothing may be \
             written, also without the hook: by deny rules, which name no reason.",
        ],
        left: &[
            SHELL,
            "Hooks of a folder that is not trusted yet do not run; settings are read at the start.",
        ],
        command: "claude",
        state: &[".claude/settings.local.json"],
        paragraph: |path, is_read| {
            let own = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];
            let is_hidden = is_read("AGENTS.md") && !own.iter().any(|own| is_read(own));
            // an import is relative to the file that it stands in
            is_hidden.then_some(if path == ".claude/CLAUDE.md" {
                "The repository's own instructions:\n\n@../AGENTS.md"
            } else {
                "The repository's own instructions:\n\n@AGENTS.md"
            })
        },
        ..PLAIN
    },
    AgentProgram {
        name: "codex",
        title: "Codex CLI",
        files: &[
            reads("AGENTS.md", "usually"),
            reads(
                "AGENTS.override.md",
                "if AGENTS.md is not free; it then tells the agent to read AGENTS.md too",
            ),
        ],
        known: &[
            "Reads one file in each directory from the worktree's root to the start directory: \
             AGENTS.override.md before AGENTS.md, never both.",
            "Stops at the worktree's root: does not read the main worktree's AGENTS.md.",
            "Reads the first 32 KiB of all files together (project_doc_max_bytes).",
        ],
        read_in: &[
            "developers.openai.com/codex/guides/agents-md (stored copy of 2026)",
            "codex-rs/core/src/agents_md.rs at 0cf644af40 (2026)",
        ],
        by_hand: "codex \"$(cat <prompt file>)\"",
        guards: &[guard(
            ".codex/config.toml",
            "a permission profile, and a PreToolUse hook that asks `git agentwt guard`",
            guards::codex,
        )],
        enforced: &[
            "Shell commands and patches: the sandbox lets only the directories and files be \
             written that the write patterns begin with; the main worktree is read-only.",
            "Patches: the hook decides by the scope, once you trusted it (/hooks).",
        ],
        left: &[
            "A write pattern that begins with a wildcard (`*.md`) makes the whole worktree \
             writable in the sandbox.",
            "A sandbox_mode in your ~/.codex/config.toml, or --sandbox, replaces the profile; a \
             project that is not trusted has neither profile nor hook.",
            "A commit writes into the repository's git directory: the sandbox asks for it, as in \
             every linked worktree.",
        ],
        command: "codex",
        local_wins: true,
        paragraph: |path, is_read| {
            let is_hidden = path == "AGENTS.override.md" && is_read("AGENTS.md");
            is_hidden.then_some(
                "Read `AGENTS.md` now, and follow it as well: it has the repository's own \
                 instructions, and Codex reads this file instead of `AGENTS.md`.",
            )
        },
        note: |path, size| {
            (size > CODEX_LIMIT).then(|| {
                format!(
                    "{path} will have {size} bytes, and codex reads {CODEX_LIMIT} unless \
                     `project_doc_max_bytes` in its config.toml is higher: the end of the file, \
                     with the scope, would be cut off"
                )
            })
        },
        ..PLAIN
    },
    AgentProgram {
        name: "gemini",
        title: "Gemini CLI",
        files: &[
            reads("GEMINI.md", "usually"),
            reads("GEMINI.local.md", "if GEMINI.md is not free"),
            reads(
                ".gemini/settings.json",
                "with GEMINI.local.md: its context.fileName names both",
            ),
        ],
        known: &[
            "Reads its files of the start directory and the directories above, up to the first \
             with a .git: does not read the main worktree's GEMINI.md.",
            "A context.fileName in your ~/.gemini/settings.json adds to GEMINI.md (older versions \
             replace GEMINI.md); the context.fileName of the worktree overrides yours.",
            "Ignores .gemini/settings.json in a folder that is not trusted.",
            "Lines such as `@path.md` in a prompt import that file.",
        ],
        read_in: &[
            "docs/cli/gemini-md.md and docs/reference/configuration.md at 5411f113ca \
             (0.56.0-nightly, 2026-08-21)",
            "packages/core/src/utils/memoryDiscovery.ts of the same",
        ],
        by_hand: "gemini -i \"$(cat <prompt file>)\"",
        guards: &[guard(
            ".gemini/settings.json",
            "a BeforeTool hook that asks `git agentwt guard`",
            guards::gemini,
        )],
        enforced: &["Edits by tools: the hook decides by the scope."],
        left: &[SHELL, "A folder that is not trusted has no hooks."],
        command: "gemini",
        prompt_option: "-i",
        // both names, so that the repository's own file is read as well
        config: |path, _| {
            (path == "GEMINI.local.md").then_some(
                "{\n  \"context\": {\n    \"fileName\": [\"GEMINI.md\", \"GEMINI.local.md\"]\n  \
                 }\n}\n",
            )
        },
        ..PLAIN
    },
    AgentProgram {
        name: "aider",
        title: "Aider",
        files: &[
            reads("CONVENTIONS.md", "usually"),
            reads("CONVENTIONS.local.md", "if CONVENTIONS.md is not free"),
            reads(".aider.conf.yml", "always: its `read:` names the files"),
        ],
        known: &[
            "Reads .aider.conf.yml of the home directory, the worktree's root and the start \
             directory; a key in a later file overrides the key in an earlier file.",
            "The files of `read:` are relative to the start directory: start aider in the \
             worktree's root.",
            "Reads nothing of the main worktree above.",
            "Writes .aider.* files into the worktree's root, and offers to add them to .gitignore: \
             decline (--no-gitignore), or let the scope write /.gitignore.",
        ],
        read_in: &[
            "aider/website/docs/usage/conventions.md and docs/config/aider_conf at 5dc9490bb \
             (0.86.3.dev, 2026-05-22)",
            "aider/main.py of the same",
        ],
        by_hand: "aider --read <prompt file>",
        left: &["All: Aider has no rules and no hooks for edits."],
        command: "aider",
        prompt_option: "--message",
        state: &[
            ".aider.chat.history.md",
            ".aider.input.history",
            ".aider.tags.cache.v3/",
            ".aider.tags.cache.v4/",
        ],
        config: |path, is_read| {
            Some(if path == "CONVENTIONS.md" {
                "read:\n  - CONVENTIONS.md\n"
            } else if is_read("CONVENTIONS.md") {
                "read:\n  - CONVENTIONS.md\n  - CONVENTIONS.local.md\n"
            } else {
                "read:\n  - CONVENTIONS.local.md\n"
            })
        },
        ..PLAIN
    },
    AgentProgram {
        name: "opencode",
        title: "opencode",
        files: &[
            reads("AGENTS.md", "usually"),
            reads("AGENTS.local.md", "if AGENTS.md is not free"),
            reads(
                "opencode.json",
                "with AGENTS.local.md: its `instructions` name that file",
            ),
        ],
        known: &[
            "Joins AGENTS.md of the start directory and the directories above; version 2 goes up \
             to the home directory, and so also reads the main worktree's AGENTS.md.",
            "Version 1 reads CLAUDE.md if there is no AGENTS.md: the new AGENTS.md then tells the \
             agent to read CLAUDE.md too.",
            "Version 2 accepts `instructions` but does not read the named files yet: tell the \
             agent to read AGENTS.local.md.",
        ],
        read_in: &[
            "opencode.ai/v2/docs/instructions, /config and /migrate-v1 (version 2.0, stored copies \
             of 2026-09)",
            "opencode.ai/docs/rules and packages/opencode/src/session/instruction.ts (version 1, \
             2026)",
        ],
        by_hand: "opencode run \"$(cat <prompt file>)\"",
        guards: &[guard(
            "opencode.json",
            "rules of `permission.edit` and `permission.external_directory`",
            guards::opencode,
        )],
        enforced: &[
            "Edits by tools: what no write pattern matches is denied, and so is the main worktree.",
        ],
        left: &[
            SHELL,
            "`*` also matches slashes there: `src/*.rs` also allows src/a/b.rs, and an exclude \
             pattern with a wildcard in its middle is left out.",
        ],
        command: "opencode",
        prompt_option: "--prompt",
        config: |path, _| {
            (path == "AGENTS.local.md").then_some(
                "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"instructions\": \
                 [\"AGENTS.local.md\"]\n}\n",
            )
        },
        paragraph: |path, is_read| {
            let is_hidden = path == "AGENTS.md" && is_read("CLAUDE.md");
            is_hidden.then_some(
                "Read `CLAUDE.md` now, and follow it as well: it has the repository's own \
                 instructions, and opencode reads this file instead of `CLAUDE.md`.",
            )
        },
        note: |path, _| {
            (path == "AGENTS.local.md").then(|| {
                "opencode 2 does not read the `instructions` of opencode.json yet: begin with \
                 `read AGENTS.local.md`"
                    .to_owned()
            })
        },
        ..PLAIN
    },
    AgentProgram {
        name: "cursor",
        title: "Cursor",
        files: &[
            reads("AGENTS.md", "usually"),
            reads(".cursor/rules/agentwt.mdc", "if AGENTS.md is not free"),
        ],
        known: &[
            "Reads AGENTS.md of the worktree's root and of directories below, and all of \
             .cursor/rules.",
            "A rule is always read if its first lines say `alwaysApply: true`: the file begins \
             with them.",
        ],
        read_in: &[
            "cursor.com/docs/context/rules and cursor.com/docs/hooks.md (stored copies of 2026)",
        ],
        by_hand: "cursor-agent \"$(cat <prompt file>)\"",
        guards: &[guard(
            ".cursor/hooks.json",
            "a preToolUse hook that asks `git agentwt guard`",
            guards::cursor,
        )],
        enforced: &["Edits by tools of the agent: the hook decides by the scope."],
        left: &[
            SHELL,
            "Edits by Tab; a workspace that is not trusted has no hooks.",
        ],
        command: "cursor-agent",
        second_file_start: "---\nalwaysApply: true\n---\n\n",
        ..PLAIN
    },
    AgentProgram {
        name: "copilot",
        title: "GitHub Copilot CLI",
        files: &[
            reads(".github/copilot-instructions.md", "usually"),
            reads(
                ".github/instructions/agentwt.instructions.md",
                "if .github/copilot-instructions.md is not free",
            ),
        ],
        known: &[
            "Reads .github/copilot-instructions.md, .github/instructions/**/*.instructions.md and \
             AGENTS.md of the worktree's root.",
            "A file of .github/instructions begins with the files to which it applies: `applyTo: \
             \"**\"`.",
        ],
        read_in: &[
            "docs.github.com/en/copilot/reference/hooks-configuration, and cli-hooks-reference.md \
             of github/docs (stored copies of 2026)",
        ],
        by_hand: "copilot -i \"$(cat <prompt file>)\"",
        guards: &[guard(
            ".github/hooks/agentwt.json",
            "a preToolUse hook that asks `git agentwt guard`",
            guards::copilot,
        )],
        enforced: &["Edits by tools: the hook decides by the scope."],
        left: &[
            SHELL,
            "The editors and the agent on GitHub read the repository's own files only.",
        ],
        command: "copilot",
        prompt_option: "-i",
        second_file_start: "---\napplyTo: \"**\"\n---\n\n",
        ..PLAIN
    },
];

/// True if a program writes this file of a worktree for itself, as settings or a history.
pub fn is_state(path: &[u8]) -> bool {
    let mut states = ALL.iter().flat_map(|program| program.state);
    states.any(|state| {
        path == state.as_bytes() || state.ends_with('/') && path.starts_with(state.as_bytes())
    })
}

/// Finds the program of this name.
pub fn named(name: &str) -> Option<&'static AgentProgram> {
    ALL.iter().find(|program| program.name == name)
}

/// Finds the program whose guards were placed in a worktree.
pub fn guarded_by(placed: &Placed) -> Option<&'static AgentProgram> {
    let is_placed = |guard: &Guard| {
        placed
            .get(&repo_path(guard.path))
            .is_some_and(|file| file.origin == PlacedOrigin::Context)
    };
    ALL.iter()
        .find(|program| program.guards.iter().any(is_placed))
}
