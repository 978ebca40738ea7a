//! Reads what can be read of configuration files without running or fully parsing them.

/// Says what begins a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// `//` and `/* */`, as in scripts and JSON with comments.
    Slashes,
    /// `#`, as in TOML and INI.
    Hash,
}

/// Whether a text names our directory anywhere outside of comments.
pub fn names_us(text: &str, comments: Comments) -> bool {
    without_comments(text, comments).contains("agentwt")
}

/// Whether a JSON text has this key anywhere.
pub fn has_key(json: &str, key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let after = |at: usize| json[at + quoted.len()..].trim_start();
    json.match_indices(&quoted)
        .any(|(at, _)| after(at).starts_with(':'))
}

/// The strings of the list that follows a key (`key: ["a", 'b']`, `"key" = […]`), each time that
/// the key is there with a list; none when it is not. Strings keep their escapes.
pub fn lists(text: &str, key: &str, comments: Comments) -> Vec<Vec<String>> {
    let text = without_comments(text, comments);
    let mut all = Vec::new();
    for (at, _) in text.match_indices(key) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
        let after = &text[at + key.len()..];
        if text[..at].ends_with(is_part) || after.starts_with(is_part) {
            continue;
        }
        let after = after.trim_start_matches(['"', '\'']).trim_start();
        let after = after.strip_prefix(':').or(after.strip_prefix('='));
        let list = after.and_then(|after| after.trim_start().strip_prefix('['));
        all.extend(list.map(strings));
    }
    all
}

/// The strings until the bracket that ends a list.
fn strings(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut rest = list.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' | '`' => found.push(until_quote(&mut rest, c)),
            '[' => depth += 1,
            ']' if depth == 0 => break,
            ']' => depth -= 1,
            _other => {}
        }
    }
    found
}

fn until_quote(rest: &mut std::str::Chars<'_>, quote: char) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                text.push(c);
                text.extend(rest.next());
            }
            c if c == quote => break,
            c => text.push(c),
        }
    }
    text
}

/// Leaves comments out; strings are kept as they are, whatever is in them.
fn without_comments(text: &str, comments: Comments) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.as_str();
        match (c, comments) {
            ('"' | '\'' | '`', _) => {
                out.push(c);
                out.push_str(&until_quote(&mut rest, c));
                out.push(c);
            }
            ('/', Comments::Slashes) if after.starts_with('/') => skip_line(&mut rest),
            ('/', Comments::Slashes) if after.starts_with('*') => {
                let end = after.find("*/").map_or(after.len(), |end| end + 2);
                rest = after[end..].chars();
            }
            ('#', Comments::Hash) => skip_line(&mut rest),
            (c, _) => out.push(c),
        }
    }
    out
}

fn skip_line(rest: &mut std::str::Chars<'_>) {
    let text = rest.as_str();
    let end = text.find('\n').unwrap_or(text.len());
    *rest = text[end..].chars();
}

/// The lines of one section of a TOML or INI text (`[workspace]`), without its head; none when
/// there is no such section.
pub fn section<'t>(text: &'t str, head: &str) -> Option<&'t str> {
    let mut from = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if let Some(from) = from
            && trimmed.starts_with('[')
            && trimmed.trim_end_matches(']').len() < trimmed.len()
        {
            return Some(&text[from..at]);
        }
        at += line.len();
        if trimmed == head {
            from = Some(at);
        }
    }
    from.map(|from| &text[from..])
}

/// Whether a file of ignore patterns (gitignore(5) or one of its relatives) covers
/// `.agentwt/worktrees`: by its name, or with all names that begin with a dot, or with everything.
/// A later line that takes us back in counts.
pub fn ignores_us(text: &str) -> bool {
    let mut covered = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('#') {
            continue;
        }
        let (pattern, takes_in) = match line.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (line, false),
        };
        let pattern = pattern.trim_start_matches("./").trim_matches('/');
        let pattern = pattern.strip_prefix("**/").unwrap_or(pattern);
        let whole = pattern.strip_suffix("/**").or(pattern.strip_suffix("/*"));
        let ours = [".agentwt", ".agentwt/worktrees", ".*", "*", "**"];
        if ours.contains(&whole.unwrap_or(pattern)) {
            covered = !takes_in;
        }
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_strings_are_found_in_every_spelling() {
        let of = |text: &str| lists(text, "exclude", Comments::Slashes);
        assert_eq!(of("{ \"exclude\": [\"a\", 'b'] }"), [["a", "b"]]);
        assert_eq!(
            of("exclude: [...defaults, `x`, [\"y\"]], z: ['n']"),
            [["x", "y"]]
        );
        assert_eq!(
            of("exclude:\n [ // no 'this'\n 'a//b', /* 'c' */ ]"),
            [["a//b"]]
        );
        assert_eq!(of("exclude: ['a\\'b']"), [["a\\'b"]]);
        assert!(of("myexclude: ['a'], exclude: other, // exclude: ['b']").is_empty());
        assert!(of("exclude: [").iter().all(Vec::is_empty));
        let toml = "# exclude = ['no']\nexclude = [\n  \"a\", # b\n]\n";
        assert_eq!(lists(toml, "exclude", Comments::Hash), [["a"]]);
    }

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text =
            "[package]\nexclude = [\"a\"]\n[workspace]\nmembers = [\n \"x\",\n]\n[profile.dev]\n";
        assert_eq!(
            section(text, "[workspace]"),
            Some("members = [\n \"x\",\n]\n")
        );
        assert_eq!(section(text, "[profile.dev]"), Some(""));
        assert_eq!(section(text, "[lints]"), None);
    }

    #[test]
    fn ignore_files_cover_us_by_name_by_dot_or_whole() {
        for (text, covers) in [
            (".agentwt\n", true),
            ("node_modules\n/.agentwt/worktrees/\n", true),
            ("**/.agentwt/**\n", true),
            (".agentwt/*", true),
            (".*\n!.env\n", true),
            ("*\n!src\n", true),
            ("*\n!.agentwt\n", false),
            (".agentwt\n!.agentwt/\n", false),
            ("# .agentwt\n", false),
            ("agentwt\nworktrees\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_us(text), covers, "{text:?}");
        }
    }
}
