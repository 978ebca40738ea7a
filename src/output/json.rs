//! Renders a JSON document.

use serde::Serialize;

/// Renders a JSON document.
pub fn json<T: Serialize>(document: &T) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(document).unwrap_or_default();
    text.push(b'\n');
    text
}
