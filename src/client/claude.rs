//! Knows the hooks by which Claude Code lets another program make its worktrees: what they are
//! given, and where they stand in its settings.
//!
//! Settings are edited as text, at the place that a parser found, so that all else stays as the
//! user wrote it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::words::name::{WorktreeName, name_digest};

/// The events that are ours, each with what its command ends with.
pub const EVENTS: [(&str, &str); 2] = [
    ("WorktreeCreate", " hook claude-create"),
    ("WorktreeRemove", " hook claude-remove"),
];
/// How long Claude Code waits for a hook, in seconds: a checkout and its set-up may take long.
const TIMEOUT: u32 = 600;
const HOOKS: &str = "hooks";

/// What Claude Code gives the hooks of a worktree on stdin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeEvent {
    /// The name of the worktree to create.
    pub name: Option<String>,
    /// The directory of the worktree to remove.
    pub path: Option<String>,
    /// The directory that the session is in.
    pub directory: Option<String>,
}

impl WorktreeEvent {
    /// Parses the input; the names of its fields have changed with time.
    ///
    /// # Errors
    /// Returns why the input is no JSON object.
    pub fn parse(input: &[u8]) -> Result<Self, String> {
        let event: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        Ok(Self {
            name: text_of(&event, &["name", "worktree_name"]),
            path: text_of(&event, &["worktree_path"]),
            directory: text_of(&event, &["cwd"]),
        })
    }

    /// The name as a worktree can have it: every other character is a dash, and a name that was
    /// changed ends with a digest of the original, so that two names never are one worktree.
    pub fn worktree_name(&self) -> Option<WorktreeName> {
        let given = self.name.as_deref()?;
        if let Ok(name) = WorktreeName::parse(given) {
            return Some(name);
        }
        let mut dashed = String::new();
        for char in given.chars().take(90) {
            let is_allowed = char.is_ascii_alphanumeric() || "._-".contains(char);
            dashed.push(if is_allowed { char } else { '-' });
        }
        while dashed.contains("..") {
            dashed = dashed.replace("..", ".");
        }
        let trimmed = dashed
            .trim_start_matches(['-', '.'])
            .trim_end_matches('.')
            .replace(".lock", "-lock");
        let name = WorktreeName::parse(&trimmed).ok()?;
        WorktreeName::parse(&format!("{name}-{}", name_digest(given))).ok()
    }
}

/// The first text of an object under one of these keys that is not empty.
fn text_of(object: &Value, keys: &[&str]) -> Option<String> {
    for key in keys {
        match object.get(key).and_then(Value::as_str) {
            None | Some("") => {}
            Some(text) => return Some(text.to_owned()),
        }
    }
    None
}

/// A member of an object or an element of an array.
#[derive(Clone, Copy)]
enum Step {
    Key(&'static str),
    At(usize),
}

/// A command that an event runs.
struct Handler {
    place: Vec<Step>,
    command: String,
    owner: Owner,
}

/// Who wrote a command into the settings.
#[derive(PartialEq, Eq)]
enum Owner {
    Us,
    User,
}

/// The text of a settings file of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeSettings(String);

impl ClaudeSettings {
    /// Takes the text of a file; an empty one is an empty object.
    ///
    /// # Errors
    /// Returns what is wrong with a text that is not what Claude Code reads.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let settings = Self(text.to_owned());
        settings.members(&[])?;
        for (event, _) in EVENTS {
            settings.handlers(event)?;
        }
        Ok(settings)
    }

    /// The text; none if there is nothing in it.
    pub fn text(&self) -> Option<&str> {
        let text = self.0.as_str();
        (text.trim() != "{}").then_some(text)
    }

    /// The commands of an event: those of ours, and how many others there are.
    pub fn commands(&self, event: &str) -> (Vec<String>, usize) {
        let mut ours = Vec::new();
        let mut others = 0;
        for handler in self.handlers(event).unwrap_or_default() {
            match handler.owner {
                Owner::Us => ours.push(handler.command),
                Owner::User => others += 1,
            }
        }
        (ours, others)
    }

    /// Adds our hooks, or corrects the commands of those that are there.
    ///
    /// # Errors
    /// Returns what stands in the way.
    pub fn install(&mut self, binary: &str) -> Result<(), String> {
        for (event, end) in EVENTS {
            let command = format!("{binary}{end}");
            let (ours, _) = self.commands(event);
            if ours == [command.as_str()] {
                continue;
            }
            self.remove_event(event)?;
            let handler = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
            let group = json!({ HOOKS: [handler] });
            let hooks = [Step::Key(HOOKS)];
            let groups = [Step::Key(HOOKS), Step::Key(event)];
            if self.find(&groups)?.is_some() {
                self.insert(&groups, None, &group)?;
            } else if self.find(&hooks)?.is_some() {
                self.insert(&hooks, Some(event), &json!([group]))?;
            } else {
                self.insert(&[], Some(HOOKS), &json!({ event: [group] }))?;
            }
        }
        Ok(())
    }

    /// Removes our hooks, and what held nothing else.
    ///
    /// # Errors
    /// Returns what stands in the way.
    pub fn uninstall(&mut self) -> Result<(), String> {
        EVENTS
            .iter()
            .try_for_each(|(event, _)| self.remove_event(event))
    }

    /// Removes our commands of an event.
    fn remove_event(&mut self, event: &'static str) -> Result<(), String> {
        loop {
            let handlers = self.handlers(event)?;
            let ours = handlers.iter().find(|handler| handler.owner == Owner::Us);
            match ours {
                Some(handler) => self.remove(&handler.place)?,
                None => return Ok(()),
            }
        }
    }

    /// Finds the commands of an event, ours and those of the user; no command for an event that is
    /// not one of [`EVENTS`].
    fn handlers(&self, event_name: &str) -> Result<Vec<Handler>, String> {
        let ours = EVENTS.into_iter().find(|(name, _)| *name == event_name);
        let Some((event, ending)) = ours else {
            return Ok(Vec::new());
        };
        let mut handlers = Vec::new();
        let groups = self.elements(&[Step::Key(HOOKS), Step::Key(event)])?;
        for group in 0..groups.len() {
            let list_place = [
                Step::Key(HOOKS),
                Step::Key(event),
                Step::At(group),
                Step::Key(HOOKS),
            ];
            for (at, text) in self.elements(&list_place)?.into_iter().enumerate() {
                let handler: Value = serde_json::from_str(&self.0[text]).unwrap_or_default();
                let command = handler["command"].as_str().unwrap_or_default();
                let owner = if command.ends_with(ending) {
                    Owner::Us
                } else {
                    Owner::User
                };
                handlers.push(Handler {
                    place: [&list_place[..], &[Step::At(at)]].concat(),
                    command: command.to_owned(),
                    owner,
                });
            }
        }
        Ok(handlers)
    }

    /// The members of an object, in their order; none where there is none.
    fn members(&self, steps: &[Step]) -> Result<Vec<(String, Range<usize>)>, String> {
        let Some(outer) = self.find(steps)? else {
            return Ok(Vec::new());
        };
        let values: BTreeMap<String, &RawValue> = parse(&self.0[outer], "an object")?;
        let mut members = Vec::new();
        for (name, value) in values {
            members.push((name, self.range(value)));
        }
        members.sort_by_key(|(_, range)| range.start);
        Ok(members)
    }

    /// The elements of an array; none where there is none.
    fn elements(&self, steps: &[Step]) -> Result<Vec<Range<usize>>, String> {
        let Some(outer) = self.find(steps)? else {
            return Ok(Vec::new());
        };
        let elements: Vec<&RawValue> = parse(&self.0[outer], "an array")?;
        Ok(elements
            .into_iter()
            .map(|value| self.range(value))
            .collect())
    }

    /// Where a value that was read from the text is in it.
    fn range(&self, value: &RawValue) -> Range<usize> {
        let start = value.get().as_ptr().addr() - self.0.as_ptr().addr();
        start..start + value.get().len()
    }

    /// Where a value is.
    fn find(&self, steps: &[Step]) -> Result<Option<Range<usize>>, String> {
        let Some((last, above)) = steps.split_last() else {
            let whole: &RawValue = parse(&self.0, "JSON")?;
            return Ok(Some(self.range(whole)));
        };
        match last {
            Step::At(at) => Ok(self.elements(above)?.get(*at).cloned()),
            Step::Key(key) => {
                let members = self.members(above)?;
                let member = members.into_iter().find(|(name, _)| name == key);
                Ok(member.map(|(_, range)| range))
            }
        }
    }

    /// Adds a value at the end of an object or an array, in lines of their own.
    fn insert(&mut self, to: &[Step], key: Option<&str>, value: &Value) -> Result<(), String> {
        let Some(outer) = self.find(to)? else {
            return Ok(());
        };
        let unit = self.unit();
        let indent = unit.repeat(to.len() + 1);
        let value = indented(value, &unit)?.replace('\n', &format!("\n{indent}"));
        let member = match key {
            Some(key) => format!("\n{indent}\"{key}\": {value}"),
            None => format!("\n{indent}{value}"),
        };
        let inside = self.0[outer.start + 1..outer.end - 1].trim_end();
        let end = outer.start + 1 + inside.len();
        if inside.is_empty() {
            let indent_of_outer = unit.repeat(to.len());
            let text = format!("{member}\n{indent_of_outer}");
            self.0.replace_range(end..outer.end - 1, &text);
        } else {
            self.0.insert_str(end, &format!(",{member}"));
        }
        Ok(())
    }

    /// By what the user indents.
    fn unit(&self) -> String {
        for line in self.0.lines() {
            let width = line.len() - line.trim_start_matches([' ', '\t']).len();
            if width > 0 {
                return line[..width].to_owned();
            }
        }
        "  ".to_owned()
    }

    /// Where the key of a value that starts at `value_start` starts; none if the key is written with
    /// escapes.
    fn start_of_key(&self, key: &str, value_start: usize) -> Option<usize> {
        let up_to_colon = self.0[..value_start].trim_end();
        let up_to_key = up_to_colon.strip_suffix(':')?.trim_end();
        let before_key = up_to_key.strip_suffix(&format!("\"{key}\""))?;
        Some(before_key.len())
    }

    /// Removes a value with its key and one comma. Where it is the only one in its object or array,
    /// that is removed instead, and so on outwards; the outermost object is left empty.
    fn remove(&mut self, steps: &[Step]) -> Result<(), String> {
        let Some(value) = self.find(steps)? else {
            return Ok(());
        };
        let Some((last, above)) = steps.split_last() else {
            return Ok(());
        };
        let start = match last {
            Step::At(_) => value.start,
            Step::Key(key) => self
                .start_of_key(key, value.start)
                .ok_or_else(|| format!("`{key}` is written with escapes"))?,
        };
        let before = self.0[..start].trim_end();
        let after = self.0[value.end..].trim_start();
        if before.ends_with(',') {
            // not the first: without the comma before it
            let comma = before.len() - 1;
            self.0.replace_range(comma..value.end, "");
        } else if let Some(next) = after.strip_prefix(',') {
            // the first of several: without the comma after it
            let end = self.0.len() - next.trim_start().len();
            self.0.replace_range(start..end, "");
        } else if above.is_empty() {
            "{}\n".clone_into(&mut self.0);
        } else {
            self.remove(above)?;
        }
        Ok(())
    }
}

/// Writes a value in lines that are indented by `unit`.
fn indented(value: &Value, unit: &str) -> Result<String, String> {
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut writer = serde_json::Serializer::with_formatter(&mut text, format);
    serde::Serialize::serialize(value, &mut writer).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn parse<'t, T: serde::Deserialize<'t>>(text: &'t str, what: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            format!("there is something else where Claude Code has {what}")
        } else {
            error.to_string()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &str = "/usr/bin/git-agentwt";

    fn installed(text: &str) -> String {
        let mut settings = ClaudeSettings::parse(text).expect("settings");
        settings.install(BINARY).expect("installed");
        settings.text().expect("hooks").to_owned()
    }

    fn uninstalled(text: &str) -> String {
        let mut settings = ClaudeSettings::parse(text).expect("settings");
        settings.uninstall().expect("uninstalled");
        settings.text().unwrap_or_default().to_owned()
    }

    #[test]
    fn what_is_installed_is_what_claude_code_reads() {
        let text = installed("");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let handler = &value["hooks"]["WorktreeCreate"][0]["hooks"][0];
        assert_eq!(handler["type"], "command");
        assert_eq!(
            handler["command"],
            "/usr/bin/git-agentwt hook claude-create"
        );
        let handler = &value["hooks"]["WorktreeRemove"][0]["hooks"][0];
        assert_eq!(
            handler["command"],
            "/usr/bin/git-agentwt hook claude-remove"
        );
        assert_eq!(uninstalled(&text), "");
    }

    #[test]
    fn all_else_stays_as_it_is_byte_for_byte() {
        for text in [
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n\t\"model\" : \"opus\",\r\n\t\"x\":[ 1,2 ]  }",
            "{\"model\":\"}\\\"hooks\\\": {\"}",
            "{\"permissions\":{\"deny\":[\"Edit(a)\"]},\n    \"hooks\": {\"Stop\": [ ]}}",
            "{\n  \"hooks\": {\n    \"WorktreeCreate\": [\n      {\"hooks\": [{\"type\": \"command\", \
             \"command\": \"mine\"}]}\n    ]\n  },\n  \"z\": 1.50\n}\n",
            "{\n  \"hooks\": {\n    \"PreToolUse\": [{\"matcher\": \"Edit\", \"hooks\": []}]\n  }\n}",
        ] {
            let with = installed(text);
            assert!(serde_json::from_str::<Value>(&with).is_ok(), "{with}");
            assert_eq!(installed(&with), with, "a second time changes nothing");
            assert_eq!(uninstalled(&with), text, "{with}");
            assert_eq!(uninstalled(text), text);
        }
    }

    #[test]
    fn ours_between_others_goes_alone_and_an_old_path_is_corrected() {
        let text = installed("{}").replace("/usr/bin/", "/old/");
        assert!(!installed(&text).contains("/old/"));
        let others = r#"{"type":"command","command":"a"}"#;
        let ours = r#"{"type":"command","command":"'/x y/git-agentwt' hook claude-create"}"#;
        for (list, left) in [
            (format!("{ours}, {others}"), others.to_owned()),
            (format!("{others} , {ours}"), format!("{others} ")),
            (
                format!("{others},{ours},{others}"),
                format!("{others},{others}"),
            ),
        ] {
            let whole = |list: &str| {
                format!(r#"{{"hooks":{{"WorktreeCreate":[{{"matcher":"","hooks":[{list}]}}]}}}}"#)
            };
            assert_eq!(uninstalled(&whole(&list)), whole(&left));
        }
    }

    #[test]
    fn what_is_no_settings_is_refused() {
        for (text, why) in [
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{\"a\":1,}", "key must be a string at line 1 column 8"),
            ("// x\n{}", "expected value at line 1 column 1"),
            (
                "[]",
                "there is something else where Claude Code has an object",
            ),
            (
                "{\"hooks\":[]}",
                "there is something else where Claude Code has an object",
            ),
            (
                "{\"hooks\":{\"WorktreeRemove\":{}}}",
                "there is something else where Claude Code has an array",
            ),
        ] {
            assert_eq!(ClaudeSettings::parse(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn any_name_becomes_one_that_a_worktree_can_have() {
        let long = "x".repeat(300);
        for (name, is) in [
            ("agent-a3f2b1", Some("agent-a3f2b1")),
            ("feature/login form", Some("feature-login-form-f2b261f3")),
            ("../../etc/passwd", Some("etc-passwd-6fadc99a")),
            ("-rf", Some("rf-2a6775c8")),
            ("a..b", Some("a.b-91beab8e")),
            ("x.lock", Some("x-lock-a44dbc24")),
            ("ümlaut.", Some("mlaut-9855f6c3")),
            ("..", None),
            ("", None),
            (&long, Some(&format!("{}-970138f5", &long[..90]))),
        ] {
            let event = json!({ "name": name }).to_string();
            let event = WorktreeEvent::parse(event.as_bytes()).expect("JSON");
            let found = event.worktree_name().map(|name| name.to_string());
            assert_eq!(found.as_deref(), is, "{name}");
        }
    }
}
