//! Holds [`NameSet`]: which rules match a name or an ending anywhere, without trying each of them.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::scope::pattern::{PatternName, ScopePattern};

/// The places of rules in the scope, by what their patterns look for.
type RulePlaces = HashMap<Vec<u8>, Vec<usize>>;

/// Finds the rules that match any entry of a name (`Makefile`) or of an ending (`*.pem`).
#[derive(Clone, Debug, Default)]
pub(super) struct NameSet {
    whole: RulePlaces,
    /// By the length of the ending.
    endings: BTreeMap<usize, RulePlaces>,
}

impl NameSet {
    /// Collects the patterns that are a name or an ending.
    pub(super) fn new(patterns: &[ScopePattern]) -> Self {
        let mut names = Self::default();
        for (place, pattern) in patterns.iter().enumerate() {
            let (text, places) = match pattern.name() {
                Some(PatternName::Whole(name)) => (name, &mut names.whole),
                Some(PatternName::Ending(ending)) => {
                    (ending, names.endings.entry(ending.len()).or_default())
                }
                None => continue,
            };
            places.entry(text.to_vec()).or_default().push(place);
        }
        names
    }

    /// The rules that match any entry of this name.
    pub(super) fn find<'n>(&'n self, name: &'n [u8]) -> impl Iterator<Item = usize> + 'n {
        let by_ending = self.endings.iter().filter_map(|(length, places)| {
            let start = name.len().checked_sub(*length)?;
            places.get(&name[start..])
        });
        let by_name = self.whole.get(name).into_iter();
        by_name.chain(by_ending).flatten().copied()
    }
}
