//! The MCP server behind the proxy: one origin, connections kept for the next request.

use countersign_net::{Client, HttpUrl, Options};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};

/// Unused connections to the server that are kept.
const IDLE_CONNECTIONS: usize = 16;

/// The server and the client that reaches it.
pub struct Upstream {
    url: HttpUrl,
    client: Client,
}

impl Upstream {
    /// From its URL; the error says what is wrong with it.
    pub fn parse(url: &str) -> Result<Upstream, String> {
        let url = HttpUrl::parse(url)?;
        // The operator configured the server, so it may have any address.
        let options = Options { idle_connections: IDLE_CONNECTIONS, ..Options::new(true) };
        Ok(Upstream { url, client: Client::with_options(options) })
    }

    /// The path of the MCP endpoint.
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Sends a request, whose URL has only a path, to the server. The body of the response is
    /// still to come. A request that was not sent because a kept connection was closed is sent
    /// over another connection; a request that may have been sent is never sent again.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        let mut request = request;
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let url = self.url.with_path_and_query(path)?;
        *request.uri_mut() = url.into_uri();
        self.client.send(request).await.map_err(|error| error.to_string())
    }
}
