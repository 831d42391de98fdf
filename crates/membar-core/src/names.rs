//! Words that users give: which known one is meant, and how theirs is shown.

use crate::harmless;

/// User text inside a message: fit for a terminal, and cut where it is long.
pub fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = text.chars().take(MOST).map(harmless).collect();
    if text.chars().count() > MOST {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The known word that is meant by a misspelt one, if one is near enough.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase().replace('_', "-");
    known
        .into_iter()
        .map(|known| (strsim::osa_distance(&word, known), known))
        .filter(|&(distance, known)| distance <= (known.chars().count() / 3).clamp(1, 3) && distance < known.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}
