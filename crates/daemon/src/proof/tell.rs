//! The alarm on its way to people: at once, at any hour.

use countersign_channels::webpush;
use countersign_core::tier::Tier;
use countersign_core::time::Clock as _;

use crate::courier::{Lines, digest};
use crate::gate::Gate;

/// Tells everybody who would be asked about a CRITICAL call, up to the administrators. Quiet hours
/// do not hold for what is this grave.
pub async fn tell(gate: &Gate, lines: &Lines, text: &str) {
    let (rules, now) = (gate.rules(), gate.clock().now().at);
    let [first, next, administrators, _] =
        rules.duty.ladder(&rules.ladder, Tier::Critical, false, now);
    let mut names = first;
    let browsers = lines.browsers().any().then(|| webpush::NAME.to_owned());
    for name in next.into_iter().chain(administrators).chain(browsers) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    digest::tell_each(gate, lines, names, text).await;
}
