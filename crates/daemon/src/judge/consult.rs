//! Asks the model: cache, breaker, budget, the question itself, and what its answer changes.

use std::time::Instant;

use countersign_json::canonical::Digest;
use countersign_judge::{
    CacheKey, DangerReply, Delimiter, InvalidReply, JudgeReply, JudgeSubject, Prompt, UserWords,
    danger_prompt, message_digest, prompt, read_danger_reply, read_reply,
};
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};

use super::model_judge::ModelJudge;
use super::opinion::{JudgeOpinion, JudgeQuestion, NoOpinion};
use crate::random;

impl ModelJudge {
    /// The opinion on a call. Every failure is an opinion without a verdict.
    pub async fn consult(&self, question: &JudgeQuestion, now: Timestamp) -> JudgeOpinion {
        let key = self.key(question);
        let cached = self.lock().cache.get(&key, now);
        if let Some(kept) = cached {
            let opinion = JudgeOpinion::without_exchange(Ok(kept.reply));
            return JudgeOpinion { cached_from: kept.request, ..opinion };
        }
        let words = &question.words;
        let prompt = match self.prompt(&question.subject, words) {
            Ok(prompt) => prompt,
            Err(why) => return JudgeOpinion::without_exchange(Err(why)),
        };
        let opinion = self.exchange(prompt, &question.subject.digest, now).await;
        if let Ok(reply) = opinion.result {
            let mut memory = self.lock();
            memory.cache.keep(key, reply, now);
            memory.agents.entry(question.agent.clone(), Default::default).note(reply.verdict, now);
        }
        opinion
    }

    /// Notes that the model was asked for this request, so that a later use of the verdict can name
    /// it.
    pub fn asked_for(&self, question: &JudgeQuestion, opinion: &JudgeOpinion, request: Id) {
        if !opinion.cached {
            let key = self.key(question);
            self.lock().cache.note_request(&key, request);
        }
    }

    /// The verdict on a call that nothing depends on: a canary, or a row of a corpus.
    pub async fn try_out(
        &self,
        subject: &JudgeSubject,
        now: Timestamp,
    ) -> Result<JudgeReply, NoOpinion> {
        let prompt = self.prompt(subject, &[])?;
        self.exchange(prompt, &subject.digest, now).await.result
    }

    fn key(&self, question: &JudgeQuestion) -> CacheKey {
        let (policy, words) = (&self.config().policy, &question.words);
        CacheKey::new(&question.subject, policy, self.model(), words)
    }

    fn prompt(&self, subject: &JudgeSubject, words: &[UserWords]) -> Result<Prompt, NoOpinion> {
        let delimiter = Delimiter::new(random::bytes().map_err(|_| NoOpinion::Entropy)?);
        let examples = self.lock().evidence.examples.clone();
        let policy = &self.config().policy;
        prompt(subject, policy, words, &examples, delimiter).map_err(|_| NoOpinion::TooLong)
    }

    /// Whether the writer of a message may be in danger. Every failure is no answer.
    pub async fn consult_danger(&self, text: &str, now: Timestamp) -> ModelExchange<DangerReply> {
        let prompt = random::bytes().map_err(|_| NoOpinion::Entropy).and_then(|bytes| {
            danger_prompt(text, Delimiter::new(bytes)).map_err(|_| NoOpinion::TooLong)
        });
        match prompt {
            Err(why) => ModelExchange::not_asked(why),
            Ok(prompt) => {
                let message = message_digest(text);
                self.ask_model(&prompt, now, |reply| read_danger_reply(reply, &message)).await
            }
        }
    }

    async fn exchange(&self, prompt: Prompt, call: &Digest, now: Timestamp) -> JudgeOpinion {
        let exchange = self.ask_model(&prompt, now, |reply| read_reply(reply, call)).await;
        let ModelExchange { result, reply, millis, tokens, asked } = exchange;
        let prompt = asked.then_some(prompt);
        JudgeOpinion { result, prompt, reply, cached: false, cached_from: None, millis, tokens }
    }

    async fn ask_model<T>(
        &self,
        prompt: &Prompt,
        now: Timestamp,
        read: impl FnOnce(&str) -> Result<T, InvalidReply>,
    ) -> ModelExchange<T> {
        let limits = self.config().budget;
        let refused = {
            let mut memory = self.lock();
            if !memory.budget.take(&limits, now) {
                Some(NoOpinion::Budget)
            } else if !memory.breaker.try_send(now) {
                Some(NoOpinion::BreakerOpen)
            } else {
                None
            }
        };
        if let Some(why) = refused {
            return ModelExchange::not_asked(why);
        }
        let started = Instant::now();
        let answered = self.client.ask(prompt).await;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (result, reply, tokens) = match answered {
            Err(error) => (Err(NoOpinion::Model(error)), None, (0, 0)),
            Ok(response) => {
                let result = read(&response.text).map_err(NoOpinion::Reply);
                let tokens = (response.input_tokens, response.output_tokens);
                (result, Some(response.text), tokens)
            }
        };
        let ended = now.plus(Millis(millis));
        let mut memory = self.lock();
        match &result {
            Ok(_) => memory.breaker.answered(),
            Err(_) => memory.breaker.failed(ended),
        }
        // A server that does not count is charged by the length of the text.
        let length = prompt.system.len() + prompt.user.len();
        let spent = (tokens.0 + tokens.1).max(u64::try_from(length / 4).unwrap_or(0));
        memory.budget.spend(spent, ended);
        drop(memory);
        ModelExchange { result, reply, millis, tokens, asked: true }
    }
}

/// One question to the model and its outcome.
#[derive(Debug)]
pub struct ModelExchange<T> {
    /// What the model says, or why that is not known.
    pub result: Result<T, NoOpinion>,
    /// Its reply, word for word.
    reply: Option<String>,
    /// How long it took.
    pub millis: u64,
    /// Tokens of prompt and reply.
    pub tokens: (u64, u64),
    /// Whether the model was asked.
    pub asked: bool,
}

impl<T> ModelExchange<T> {
    const fn not_asked(why: NoOpinion) -> ModelExchange<T> {
        ModelExchange { result: Err(why), reply: None, millis: 0, tokens: (0, 0), asked: false }
    }
}
