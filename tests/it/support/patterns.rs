//! Patterns that all versions of git read alike.

/// Git before 2.52 took the stars in `a**/b` for a component; see `tests/it/baseline.rs`.
#[must_use]
pub fn for_any_git(pattern: &str) -> String {
    let mut pattern = pattern.to_owned();
    while pattern.contains("***") {
        pattern = pattern.replace("***", "**");
    }
    let special = pattern.find(['*', '?', '[', '\\']).unwrap_or(0);
    if special > 0 && pattern[special..].starts_with("**") && !pattern[..special].ends_with('/') {
        pattern.replace_range(special..special + 2, "*");
    }
    pattern
}
