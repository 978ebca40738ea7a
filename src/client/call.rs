//! Reads the tool call that an agent program is about to make, and writes the answer that it takes.
//!
//! Only tools that edit files have paths here; all others, shell commands too, pass. The names of
//! the tools differ little: `Write`, `write_file` and `mcp__files__write_file` are one.

use serde_json::{Value, json};

/// The tools that edit, create and delete files. Here and below, names have no case and no
/// punctuation: `file_path` and `filePath` are one.
const EDITS: &[&str] = &[
    "applypatch",
    "create",
    "createdirectory",
    "createfile",
    "delete",
    "deletefile",
    "edit",
    "editfile",
    "editnotebook",
    "insert",
    "makedirectory",
    "mkdir",
    "multiedit",
    "notebookedit",
    "patch",
    "remove",
    "removefile",
    "replace",
    "searchreplace",
    "strreplace",
    "strreplaceeditor",
    "strreplacebasededittool",
    "write",
    "writefile",
];
/// The tools that move files: both names are edited.
const MOVES: &[&str] = &["move", "movefile", "rename", "renamefile"];
/// The tools that copy files: only the new name is edited.
const COPIES: &[&str] = &["copy", "copyfile"];
/// The arguments that name a file, or several.
const PATHS: &[&str] = &[
    "absolutepath",
    "file",
    "filename",
    "filepath",
    "filepaths",
    "files",
    "notebookpath",
    "path",
    "paths",
    "relativepath",
    "targetfile",
    "targetnotebook",
];
/// The arguments that name the file that a tool moves.
const SOURCES: &[&str] = &["from", "oldpath", "source", "sourcepath", "src"];
/// The arguments that name the place to which a tool moves or copies a file.
const DESTINATIONS: &[&str] = &[
    "dest",
    "destination",
    "destinationpath",
    "dst",
    "newpath",
    "target",
    "targetpath",
    "to",
];
/// The arguments that hold patches with the names of their files.
const PATCHES: &[&str] = &["command", "diff", "input", "patch", "patches", "patchtext"];
/// The arguments whose keys are the names of files.
const CHANGES: &[&str] = &["changes", "filechanges"];
/// The arguments that hold what a file has, or is to have: whatever stands in them names no file.
const TEXTS: &[&str] = &[
    "content",
    "contents",
    "filetext",
    "newsource",
    "newstr",
    "newstring",
    "oldstr",
    "oldstring",
    "text",
];
/// What stands before the name of a file in a patch.
const HEADS: [&str; 4] = ["Add File: ", "Update File: ", "Delete File: ", "Move to: "];

/// What a tool does with the files that its arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    /// Edits, creates or deletes them.
    Edit,
    /// Moves them.
    Move,
    /// Copies them.
    Copy,
    /// Nothing that the scope decides, or nothing that can be known.
    Other,
}

/// How a program is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// `PreToolUse` of Claude Code and Codex.
    HookOutput,
    /// `BeforeTool` of Gemini CLI; a plugin of opencode reads the same.
    Decision,
    /// `preToolUse` of Cursor.
    Permission,
    /// `preToolUse` of Copilot CLI.
    PermissionDecision,
}

/// A tool call, as far as it concerns the scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    protocol: Protocol,
    /// The directory that relative paths are relative to, if the call names one.
    pub directory: Option<String>,
    /// The files that the tool edits; none where it edits none by name.
    pub paths: Vec<String>,
}

impl ToolCall {
    /// Reads a call, for a program or for the one that the call itself shows.
    ///
    /// # Errors
    /// Returns what is not known about the input.
    pub fn parse(input: &[u8], client: Option<&str>) -> Result<Self, String> {
        let call: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let tool = text_of(&call, &["tool_name", "toolName", "tool"]).ok_or("it names no tool")?;
        let arguments = ["tool_input", "toolArgs", "args"]
            .iter()
            .find_map(|key| call.get(key))
            .map(arguments_of)
            .unwrap_or_default();
        let paths = Tool::of(tool).edited(&arguments);
        let root = call
            .get("workspace_roots")
            .and_then(|roots| roots.get(0)?.as_str());
        Ok(Self {
            protocol: Protocol::of(client, &call),
            directory: text_of(&call, &["cwd"]).or(root).map(ToOwned::to_owned),
            paths: paths.ok_or_else(|| format!("the tool `{tool}` names no file"))?,
        })
    }

    /// The answer that stops the call, with the reason for the agent.
    pub fn denial(&self, reason: &str) -> String {
        let answer = match self.protocol {
            Protocol::HookOutput => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }}),
            Protocol::Decision => json!({"decision": "deny", "reason": reason}),
            Protocol::Permission => json!({
                "permission": "deny",
                "user_message": reason,
                "agent_message": reason,
            }),
            Protocol::PermissionDecision => json!({
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }),
        };
        answer.to_string()
    }
}

/// The first text of an object under one of these keys.
fn text_of<'v>(object: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| object.get(key)?.as_str())
}

impl Protocol {
    fn of(client: Option<&str>, call: &Value) -> Self {
        let event = call.get("hook_event_name").and_then(Value::as_str);
        match (client, event) {
            (Some("claude-code" | "codex"), _) | (None, Some("PreToolUse")) => Self::HookOutput,
            (Some("cursor"), _) | (None, Some("preToolUse")) => Self::Permission,
            (Some("copilot"), _) => Self::PermissionDecision,
            (None, None) if call.get("toolName").is_some() => Self::PermissionDecision,
            _ => Self::Decision,
        }
    }
}

/// The arguments of a call; Copilot CLI gives them as text.
fn arguments_of(arguments: &Value) -> Value {
    let parsed = arguments.as_str().map(serde_json::from_str::<Value>);
    match parsed {
        Some(Ok(parsed @ Value::Object(_))) => parsed,
        // a patch and nothing else
        Some(_) => json!({ "patch": arguments }),
        None => arguments.clone(),
    }
}

impl Tool {
    /// Knows a tool by its name, whichever server it is of.
    fn of(name: &str) -> Self {
        let plain_name = plain(name.rsplit("__").next().unwrap_or_default());
        let tool = plain_name.as_str();
        if EDITS.contains(&tool) {
            Self::Edit
        } else if MOVES.contains(&tool) {
            Self::Move
        } else if COPIES.contains(&tool) {
            Self::Copy
        } else {
            Self::Other
        }
    }

    /// True if an argument names files that the tool edits.
    fn edits_argument(self, key: &str) -> bool {
        match self {
            Self::Edit => PATHS.contains(&key),
            Self::Move => {
                PATHS.contains(&key) || SOURCES.contains(&key) || DESTINATIONS.contains(&key)
            }
            Self::Copy => DESTINATIONS.contains(&key),
            Self::Other => false,
        }
    }

    /// The files that the tool edits, each once; none where it should name one and does not.
    fn edited(self, arguments: &Value) -> Option<Vec<String>> {
        let is_view = arguments.get("command").and_then(Value::as_str) == Some("view");
        if self == Self::Other || is_view {
            return Some(Vec::new());
        }
        let mut named = Vec::new();
        self.find(arguments, &mut named);
        let mut paths: Vec<String> = Vec::new();
        for path in named {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        (!paths.is_empty()).then_some(paths)
    }

    /// Finds the files in arguments, in lists of edits too.
    fn find(self, arguments: &Value, paths: &mut Vec<String>) {
        match arguments {
            Value::Object(map) => {
                for (key, value) in map {
                    self.find_in_argument(&plain(key), value, paths);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| self.find(value, paths)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Finds the files in one argument.
    fn find_in_argument(self, key: &str, value: &Value, paths: &mut Vec<String>) {
        if TEXTS.contains(&key) {
            return;
        }
        if self.edits_argument(key) {
            paths.extend(texts(value).map(ToOwned::to_owned));
        }
        if PATCHES.contains(&key) {
            for patch in texts(value) {
                find_in_patch(patch, paths);
            }
        }
        if CHANGES.contains(&key)
            && let Value::Object(map) = value
        {
            paths.extend(map.keys().cloned());
        }
        self.find(value, paths);
    }
}

/// A name without case and punctuation.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|char| char.to_ascii_lowercase()).collect()
}

/// The text of an argument, or the texts of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    std::iter::once(value).chain(list).filter_map(Value::as_str)
}

/// Finds the files of a patch, in the form of Codex or as a unified diff.
fn find_in_patch(patch: &str, paths: &mut Vec<String>) {
    let found_before = paths.len();
    for line in patch.lines() {
        if let Some(head) = line.trim().strip_prefix("*** ") {
            let name = HEADS.iter().find_map(|kind| head.strip_prefix(kind));
            paths.extend(name.map(|name| name.trim().to_owned()));
        }
    }
    if paths.len() > found_before {
        // a line of its content may look like the head of a diff
        return;
    }
    let lines: Vec<&str> = patch.lines().collect();
    for pair in lines.windows(2) {
        let names = (pair[0].strip_prefix("--- "), pair[1].strip_prefix("+++ "));
        if let (Some(old), Some(new)) = names {
            paths.extend(name_in_diff(old, "a/"));
            paths.extend(name_in_diff(new, "b/"));
        }
    }
}

/// The file of a head of a unified diff; none for `/dev/null`.
fn name_in_diff(name: &str, prefix: &str) -> Option<String> {
    let path = name.split('\t').next().unwrap_or_default().trim();
    match path.strip_prefix(prefix).unwrap_or(path) {
        "" | "/dev/null" => None,
        file => Some(file.to_owned()),
    }
}
