//! The client's requests that have no response yet, by their ids: where each response goes.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::mcp::engine::observer::ResponseWatch;
use crate::mcp::engine::transport::{ProgressFloor, Released, RequestError};
use crate::mcp::message::RequestId;

/// The response to a request of the engine.
pub type ResponseSender = oneshot::Sender<Result<String, RequestError>>;

/// A request without a response.
#[derive(Debug)]
pub enum RequestRoute {
    /// It was not sent to the server yet.
    Reserved,
    /// The server has it.
    Sent(SentRequest),
}

/// A request that the server has.
#[derive(Debug)]
pub struct SentRequest {
    pub watch: ResponseWatch,
    /// Where the response goes; to the client if there is nothing.
    pub to_engine: Option<ResponseSender>,
    /// The token under which the client was told progress.
    progress_token: Option<RequestId>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Routes {
    by_id: HashMap<RequestId, RequestRoute>,
    progress_floors: HashMap<RequestId, f64>,
}

impl Routes {
    /// Reserves an id. Returns false if it is in use.
    pub fn reserve(&mut self, id: &RequestId) -> bool {
        if self.by_id.contains_key(id) {
            return false;
        }
        self.by_id.insert(id.clone(), RequestRoute::Reserved);
        true
    }

    /// Whether an id is reserved and its request not sent yet.
    pub fn is_reserved(&self, id: &RequestId) -> bool {
        matches!(self.by_id.get(id), Some(RequestRoute::Reserved))
    }

    /// The request is sent now.
    pub fn sent(
        &mut self,
        id: RequestId,
        watch: ResponseWatch,
        to_engine: Option<ResponseSender>,
        floor: Option<&ProgressFloor>,
    ) {
        if let Some(floor) = floor {
            self.progress_floors.insert(floor.token.clone(), floor.value);
        }
        let progress_token = floor.map(|floor| floor.token.clone());
        let sent = SentRequest { watch, to_engine, progress_token };
        self.by_id.insert(id, RequestRoute::Sent(sent));
    }

    /// Whether progress of the server is no more than the client was told before.
    pub fn is_within_floor(&self, token: &RequestId, value: f64) -> bool {
        self.progress_floors.get(token).is_some_and(|floor| value <= *floor)
    }

    /// Releases an id.
    pub fn release(&mut self, id: &RequestId) -> Released {
        match self.by_id.remove(id) {
            None => Released::Unknown,
            Some(RequestRoute::Reserved) => Released::Reserved,
            Some(RequestRoute::Sent(sent)) => {
                self.forget_progress(&sent);
                Released::Sent(sent.watch)
            }
        }
    }

    /// The request that a response of the server is for.
    pub fn answered(&mut self, id: &RequestId) -> Option<SentRequest> {
        match self.by_id.remove(id) {
            Some(RequestRoute::Sent(sent)) => {
                self.forget_progress(&sent);
                Some(sent)
            }
            Some(RequestRoute::Reserved) => {
                self.by_id.insert(id.clone(), RequestRoute::Reserved);
                None
            }
            None => None,
        }
    }

    /// The server is gone: every request without a response.
    pub fn take_all(&mut self) -> HashMap<RequestId, RequestRoute> {
        self.progress_floors.clear();
        std::mem::take(&mut self.by_id)
    }

    /// The client is gone: requests that were not sent are not sent any more.
    pub fn remove_reserved(&mut self) {
        self.by_id.retain(|_, route| !matches!(route, RequestRoute::Reserved));
    }

    fn forget_progress(&mut self, sent: &SentRequest) {
        if let Some(token) = &sent.progress_token {
            self.progress_floors.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::read(text).unwrap()
    }

    #[test]
    fn nothing_stays_of_requests_that_have_ended() {
        let mut routes = Routes::default();
        for number in 0..100 {
            let (request, token) = (id(&number.to_string()), id(&format!("\"t{number}\"")));
            assert!(routes.reserve(&request) && !routes.reserve(&request));
            let floor = ProgressFloor { token: token.clone(), value: 0.002 };
            routes.sent(request.clone(), ResponseWatch::Nothing, None, Some(&floor));
            assert!(routes.is_within_floor(&token, 0.002) && !routes.is_within_floor(&token, 1.0));
            if number % 2 == 0 {
                assert!(routes.answered(&request).is_some());
            } else {
                assert!(matches!(routes.release(&request), Released::Sent(_)));
            }
        }
        assert!(routes.by_id.is_empty() && routes.progress_floors.is_empty());
    }

    #[test]
    fn a_response_to_a_request_that_was_not_sent_is_nobody_s() {
        let mut routes = Routes::default();
        assert!(routes.reserve(&id("1")));
        assert!(routes.answered(&id("1")).is_none());
        assert!(routes.is_reserved(&id("1")));
    }
}
