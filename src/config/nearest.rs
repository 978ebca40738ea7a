//! Finds the known word that a mistyped one was meant to be.

/// Finds the known word nearest to what was typed, if one is near enough to be worth a question.
///
/// Case does not count, nor does `-` against `_`. Near is one edit (a swap of two neighbours is
/// one), or one in three letters of longer words, or a word that was not typed to its end.
pub(super) fn nearest<'k>(
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let typed = fold(typed);
    known
        .into_iter()
        .filter_map(|word| distance(&typed, word).map(|distance| (distance, word)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How far the words are apart, or nothing if that is too far.
fn distance(typed: &str, word: &str) -> Option<usize> {
    let word = fold(word);
    let letters = typed.chars().count().max(word.chars().count());
    let distance = strsim::osa_distance(typed, &word);
    let unfinished = typed.chars().count() >= 3 && word.starts_with(typed);
    (unfinished || distance <= (letters / 3).max(1)).then_some(distance)
}

fn fold(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_offered_only_when_it_is_near() {
        let known = ["read", "write", "exclude", "branch_prefix", "claude-code"];
        for (typed, expected) in [
            ("wirte", Some("write")),
            ("Write", Some("write")),
            ("exlude", Some("exclude")),
            ("excluded", Some("exclude")),
            ("branch-prefix", Some("branch_prefix")),
            ("branch", Some("branch_prefix")),
            ("claude", Some("claude-code")),
            ("red", Some("read")),
            ("re", None),
            ("", None),
            ("frobnicate", None),
        ] {
            assert_eq!(nearest(typed, known), expected, "{typed:?}");
        }
    }
}
