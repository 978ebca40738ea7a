//! Properties of generated scopes.

use super::*;
use crate::config::value::Fence;
use crate::fence::policy::Class;
use crate::scope::rule::{Access, EntryKind};

/// Numbers that look like chance (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }

    fn some<'a>(&mut self, all: &[&'a str], most: usize) -> Vec<&'a str> {
        let number = self.below(most + 1);
        (0..number).map(|_| all[self.below(all.len())]).collect()
    }
}

const PATTERNS: &[&str] = &[
    "**",
    "*",
    "*.rs",
    "*.md",
    "a",
    "a/",
    "/a",
    "/a/",
    "a/**",
    "a/*",
    "a/*.rs",
    "a/**/*.rs",
    "a/b",
    "a/b/",
    "/b",
    "b/**",
    "**/b",
    "**/b/**",
    "b/*/c.rs",
    "/x.md",
    "a/new.rs",
    "/new/",
    "new/x.md",
    "[ab]/c.rs",
    "a/?",
    ".git/**",
    ".agentwt/**",
    "c.rs",
    "a/b/c.rs",
    "/a/x.md",
    "a.b/**",
    "/link",
];
const POOL: &[&str] = &[
    "a/b/c.rs",
    "a/b/d",
    "a/c.rs",
    "a/x.md",
    "a.b/c.rs",
    "b/a/c.rs",
    "b/b/x.md",
    "b/c.rs",
    "c.rs",
    "x.md",
    "link@",
    "b/link@",
    "d/a/b",
    "d/e/a/c.rs",
    ".agentwt/memory/m",
    ".agentwt/y",
];

#[test]
fn generated_scopes_are_granted_as_their_classes_say() {
    let mut chance = Chance(0x5eed);
    for round in 0..4000 {
        let write = chance.some(PATTERNS, 3);
        let exclude = chance.some(PATTERNS, 2);
        let mut files = chance.some(POOL, 12);
        files.sort_unstable();
        files.dedup();
        let rules = write.iter().map(|text| (Write, *text));
        let rules = rules.chain(exclude.iter().map(|text| (Exclude, *text)));
        let scope = scope(&rules.collect::<Vec<_>>());
        let strict = round % 2 == 1;
        let request = FenceRequest {
            strict,
            ..FenceRequest::default()
        };
        let policy = policy_of(&scope, &files, request);
        let said = format!("write {write:?} exclude {exclude:?} files {files:?}: {policy:#?}");
        let is_wide = policy
            .classes(Fence::Mount)
            .any(|class| class.class == Class::Over);
        for file in files
            .iter()
            .filter(|file| !file.ends_with('@'))
            .map(|file| path(file))
        {
            let verdict = scope.verdict(&file, EntryKind::File);
            let can = is_granted(&policy, &file) && !is_masked(&policy, &file);
            match verdict.access {
                Access::Write => assert!(can, "{file} is in the scope: {said}"),
                Access::Read => assert!(!can || is_wide, "{file} is not in the scope: {said}"),
                Access::Excluded => assert!(!can, "{file} is excluded: {said}"),
            }
        }
        for grant in &policy.grants {
            let text = grant.path.to_string();
            assert!(
                !text.starts_with(".git") && !text.starts_with(".agentwt"),
                "{said}"
            );
            assert!(!text.contains("link"), "{said}");
            let kind = match grant.kind {
                GrantKind::Tree => EntryKind::Directory,
                GrantKind::File => EntryKind::File,
            };
            let rule = scope.verdict(&grant.path, kind).rule;
            assert!(
                rule.is_none_or(|rule| rule.list != Exclude),
                "{text} is excluded: {said}"
            );
        }
        if strict {
            assert!(!is_wide, "{said}");
        }
    }
}
