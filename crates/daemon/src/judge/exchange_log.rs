//! The exact prompts and replies of the newest requests, for people who want to know why.
//!
//! Files in the daemon's own folder. The ledger holds the digests, so a changed file is noticed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use countersign_judge::{Prompt, ReplyForm};
use countersign_types::id::Id;
use serde::{Deserialize, Serialize};

use super::opinion::JudgeOpinion;

/// How many exchanges are kept.
const MAX_FILES: usize = 500;

/// One exchange with the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgeExchange {
    /// The request.
    pub request: String,
    /// The model.
    pub model: String,
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
    /// The reply, word for word; none if the model gave none.
    pub reply: Option<String>,
    /// The verdict, or why there is none.
    pub result: String,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

impl JudgeExchange {
    /// The exchange of an opinion, unless the verdict was cached.
    pub fn of(id: Id, model: &str, opinion: &JudgeOpinion) -> Option<JudgeExchange> {
        let Prompt { system, user, .. } = opinion.prompt.clone()?;
        let result = match &opinion.result {
            Ok(reply) => format!("{}, {}", reply.verdict.label(), reply.concern.label()),
            Err(why) => format!("no verdict: {}", why.sentence()),
        };
        Some(JudgeExchange {
            request: id.to_string(),
            model: model.to_owned(),
            system,
            user,
            reply: opinion.reply.clone(),
            result,
            ms: opinion.millis,
        })
    }

    /// The digest of the prompt, as the ledger has it.
    pub fn prompt_digest(&self) -> String {
        let (system, user) = (self.system.clone(), self.user.clone());
        Prompt { system, user, form: ReplyForm::Verdict }.digest().to_string()
    }
}

/// The folder of the exchanges.
#[derive(Debug, Clone)]
pub struct ExchangeLog(PathBuf);

impl ExchangeLog {
    /// The log in this folder.
    pub const fn new(folder: PathBuf) -> ExchangeLog {
        ExchangeLog(folder)
    }

    /// Writes an exchange. A failure costs an explanation and nothing else, so it is only logged.
    pub fn write(&self, exchange: &JudgeExchange) {
        if let Err(error) = self.try_write(exchange) {
            tracing::warn!(%error, "an exchange with the model judge was not written down");
        }
    }

    fn try_write(&self, exchange: &JudgeExchange) -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let text = serde_json::to_string(exchange)?;
        let path = self.0.join(format!("{}.json", exchange.request));
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        self.prune()
    }

    /// The names begin with the time, so the first ones are the oldest.
    fn prune(&self) -> std::io::Result<()> {
        let listed = fs::read_dir(&self.0)?;
        let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let surplus = files.len().saturating_sub(MAX_FILES);
        files.iter().take(surplus).try_for_each(fs::remove_file)
    }

    /// The exchange of a request, if it is still kept.
    pub fn read(&self, id: Id) -> Option<JudgeExchange> {
        let text = fs::read_to_string(self.0.join(format!("{id}.json"))).ok()?;
        serde_json::from_str(&text).ok()
    }
}
