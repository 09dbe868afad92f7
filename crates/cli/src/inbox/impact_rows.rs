//! What a call would affect, as rows of a card.

use crate::engine::{CountedList, Impact, thousands};
use crate::gate::page;

/// Entries of one kind before "and 3 more", on a folded card.
const LISTED: usize = 4;

/// What would be affected, by kind.
pub fn impact_rows(impact: &Impact, open: bool) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for money in &impact.money {
        let currency = money.currency.as_deref().unwrap_or("(no currency)");
        rows.push(("money", page::safe(&format!("{} {currency}", money.amount), 120)));
    }
    for (name, list) in impact.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
        rows.push((name, listing(list, open)));
    }
    rows.extend(impact.items.map(|items| ("items", items.to_string())));
    rows
}

fn listing(list: &CountedList, open: bool) -> String {
    let shown = if open { usize::MAX } else { LISTED };
    let entries = list.listed.iter().take(shown).map(|entry| page::safe(entry, 200));
    let text = entries.collect::<Vec<_>>().join(", ");
    let listed = list.listed.len().min(shown);
    match usize::try_from(list.count).unwrap_or(usize::MAX).saturating_sub(listed) {
        0 => text,
        more => format!("{text} and {} more", thousands(more as u64)),
    }
}
