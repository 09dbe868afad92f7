//! The messages about a request, whose ids are stored as one receipt: `chat:1,2`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use countersign_types::id::Id;

use crate::Receipt;

/// Requests whose messages are remembered, and messages of one request.
const REMEMBERED: usize = 512;
const MESSAGES: usize = 8;

/// The ids of the messages about recent requests.
#[derive(Debug, Default)]
pub(super) struct SentMessages(Mutex<VecDeque<(Id, Vec<i64>)>>);

impl SentMessages {
    /// The receipt of a new message: all known messages about the request, the newest last.
    pub(super) fn receipt(&self, chat: i64, request: Id, number: i64) -> Receipt {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = sent.iter().position(|(id, _)| *id == request);
        let mut numbers = at.and_then(|at| sent.remove(at)).map(|(_, numbers)| numbers);
        let numbers = numbers.get_or_insert_default();
        numbers.push(number);
        if numbers.len() > MESSAGES {
            numbers.remove(0);
        }
        if sent.len() >= REMEMBERED {
            sent.pop_front();
        }
        let written: Vec<String> = numbers.iter().map(i64::to_string).collect();
        sent.push_back((request, std::mem::take(numbers)));
        Receipt(format!("{chat}:{}", written.join(",")))
    }
}

/// The chat and the messages of a receipt.
pub(super) fn read_receipt(receipt: &Receipt) -> Option<(i64, Vec<i64>)> {
    let (chat, numbers) = receipt.0.split_once(':')?;
    let numbers: Result<Vec<i64>, _> = numbers.split(',').map(str::parse).collect();
    Some((chat.parse().ok()?, numbers.ok()?))
}
