use super::*;
use crate::scope::{Access, EntryKind, Origin};
use RuleList::{Exclude, Read, Write};

fn scope(rules: &[(RuleList, &str)], case: Case) -> Scope {
    let rule =
        |(list, pattern): &(RuleList, &str)| ScopeRule::new(*list, *pattern, Origin::Default);
    Scope::compile(rules.iter().map(rule).collect(), case).expect("the patterns are valid")
}

/// The examples of all collisions of two write patterns, each with one exclude pattern.
fn meets(first: (&str, &str), second: (&str, &str)) -> Option<String> {
    let one = |(write, exclude): (&str, &str)| {
        let mut rules = vec![(Read, "**"), (Write, write)];
        if !exclude.is_empty() {
            rules.push((Exclude, exclude));
        }
        scope(&rules, Case::Sensitive)
    };
    let (one, two) = (one(first), one(second));
    let collisions = one.collisions(&two);
    let example = collisions.first().map(|one| one.example.clone());
    example.map(|example| example.map_or("?".to_owned(), |path| path.to_string()))
}

#[test]
fn patterns_meet_where_any_path_is_covered_by_both() {
    for (first, second, example) in [
        ("src/**", "*.rs", Some("src/a.rs")),
        ("src/**", "src/**", Some("src/a")),
        ("src/**", "docs/**", None),
        ("/src", "src/a/b.c", Some("src/a/b.c")),
        ("src", "/lib/x", Some("lib/x/src")),
        ("*.rs", "*.toml", Some("a.rs/a.toml")),
        ("/*.rs", "/*.toml", None),
        ("src/*.rs", "src/*/mod.rs", Some("src/a.rs/mod.rs")),
        ("a/b", "a/c", None),
        ("a/", "a", Some("a/a")),
        ("a/", "/a", Some("a/a")),
        ("[a-c]", "[c-e]", Some("c")),
        ("/[a-c]", "/[d-e]", None),
        ("/?", "/??", None),
        ("/?", "/.?", None),
        ("a/**/z", "a/*/z", Some("a/a/z")),
        ("/a*z", "/b*z", None),
        ("/*a", "/*b", None),
        ("/.agentwt/x", ".agentwt/x", None),
        ("*", "/.agentwt/", None),
    ] {
        let met = meets((first, ""), (second, ""));
        assert_eq!(met.as_deref(), example, "{first} and {second}");
        let turned = meets((second, ""), (first, ""));
        assert_eq!(turned.is_some(), example.is_some(), "{second} and {first}");
    }
}

#[test]
fn what_either_scope_excludes_is_no_place_to_meet() {
    for (exclude, example) in [
        ("src/", None),
        ("*", None),
        ("src/*", None),
        ("*.rs", Some("src/a")),
        ("src/a*", Some("src/b")),
        ("src/[a-z]*", Some("src/0")),
        ("src/?*", None),
        ("src/*/", Some("src/a")),
    ] {
        let met = meets(("src/**", exclude), ("src/**", ""));
        assert_eq!(met.as_deref(), example, "without {exclude}");
        let met = meets(("src/**", ""), ("src/**", exclude));
        assert_eq!(met.as_deref(), example, "without {exclude} in the second");
    }
    // what is excluded cannot be written below either
    assert_eq!(meets(("/a/*", "/a/*x"), ("/a/*x", "")), None);
}

#[test]
fn case_counts_as_each_of_them_was_told() {
    let upper = scope(&[(Write, "/SRC/x")], Case::Insensitive);
    let lower = scope(&[(Write, "/src/X")], Case::Insensitive);
    let strict = scope(&[(Write, "/src/X")], Case::Sensitive);
    let other = scope(&[(Write, "/SRC/x")], Case::Sensitive);
    assert_eq!(upper.collisions(&lower).len(), 1);
    assert_eq!(upper.collisions(&strict).len(), 1);
    assert_eq!(strict.collisions(&other).len(), 0);
}

#[test]
fn scopes_write_alike_whatever_they_read() {
    let one = scope(&[(Write, "a"), (Write, "b"), (Read, "c")], Case::Sensitive);
    let two = scope(&[(Write, "b"), (Write, "a"), (Write, "a")], Case::Sensitive);
    assert_eq!(one.writing(), two.writing());
    let less = scope(
        &[(Write, "a"), (Write, "b"), (Exclude, "c")],
        Case::Sensitive,
    );
    assert_ne!(one.writing(), less.writing());
}

/// Makes the same choices in every run (xorshift64*).
struct Choices(u64);

impl Choices {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        of[usize::try_from(word).unwrap_or_default() % of.len()]
    }

    fn text(&mut self, of: &[&str], most: usize) -> String {
        let lengths: Vec<String> = (1..=most).map(|n| n.to_string()).collect();
        let lengths: Vec<&str> = lengths.iter().map(String::as_str).collect();
        let length: usize = self.one(&lengths).parse().unwrap_or(1);
        (0..length).map(|_| self.one(of)).collect()
    }

    fn scope(&mut self) -> Scope {
        const PIECES: [&str; 16] = [
            "a", "b", "A", ".", "/", "*", "**", "?", "[ab]", "[!a]", "/**/", "**/", "/**", "a/",
            "b", "/",
        ];
        loop {
            let mut rules = vec![ScopeRule::new(Read, "**", Origin::Default)];
            for list in [Write, Write, Exclude] {
                rules.push(ScopeRule::new(list, self.text(&PIECES, 5), Origin::Default));
            }
            let case = match self.one(&["s", "s", "i"]) {
                "i" => Case::Insensitive,
                _ => Case::Sensitive,
            };
            if let Ok(scope) = Scope::compile(rules, case) {
                return scope;
            }
        }
    }
}

#[test]
fn whatever_both_may_write_is_found_and_every_example_is_one() {
    let mut choices = Choices(0x9e37_79b9_7f4a_7c15);
    let mut paths: Vec<RepoPath> = Vec::new();
    while paths.len() < 400 {
        let text = choices.text(&["a", "b", "A", ".", "/", "c", "/"], 7);
        paths.extend(RepoPath::parse(text.as_bytes()).ok());
    }
    let (mut met, mut apart) = (0, 0);
    for _ in 0..300 {
        let (one, two) = (choices.scope(), choices.scope());
        let both = |path: &RepoPath| {
            [&one, &two].map(|scope| scope.verdict(path, EntryKind::File).access)
                == [Access::Write; 2]
        };
        let collisions = one.collisions(&two);
        for collision in &collisions {
            let example = collision.example.as_ref();
            let example = example.expect("short patterns are searched to the end");
            assert!(
                both(example),
                "{example} of {:?} and {:?}",
                one.rules(),
                two.rules()
            );
        }
        match paths.iter().find(|path| both(path)) {
            Some(path) => assert!(
                !collisions.is_empty(),
                "{path}: {:?} and {:?}",
                one.rules(),
                two.rules()
            ),
            None => apart += 1,
        }
        met += usize::from(!collisions.is_empty());
    }
    assert!(met > 50 && apart > 50, "both happen: {met}, {apart}");
}

#[test]
fn long_patterns_neither_hang_nor_pass_for_harmless() {
    let many = "*a".repeat(60);
    let other = "*b".repeat(60);
    let (one, two) = (many.as_str(), other.as_str());
    assert!(meets((one, ""), (two, "")).is_some());
}
