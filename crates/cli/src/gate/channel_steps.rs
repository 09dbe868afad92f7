//! Steps that `channel` commands share: a test message, a link code, and waiting for both.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{AccountRecord, ChannelTest, LinkCode, PeopleClient, TapRecord};

use super::{output, page};
use crate::failure::Failure;

/// The pause between two polls.
const POLL: Duration = Duration::from_secs(1);

/// Confirms the new channel: the person adds it with their passphrase. Other settings that wait are
/// left to `countersign config confirm`.
pub fn confirm(people: &PeopleClient, name: &str) -> Result<(), Failure> {
    let Some((hash, changes)) = people.waiting_config()? else { return Ok(()) };
    let own = format!("[channels.{name}] ");
    if changes.iter().all(|change| change.starts_with(&own)) {
        people.confirm_config(&hash)?;
        return Ok(());
    }
    let hash = page::safe(hash.get(..16).unwrap_or(&hash), 16);
    output::line(&format!(
        "People approve through this channel after an administrator confirms the settings that \
         wait: countersign config confirm {hash}"
    ))?;
    Ok(())
}

/// The result of a test message.
pub fn tested(name: &str, test: &ChannelTest) -> String {
    let name = page::safe(name, 40);
    match &test.problem {
        None if test.taps => {
            format!("Test message sent through {name}. Tap its button: This works.")
        }
        None => format!("Test message sent through {name}. Check whether it arrived."),
        Some(problem) => format!("Not sent through {name}: {}.", page::safe(problem, 400)),
    }
}

/// Sends a test message and waits until its button is tapped, if it has one.
pub fn try_out(people: &PeopleClient, name: &str, timeout: Duration) -> Result<ExitCode, Failure> {
    let tapped = || -> Result<Option<TapRecord>, Failure> {
        let list = people.channels()?;
        Ok(list.into_iter().find(|one| one.name == name).and_then(|one| one.tapped))
    };
    let before = tapped()?;
    let test = people.test_channel(name)?;
    output::line(&tested(name, &test))?;
    if !test.taps {
        return Ok(if test.sent { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let end = Instant::now() + timeout;
    while Instant::now() < end {
        if let Some(tapped) = tapped()?.filter(|tapped| before.as_ref() != Some(tapped)) {
            let by = page::safe(&tapped.by, 80);
            output::line(&format!(
                "The channel works: {by} tapped the button. Risky calls are announced there."
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(POLL);
    }
    let name = page::safe(name, 40);
    output::line(&format!(
        "The button was not tapped in time. Check that the message is in the chat, and tap it \
         with the account that you linked.\nIf a tap has no effect, another program may be reading \
         the messages of this bot. Try again: countersign channel test {name}"
    ))?;
    Ok(ExitCode::FAILURE)
}

/// What to do with a code.
pub fn how_to_link(code: &LinkCode) -> String {
    let say = page::safe(&code.say, 200);
    match code.open.as_deref().filter(|open| open.starts_with("https://")) {
        Some(open) => format!(
            "Open this link with your account, and press Start:\n  {}\nOr send this message there: {say}",
            page::safe(open, 200)
        ),
        None => format!("Send this message there from your account:\n  {say}"),
    }
}

/// Waits until a new account is linked.
pub fn wait_for_link(
    people: &PeopleClient,
    channel: &str,
    before: &[AccountRecord],
    timeout: Duration,
) -> Result<bool, Failure> {
    output::line(
        "Waiting; the code is valid for 10 minutes. Ctrl-C stops waiting; the code stays valid.",
    )?;
    let end = Instant::now() + timeout;
    while Instant::now() < end {
        let list = people.accounts()?;
        let fresh = list.iter().find(|one| one.channel == channel && !before.contains(one));
        if let Some(account) = fresh {
            let (person, called) =
                (page::safe(&account.person, 80), page::safe(&account.called, 80));
            output::line(&format!("Linked: {called} now decides as {person}."))?;
            return Ok(true);
        }
        thread::sleep(POLL);
    }
    output::line("The code was not sent in time; no account was linked.")?;
    Ok(false)
}
