//! What a manifest asks the host to do with scores (ABI-9.5).

/// Normalises scores in place, as `none`, `max`, `reverse` or `minmax`.
pub(crate) fn normalize(how: &str, scores: &mut [i64]) {
    let (lowest, highest) = match (how, scores.iter().min(), scores.iter().max()) {
        ("minmax", Some(lowest), Some(highest)) => (*lowest, *highest),
        ("max" | "reverse", _, Some(highest)) => (0, 0.max(*highest)), // below 0 counts as 0
        _ => return,
    };
    for score in scores {
        let share = match highest > lowest {
            true => 100 * ((*score).max(lowest) - lowest) / (highest - lowest),
            false => 0,
        };
        *score = if how == "reverse" { 100 - share } else { share };
    }
}
