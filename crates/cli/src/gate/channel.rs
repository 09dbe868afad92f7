//! `countersign channel`: how people are reached, and who answers.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{AccountRecord, ChannelRecord, ChannelTest, LinkCode, People, Tapped};

use super::args_channel::{Channel, ChannelWhat};
use super::credential::Session;
use super::now::{apart, now};
use super::{channel_add, house, page};
use crate::failure::Failure;

/// How long a code is good.
const LINKING: Duration = Duration::from_mins(10);
/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Runs the command.
pub fn run(args: &Channel) -> Result<ExitCode, Failure> {
    match &args.what {
        ChannelWhat::List(args) => {
            let list = Session::open(&args.person)?.channels()?;
            if args.person.json {
                return house::json(&list);
            }
            let rows: Vec<Vec<String>> = list.iter().map(row).collect();
            house::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ChannelWhat::Test(args) => {
            let test = Session::open(&args.person)?.test_channel(&args.name)?;
            let code = if test.sent { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            if args.person.json {
                house::json(&test)?;
                return Ok(code);
            }
            house::line(&tested(&args.name, &test))?;
            Ok(code)
        }
        ChannelWhat::Link { name, no_wait, person } => {
            let session = Session::open_to_change(person)?;
            let before = session.accounts()?;
            let code = session.link_account(name)?;
            if person.json {
                return house::json(&code);
            }
            house::say(|out, _| Ok(writeln!(out, "{}", how_to_link(&code))?))?;
            if *no_wait {
                return Ok(ExitCode::SUCCESS);
            }
            let linked = wait_for_link(&session, name, &before, LINKING)?;
            Ok(if linked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ChannelWhat::Accounts(args) => {
            let list = Session::open(&args.person)?.accounts()?;
            if args.person.json {
                return house::json(&list);
            }
            if list.is_empty() {
                return house::line("No account is linked, so people answer in the inbox only.");
            }
            let rows: Vec<Vec<String>> = list.iter().map(account_row).collect();
            house::say(|out, _| Ok(page::table(out, &rows)?))
        }
        ChannelWhat::Unlink { account, person } => {
            let (channel, number) = account.split_once('/').ok_or_else(|| {
                Failure::at(account, "say CHANNEL/ACCOUNT, as `channel accounts` lists it")
            })?;
            Session::open_to_change(person)?.unlink_account(channel, number)?;
            if person.json {
                let gone = serde_json::json!({ "account": account, "unlinked": true });
                return house::json(&gone);
            }
            house::line(&format!("Nothing that {} says counts now.", page::safe(account, 200)))
        }
        ChannelWhat::Add(args) => channel_add::run(args),
    }
}

fn row(channel: &ChannelRecord) -> Vec<String> {
    let used = match channel.rungs.as_slice() {
        [] => "not on the ladder".to_owned(),
        rungs => page::safe(&rungs.join(", "), 80),
    };
    let may = match &channel.approves {
        Some(tier) if channel.details => format!("approves up to {}", page::safe(tier, 12)),
        Some(_) => "takes a no".to_owned(),
        None => "only tells".to_owned(),
    };
    let went = match (&channel.problem, channel.failed, channel.told) {
        (Some(problem), Some(at), _) => {
            format!("failed {}: {}", apart(at, now()), page::safe(problem, 200))
        }
        (Some(problem), None, _) => page::safe(problem, 200),
        (None, _, Some(at)) => format!("last message {}", apart(at, now())),
        (None, _, None) => "no message yet".to_owned(),
    };
    vec![page::safe(&channel.name, 40), page::safe(&channel.kind, 20), used, may, went]
}

fn account_row(account: &AccountRecord) -> Vec<String> {
    vec![
        page::safe(&format!("{}/{}", account.channel, account.account), 120),
        page::safe(&account.person, 80),
        page::safe(&account.called, 80),
        account.linked.map_or_else(String::new, |at| format!("linked {}", apart(at, now()))),
    ]
}

/// What became of a test, in words.
pub fn tested(name: &str, test: &ChannelTest) -> String {
    let name = page::safe(name, 40);
    match &test.problem {
        None if test.taps => {
            format!("A test message went out through {name}. Tap its button: This works.")
        }
        None => format!("A test message went out through {name}. Look whether it arrived."),
        Some(problem) => format!("Not sent through {name}: {}.", page::safe(problem, 400)),
    }
}

/// Sends a test and waits until its button is tapped, where it has one.
pub fn try_out(people: &People, name: &str, patience: Duration) -> Result<ExitCode, Failure> {
    let tapped = || -> Result<Option<Tapped>, Failure> {
        let list = people.channels()?;
        Ok(list.into_iter().find(|one| one.name == name).and_then(|one| one.tapped))
    };
    let before = tapped()?;
    let test = people.test_channel(name)?;
    house::line(&tested(name, &test))?;
    if !test.taps {
        return Ok(if test.sent { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if let Some(tapped) = tapped()?.filter(|tapped| before.as_ref() != Some(tapped)) {
            let by = page::safe(&tapped.by, 80);
            house::line(&format!("It works: {by} tapped it. Risky calls are asked about there."))?;
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(LOOK);
    }
    let name = page::safe(name, 40);
    house::line(&format!(
        "Nobody tapped it in time. Look whether the message is in the chat, and tap it with the \
         account that you linked.\nIf a tap does nothing, another program may read what this bot \
         is told. Once more: countersign channel test {name}"
    ))?;
    Ok(ExitCode::FAILURE)
}

/// What to do with a code.
pub fn how_to_link(code: &LinkCode) -> String {
    let say = page::safe(&code.say, 200);
    match code.open.as_deref().filter(|open| open.starts_with("https://")) {
        Some(open) => format!(
            "Open this where your account is, and press Start:\n  {}\nOr say there: {say}",
            page::safe(open, 200)
        ),
        None => format!("From your own account, say there:\n  {say}"),
    }
}

/// Waits until an account is linked that was not before.
pub fn wait_for_link(
    people: &People,
    channel: &str,
    before: &[AccountRecord],
    patience: Duration,
) -> Result<bool, Failure> {
    house::line("Waiting for it; the code is good for 10 minutes. Ctrl-C ends the waiting only.")?;
    let end = Instant::now() + patience;
    while Instant::now() < end {
        let list = people.accounts()?;
        let fresh = list.iter().find(|one| one.channel == channel && !before.contains(one));
        if let Some(account) = fresh {
            let (person, called) =
                (page::safe(&account.person, 80), page::safe(&account.called, 80));
            house::line(&format!(
                "Linked: what {called} says there is {person}'s word from now on."
            ))?;
            return Ok(true);
        }
        thread::sleep(LOOK);
    }
    house::line("Nobody said the code in time, so nothing is linked.")?;
    Ok(false)
}
