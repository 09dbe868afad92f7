//! What Discord and Slack share: code blocks that their content cannot close, signed requests with
//! a timestamp, and prompts that are withdrawn together.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_text::decode::hex_exact;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

use crate::{Announcement, Channel, ChannelError, ChannelFuture, Receipt, ReplyReceiver};

/// The largest difference between a platform's clock and ours, in either direction.
const WINDOW_MS: u64 = 300_000;
/// The delimiter of a code block on both platforms.
const FENCE: &str = "```";
/// A backtick as `show` writes it. `show` also marks a text's own brackets, so no other text
/// looks like this.
const BACKTICK: &str = "\u{27e8}U+0060\u{27e9}";
/// The value of `PersonReply::reply_to` where the reply is sent in the HTTP response.
pub const IN_RESPONSE: &str = "here";
/// The response to a reply that the platform sent a second time.
pub const ALREADY_RECEIVED: &str = "This reply was already received.";
/// Prompts that are remembered.
const REMEMBERED: usize = 512;

/// The text as a code block. Nothing in it can close the block: three backticks in a row are
/// written as markers.
pub fn fenced(text: &str) -> String {
    let mut inside = String::with_capacity(text.len());
    let mut run = 0_usize;
    let close = |run: &mut usize, inside: &mut String| {
        let sign = if *run >= FENCE.len() { BACKTICK } else { "`" };
        inside.push_str(&sign.repeat(*run));
        *run = 0;
    };
    for letter in text.chars() {
        if letter == '`' {
            run += 1;
            continue;
        }
        close(&mut run, &mut inside);
        inside.push(letter);
    }
    close(&mut run, &mut inside);
    // The line breaks separate backticks at either end from the delimiter.
    format!("{FENCE}\n{inside}\n{FENCE}")
}

/// Whether a timestamp (seconds since 1970, in digits) is current and not older than this channel:
/// a restart forgets which posts were received, so older ones could be replayed.
pub fn is_fresh(now: Timestamp, seconds: &str, open_for: Duration) -> bool {
    let digits = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
    let sent = seconds.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1000));
    let Some(sent) = sent.filter(|_| digits) else { return false };
    let (apart, is_past) = (now.0.abs_diff(sent), sent < now.0);
    apart <= WINDOW_MS && !(is_past && u128::from(apart) > open_for.as_millis())
}

/// `N` bytes from hexadecimal digits.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex_exact(text)?.try_into().ok()
}

/// The length of a text in UTF-16 units, the largest count that a platform uses.
pub fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The beginning of a text, at most `most` UTF-16 units long.
pub fn cut(text: &str, most: usize) -> String {
    let mut left = most;
    let fits = |letter: &char| {
        let fits = letter.len_utf16() <= left;
        left = left.saturating_sub(letter.len_utf16());
        fits
    };
    text.chars().take_while(fits).collect()
}

/// A platform whose messages can be edited, and through which people reply.
pub trait ChatPlatform: ReplyReceiver {
    /// The name of the channel.
    fn channel_name(&self) -> &str;

    /// The highest tier that the channel may carry.
    fn channel_max_tier(&self) -> Tier;

    /// The messages about pending requests.
    fn prompts(&self) -> &Prompts;

    /// Posts a message.
    fn post<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt>;

    /// Edits a message to say how the request ended, and removes its buttons.
    fn end<'a>(&'a self, receipt: &'a Receipt, end: &'a Announcement) -> ChannelFuture<'a, ()>;
}

impl<C: ChatPlatform> Channel for C {
    fn name(&self) -> &str {
        self.channel_name()
    }

    fn max_tier(&self) -> Tier {
        self.channel_max_tier()
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async move {
            let receipt = self.post(news).await?;
            self.prompts().sent(news, &receipt);
            Ok(receipt)
        })
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(withdraw(self, prompt, end))
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        Some(self)
    }
}

/// Edits every message about a request to say how it ended; posts a new one where none is known.
async fn withdraw(
    chat: &impl ChatPlatform,
    prompt: Option<&Receipt>,
    end: &Announcement,
) -> Result<(), ChannelError> {
    let prompts = chat.prompts().of(end.request, prompt);
    if prompts.is_empty() {
        return chat.post(end).await.map(|_| ());
    }
    for receipt in &prompts {
        chat.end(receipt, end).await?;
    }
    chat.prompts().forget(end.request);
    Ok(())
}

/// The messages about pending requests. An escalated request is announced again; when it ends, no
/// older message may keep its buttons.
#[derive(Debug, Default)]
pub struct Prompts(Mutex<VecDeque<(Id, Receipt)>>);

impl Prompts {
    /// Remembers a message.
    pub fn sent(&self, news: &Announcement, receipt: &Receipt) {
        if news.ways.is_none() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.pop_front();
        }
        all.push_back((news.request, receipt.clone()));
    }

    /// All messages about a request, including the one that the caller knows.
    pub fn of(&self, request: Id, known: Option<&Receipt>) -> Vec<Receipt> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.iter().filter(|(about, _)| *about == request).map(|(_, receipt)| receipt);
        let mut found: Vec<Receipt> = Vec::new();
        for receipt in known.into_iter().chain(own) {
            if !receipt.0.is_empty() && !found.contains(receipt) {
                found.push(receipt.clone());
            }
        }
        found
    }

    /// Forgets the messages about a request.
    pub fn forget(&self, request: Id) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(about, _)| *about != request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    #[test]
    fn nothing_leaves_a_block_of_code_and_no_two_look_alike() {
        let tricks = [
            "`",
            "``",
            "```",
            "````",
            "a```b",
            "x``",
            "```\n@everyone\n```",
            "\n```",
            "`\u{200b}``",
            "⟨U+0060⟩",
            "rm -rf `pwd`",
            "",
        ];
        let mut seen = std::collections::HashSet::new();
        for text in tricks {
            let block = fenced(text);
            assert_eq!(block.matches(FENCE).count(), 2, "{block}");
            assert!(block.starts_with("```\n") && block.ends_with("\n```"), "{block}");
            assert!(seen.insert(block), "{text}");
        }
        assert!(fenced("echo `id`").contains("echo `id`"));
        assert!(fenced("a```b").contains("a⟨U+0060⟩⟨U+0060⟩⟨U+0060⟩b"));
    }

    #[test]
    fn old_and_early_and_odd_times_are_not_now() {
        let now = Timestamp(1_794_700_000_000);
        for (seconds, fresh) in [
            ("1794700000", true),
            ("1794699700", true),
            ("1794700300", true),
            ("1794699699", false),
            ("1794700301", false),
            ("", false),
            ("-1", false),
            ("+1794700000", false),
            (" 1794700000", false),
            ("1794700000.0", false),
            ("99999999999999999999", false),
            ("9223372036854775807", false),
        ] {
            let long = Duration::from_hours(1);
            assert_eq!(is_fresh(now, seconds, long), fresh, "{seconds}");
        }
        // Posts from before the channel was opened are refused.
        for (seconds, open_for, fresh) in
            [("1794699990", 10, true), ("1794699990", 9, false), ("1794700010", 0, true)]
        {
            assert_eq!(is_fresh(now, seconds, Duration::from_secs(open_for)), fresh);
        }
    }

    #[test]
    fn hexadecimal_is_read_whole_or_not_at_all() {
        assert_eq!(from_hex::<2>("0aFf"), Some([0x0a, 0xff]));
        for bad in ["", "0a", "0aff0", "0aff00", "0afg", "+a0f", "é0a"] {
            assert_eq!(from_hex::<2>(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_message_about_a_request_is_found_once() {
        let prompts = Prompts::default();
        let (news, one, two) = (asked(), Receipt("1".to_owned()), Receipt("2".to_owned()));
        prompts.sent(&news, &one);
        prompts.sent(&news, &two);
        assert_eq!(prompts.of(news.request, Some(&two)), [two, one.clone()]);
        assert_eq!(prompts.of(Id::from_bytes([9; 16]), Some(&one)), std::slice::from_ref(&one));
        prompts.forget(news.request);
        assert!(prompts.of(news.request, None).is_empty());
        for _ in 0..2 * REMEMBERED {
            prompts.sent(&news, &one);
        }
        assert!(prompts.0.lock().unwrap().len() <= REMEMBERED);
    }
}
