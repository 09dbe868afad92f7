//! What the configuration says: who can reach the daemon, whom it tells, what it keeps.

use countersign_client::LedgerRows;
use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_daemon::config::{DaemonConfig, Paths};
use countersign_store::OfflineLedger;

use super::check::Check;
use crate::gate::ledger_read::listed;
use crate::gate::ledger_verify::differing;
use crate::gate::now;
use crate::gate::reach::ProcessEnvironment;
use crate::gate::saved_login;

/// Listeners that other machines can reach.
pub(super) fn exposure(config: &DaemonConfig, checks: &mut Vec<Check>) {
    for (name, address) in [("agent", config.agents), ("people", config.people)] {
        if !address.ip().is_loopback() && config.tls.is_none() {
            checks.push(Check::note(
                format!("The {name} API listens on {address} in plain HTTP (tls_proxy = true)."),
                "check that only your TLS proxy reaches this address, or set tls = true",
            ));
        }
    }
    if config.rules.confirm_without_token {
        checks.push(Check::note(
            "Every program on this machine may use the old /confirm without a token.",
            "listen.confirm_without_token = false, once every agent has a token",
        ));
    }
}

/// Tokens of people that an agent of this user could take.
pub(super) fn credentials(checks: &mut Vec<Check>) {
    if ProcessEnvironment.get("COUNTERSIGN_TOKEN").is_some() {
        checks.push(Check::note(
            "COUNTERSIGN_TOKEN is set here: an agent started from this shell could answer itself.",
            "unset COUNTERSIGN_TOKEN before you start an agent",
        ));
    }
    if let Some(saved) = saved_login::saved() {
        let person = crate::gate::page::safe(&saved.person, 80);
        checks.push(Check::note(
            format!("{person} is logged in here: an agent of this user could read the token."),
            "countersign logout before you leave agents alone",
        ));
    }
}

/// Whether people are notified of pending calls.
pub(super) fn telling(config: &DaemonConfig, checks: &mut Vec<Check>) {
    let levels = &config.rules.escalation;
    let names: Vec<&str> = levels.iter().flatten().map(String::as_str).collect();
    let far = names.iter().any(|name| !["terminal", "desktop"].contains(name));
    checks.push(match (names.as_slice(), far) {
        ([], _) => Check::bad(
            "No channel announces pending requests.",
            "set [escalation] in the configuration",
        ),
        (_, false) => Check::note(
            format!("Notifications stay on this machine ({}).", names.join(", ")),
            "set up a channel that reaches you elsewhere, such as [channels.ops]",
        ),
        (_, true) => Check::ok(format!("Notifications go through {}.", names.join(", "))),
    });
    let today = now::now().to_string();
    if countersign_crisis::helplines_due(today.get(..10).unwrap_or_default()) {
        checks.push(Check::note(
            "The list of helplines is old; numbers may have changed.",
            "install a newer Countersign, or call the numbers of your country once",
        ));
    }
    if config.rules.country.is_none() {
        checks.push(Check::note(
            "The crisis card lists helplines of no particular country.",
            "set crisis.country, such as \"US\", and call its numbers once to see that they hold",
        ));
    }
}

/// Whether the records can be trusted later.
pub(super) fn keeping(config: &DaemonConfig, paths: &Paths, checks: &mut Vec<Check>) {
    let ledger = &config.ledger;
    if ledger.file.is_none() && ledger.webhook.is_none() && ledger.git.is_none() {
        checks.push(Check::note(
            "Checkpoints stay on this machine, so its owner can rewrite the ledger unnoticed.",
            "set ledger.witness_git, witness_file or witness_webhook to a place elsewhere",
        ));
    }
    checks.extend(rows(config));
    let changed = std::fs::metadata(paths.state.join("countersign.db"));
    let age = changed.ok().and_then(|file| file.modified().ok()).map(|time| time.elapsed());
    if let Some(Err(ahead)) = age
        && ahead.duration().as_secs() > 5
    {
        checks.push(Check::bad(
            "The clock is behind the newest record, so nothing can be approved.",
            "correct the clock, and wait until it has passed the newest record",
        ));
    }
}

/// Whether the store's requests are in the state that its ledger says; nothing if the store cannot
/// be read by this user.
fn rows(config: &DaemonConfig) -> Option<Check> {
    let store = OfflineLedger::open(&config.store).ok()?;
    Some(match store.compare_rows() {
        Ok(rows) => row_check(&listed(rows)),
        Err(error) => {
            let say = format!("The store cannot be compared with its ledger: {error}.");
            Check::bad(say, "countersign ledger verify")
        }
    })
}

/// What the comparison of rows and ledger says.
fn row_check(rows: &LedgerRows) -> Check {
    match differing(rows) {
        None => Check::ok(format!(
            "The ledger confirms all {} requests, people, agents and credentials.",
            rows.requests
        )),
        Some(why) => Check::bad(
            format!("The store was edited: {why}."),
            "countersign ledger verify; find out who can write the state folder",
        ),
    }
}

#[cfg(test)]
mod tests {
    use countersign_client::LedgerRowDifference;

    use super::*;
    use crate::gate::doctor::check::Mark;

    #[test]
    fn rows_that_the_ledger_does_not_confirm_are_a_failed_check() {
        let same = LedgerRows { requests: 3, differences: 0, listed: Vec::new() };
        let good = row_check(&same);
        assert!(
            good.mark == Mark::Ok && good.say.contains("confirms all 3 requests"),
            "{}",
            good.say
        );
        let row = |name: &str| Some(name.to_owned());
        for (request, credential, named) in
            [(row("01hf3zq9"), None, "01hf3zq9"), (None, row("person owner"), "person owner")]
        {
            let one = LedgerRowDifference {
                request,
                credential,
                row: row("approved"),
                ledger: row("pending"),
            };
            let edited = row_check(&LedgerRows { requests: 3, differences: 1, listed: vec![one] });
            let say = &edited.say;
            assert!(edited.mark == Mark::Bad && say.starts_with("The store was edited"), "{say}");
            assert!(say.contains(named) && say.contains("approved in its row"), "{say}");
        }
    }
}
