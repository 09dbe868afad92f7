//! One plain line and a bell on the daemon's own terminal, if it has one.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_types::tier::Tier;

use crate::{Announcement, Channel, ChannelError, ChannelFuture, Receipt};

/// How long a write may take: a terminal that was stopped with Ctrl-S accepts nothing.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The terminal.
#[derive(Debug)]
pub struct TerminalChannel {
    name: String,
    max_tier: Tier,
    /// Held while a line is written, so that a stopped terminal does not accumulate threads.
    writing: Arc<Mutex<()>>,
}

impl TerminalChannel {
    /// The channel.
    pub fn new(name: String, max_tier: Tier) -> TerminalChannel {
        TerminalChannel { name, max_tier, writing: Arc::default() }
    }

    async fn write(&self, text: String) -> Result<(), ChannelError> {
        if !io::stderr().is_terminal() {
            return Err(ChannelError::permanent("the daemon has no terminal"));
        }
        let writing = Arc::clone(&self.writing);
        let stuck = || {
            ChannelError::again("the terminal does not accept output (was it stopped with Ctrl-S?)")
        };
        let written = tokio::task::spawn_blocking(move || {
            let _one_at_a_time = writing.try_lock().map_err(|_| stuck())?;
            io::stderr().write_all(text.as_bytes()).map_err(|_| stuck())
        });
        match tokio::time::timeout(TIMEOUT, written).await {
            Ok(Ok(written)) => written,
            Ok(Err(_)) | Err(_) => Err(stuck()),
        }
    }
}

impl Channel for TerminalChannel {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async {
            self.write(format!("\x07{}\n", news.line())).await.map(|()| Receipt::default())
        })
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            match prompt {
                Some(_) => self.write(format!("{}\n", end.line())).await,
                None => Ok(()),
            }
        })
    }
}
