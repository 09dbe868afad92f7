//! `countersign channel`: status, tests and linked accounts.

use std::process::ExitCode;
use std::time::Duration;

use countersign_client::{AccountRecord, ChannelRecord};

use super::args::PersonArgs;
use super::args_channel::{ChannelArgs, ChannelWhat};
use super::channel_steps::{how_to_link, tested, wait_for_link};
use super::credential::PersonSession;
use super::now::{now, relative_time};
use super::{channel_add, output, page};
use crate::failure::Failure;

/// How long a code is valid.
const LINKING: Duration = Duration::from_mins(10);

/// Runs the command.
pub fn run(args: &ChannelArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        ChannelWhat::List(args) => {
            let list = PersonSession::open(&args.person)?.channels()?;
            if args.person.json {
                return output::json(&list);
            }
            let rows: Vec<Vec<String>> = list.iter().map(row).collect();
            output::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ChannelWhat::Test(args) => {
            let test = PersonSession::open(&args.person)?.test_channel(&args.name)?;
            let code = if test.sent { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            if args.person.json {
                output::json(&test)?;
                return Ok(code);
            }
            output::line(&tested(&args.name, &test))?;
            Ok(code)
        }
        ChannelWhat::Link { name, no_wait, person } => {
            let session = PersonSession::open_to_change(person)?;
            let before = session.accounts()?;
            let code = session.link_account(name)?;
            if person.json {
                return output::json(&code);
            }
            output::say(|out, _| Ok(writeln!(out, "{}", how_to_link(&code))?))?;
            if *no_wait {
                return Ok(ExitCode::SUCCESS);
            }
            let linked = wait_for_link(&session, name, &before, LINKING)?;
            Ok(if linked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ChannelWhat::Accounts(args) => {
            let list = PersonSession::open(&args.person)?.accounts()?;
            if args.person.json {
                return output::json(&list);
            }
            if list.is_empty() {
                return output::line("No account is linked; people can decide only in the inbox.");
            }
            let rows: Vec<Vec<String>> = list.iter().map(account_row).collect();
            output::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ChannelWhat::Unlink { account, person } => unlink(account, person),
        ChannelWhat::Add(args) => channel_add::run(args),
    }
}

fn unlink(account: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let (channel, number) = account.split_once('/').ok_or_else(|| {
        Failure::at(account, "use CHANNEL/ACCOUNT from `countersign channel accounts`")
    })?;
    PersonSession::open_to_change(person)?.unlink_account(channel, number)?;
    if person.json {
        return output::json(&serde_json::json!({ "account": account, "unlinked": true }));
    }
    output::line(&format!("{} was unlinked.", page::safe(account, 200)))
}

fn row(channel: &ChannelRecord) -> Vec<String> {
    let used = match channel.levels.as_slice() {
        [] => "not used for escalation".to_owned(),
        levels => page::safe(&levels.join(", "), 80),
    };
    let may = match &channel.approves {
        Some(tier) if channel.details => format!("approves up to {}", page::safe(tier, 12)),
        Some(_) => "deny only".to_owned(),
        None => "notifies only".to_owned(),
    };
    let went = match (&channel.problem, channel.failed, channel.told) {
        (Some(problem), Some(at), _) => {
            format!("failed {}: {}", relative_time(at, now()), page::safe(problem, 200))
        }
        (Some(problem), None, _) => page::safe(problem, 200),
        (None, _, Some(at)) => format!("last message {}", relative_time(at, now())),
        (None, _, None) => "no message yet".to_owned(),
    };
    vec![page::safe(&channel.name, 40), page::safe(&channel.kind, 20), used, may, went]
}

fn account_row(account: &AccountRecord) -> Vec<String> {
    vec![
        page::safe(&format!("{}/{}", account.channel, account.account), 120),
        page::safe(&account.person, 80),
        page::safe(&account.called, 80),
        account
            .linked
            .map_or_else(String::new, |at| format!("linked {}", relative_time(at, now()))),
    ]
}
