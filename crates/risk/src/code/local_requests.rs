//! Requests of code that stay on this machine.

use crate::code::url;
use crate::code::value::Value;
use crate::name_lists::REQUEST_ROUTES;

/// Whether a request goes to this machine: its address is written out, and no other word can lead
/// it elsewhere.
pub(super) fn is_to_this_machine(args: &[Value<'_>]) -> bool {
    let is_local = |value: &Value<'_>| value.text().is_some_and(url::is_this_machine);
    let mut addresses = args.iter().filter(|value| value.key.is_empty()).take(2);
    let goes_there = addresses.any(|value| {
        let choices = value.choices();
        !choices.is_empty() && choices.iter().all(is_local)
    });
    let names = args.iter().flat_map(|value| value.items().iter().chain(std::iter::once(value)));
    let leads = |value: &Value<'_>| REQUEST_ROUTES.contains(&value.key);
    let others = |value: &Value<'_>| {
        value.text().is_some_and(|text| text.contains("://") && !url::is_this_machine(text))
    };
    goes_there && !names.clone().any(leads) && !args.iter().any(others)
}
