//! Lists the net changes: what a layer has that none of its references has.

use crate::judge::change::Change;
use crate::judge::compare::compare;
use crate::truth::layered::Layers;

/// Compares every layer with its references.
pub fn net_changes(layers: &Layers<'_>) -> Vec<Change> {
    let mut changes = compare(layers.manifest, &layers.states);
    changes.extend(layers.placed.iter().cloned());
    changes.sort();
    changes
}
