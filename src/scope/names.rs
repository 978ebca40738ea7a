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

    pub(super) fn find<'n>(&'n self, name: &'n [u8]) -> impl Iterator<Item = usize> + 'n {
        let ended = self.endings.iter().filter_map(|(length, places)| {
            let start = name.len().checked_sub(*length)?;
            places.get(&name[start..])
        });
        self.whole
            .get(name)
            .into_iter()
            .chain(ended)
            .flatten()
            .copied()
    }
}
