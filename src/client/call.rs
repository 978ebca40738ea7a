//! Reads the tool call that an agent program is about to make, and writes the answer that it takes.
//!
//! Only tools that edit files have paths here; all others, shell commands too, pass. The names of the tools
//! differ little: `Write`, `write_file` and `mcp__files__write_file` are one.

use serde_json::{Map, Value, json};

/// The tools that edit files, without case and punctuation.
const EDITS: &str = " applypatch create createfile delete deletefile edit editfile editnotebook insert multiedit \
    notebookedit patch replace searchreplace strreplace strreplaceeditor strreplacebasededittool write writefile ";
/// The arguments that name the file.
const PATHS: [&str; 6] = [
    "file_path",
    "notebook_path",
    "filePath",
    "path",
    "target_file",
    "target_notebook",
];
/// The arguments that hold a patch with the names of its files.
const PATCHES: [&str; 4] = ["command", "patchText", "input", "patch"];
/// What stands before the name of a file in a patch.
const HEADS: [&str; 4] = ["Add File: ", "Update File: ", "Delete File: ", "Move to: "];

/// Says how a program is answered.
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

/// Represents a tool call, as far as it concerns the scope.
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
        let text = |keys: &[&str]| {
            let mut values = keys.iter().filter_map(|key| call.get(key)?.as_str());
            values.next().map(ToOwned::to_owned)
        };
        let tool = text(&["tool_name", "toolName", "tool"]).ok_or("it names no tool")?;
        let roots = call.get("workspace_roots");
        let root = roots.and_then(|roots| roots.get(0)?.as_str());
        let name = tool.rsplit("__").next().unwrap_or_default();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let is_edit = EDITS.contains(&format!(" {} ", name.to_ascii_lowercase()));
        let arguments = ["tool_input", "toolArgs", "args"];
        let arguments = arguments.iter().find_map(|key| call.get(key));
        let paths = if is_edit {
            edited(&arguments.map(arguments_of).unwrap_or_default())
        } else {
            Some(Vec::new())
        };
        Ok(Self {
            protocol: Protocol::of(client, &call),
            directory: text(&["cwd"]).or_else(|| root.map(ToOwned::to_owned)),
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
fn arguments_of(arguments: &Value) -> Map<String, Value> {
    let parsed = arguments.as_str().map(serde_json::from_str::<Value>);
    match parsed {
        Some(Ok(Value::Object(map))) => map,
        // a patch and nothing else
        Some(_) => Map::from_iter([("patch".to_owned(), arguments.clone())]),
        None => arguments.as_object().cloned().unwrap_or_default(),
    }
}

/// The files that a tool edits; none where it should name one and does not.
fn edited(arguments: &Map<String, Value>) -> Option<Vec<String>> {
    let text = |key: &&str| arguments.get(*key).and_then(Value::as_str);
    if text(&"command") == Some("view") {
        return Some(Vec::new());
    }
    let named = PATHS.iter().find_map(text).map(ToOwned::to_owned);
    let patch = PATCHES.iter().find_map(text).unwrap_or_default();
    let patched = patch.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("*** ")?;
        HEADS.iter().find_map(|head| line.strip_prefix(head))
    });
    let patched = patched.map(|name| name.trim().to_owned());
    let paths: Vec<String> = named.into_iter().chain(patched).collect();
    (!paths.is_empty()).then_some(paths)
}
