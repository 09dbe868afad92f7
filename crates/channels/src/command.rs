//! A program of the operator, which gets the announcement as JSON on its standard input.

use std::time::Duration;

use countersign_types::tier::Tier;

use crate::announcement::safe;
use crate::program::run;
use crate::{Announcement, Channel, ChannelError, ChannelFuture, Receipt};

/// The longest message id that a program may print.
const NAME: usize = 200;

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSettings {
    /// The program, by its absolute path.
    pub program: String,
    /// Its arguments. No text of an announcement is ever among them.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A program of the operator.
#[derive(Debug)]
pub struct CommandChannel {
    name: String,
    max_tier: Tier,
    settings: CommandSettings,
}

impl CommandChannel {
    /// The channel.
    pub const fn new(name: String, max_tier: Tier, settings: CommandSettings) -> CommandChannel {
        CommandChannel { name, max_tier, settings }
    }

    async fn tell(
        &self,
        news: &Announcement,
        prompt: Option<&Receipt>,
    ) -> Result<Receipt, ChannelError> {
        let mut data = news.data();
        if let Some(members) = data.as_object_mut() {
            members.insert("key".to_owned(), news.key.as_str().into());
            members.insert("prompt".to_owned(), prompt.map(|prompt| prompt.0.as_str()).into());
        }
        let settings = &self.settings;
        let line = format!("{data}\n");
        let said = run(&settings.program, &settings.arguments, &line, settings.timeout).await?;
        Ok(Receipt(safe(said.lines().next().unwrap_or_default().trim(), NAME)))
    }
}

impl Channel for CommandChannel {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(self.tell(news, None))
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async move { self.tell(end, prompt).await.map(|_| ()) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;
    use crate::announcement::tests::{asked, deceptive, is_displayable};

    fn shell(script: &str, timeout: Duration) -> CommandChannel {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        let settings = CommandSettings { program: "/bin/sh".to_owned(), arguments, timeout };
        CommandChannel::new("test".to_owned(), Tier::Critical, settings)
    }

    #[tokio::test]
    async fn it_gets_the_announcement_and_gives_it_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("got");
        let channel =
            shell(&format!("cat > {}; echo msg-1", path.display()), Duration::from_secs(5));
        let mut news = asked();
        news.brief = "$(touch /tmp/never) `id` '; exit 1".to_owned();
        assert_eq!(channel.announce(&news).await.unwrap(), Receipt("msg-1".to_owned()));
        let got: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(got["brief"], news.brief);
        assert_eq!(got["key"], news.key);
        assert_eq!(got["prompt"], serde_json::Value::Null);
        channel.withdraw(Some(&Receipt("msg-1".to_owned())), &news).await.unwrap();
        let got: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(got["prompt"], "msg-1");
    }

    #[tokio::test]
    async fn it_gets_nothing_that_hides_or_draws() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("got");
        let channel = shell(&format!("cat > {}", path.display()), Duration::from_secs(30));
        channel.announce(&deceptive()).await.unwrap();
        let got: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert!(is_displayable(&got), "{got}");
    }

    #[tokio::test]
    async fn one_that_hangs_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // The program and its child hold the pipe open: it ends when both are dead.
        let script = format!("exec 3>{}; echo up >&3; sleep 600 & sleep 600", pipe.display());
        let (up, mut is_up) = tokio::sync::mpsc::unbounded_channel();
        let (over, is_over) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(std::fs::File::open(&pipe).unwrap()).lines();
            up.send(lines.next().unwrap().unwrap()).unwrap();
            over.send(lines.next().is_none())
        });
        let hour = Duration::from_hours(1);
        let announcing = tokio::spawn(async move { shell(&script, hour).announce(&asked()).await });
        assert_eq!(is_up.recv().await.unwrap(), "up");
        tokio::time::pause();
        let error = announcing.await.unwrap().unwrap_err();
        assert!(!error.permanent && error.problem.contains("timeout_seconds"), "{error}");
        assert_eq!(is_over.recv_timeout(Duration::from_secs(30)), Ok(true), "a child lived on");
    }

    #[tokio::test]
    async fn one_that_leaves_something_running_has_still_ended() {
        // Waiting for the child, which holds the output open, would take too long.
        let channel = shell("sleep 60 & echo done", Duration::from_secs(30));
        assert_eq!(channel.announce(&asked()).await.unwrap().0, "done");
    }

    #[tokio::test]
    async fn endings_other_than_well_are_failures() {
        let wait = Duration::from_secs(5);
        assert!(!shell("exit 3", wait).announce(&asked()).await.unwrap_err().permanent);
        assert!(!shell("kill -9 $$", wait).announce(&asked()).await.unwrap_err().permanent);
        let (program, arguments) = ("/nowhere/at/all".to_owned(), Vec::new());
        let settings = CommandSettings { program, arguments, timeout: wait };
        let gone = CommandChannel::new("test".to_owned(), Tier::Critical, settings);
        assert!(gone.announce(&asked()).await.unwrap_err().permanent);
        // More output than anyone reads does not hang it.
        assert!(shell("yes | head -c 1000000; exit 0", wait).announce(&asked()).await.is_ok());
    }

    #[tokio::test]
    async fn our_environment_stays_ours() {
        // Cargo sets this for tests; a program must not see it.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let channel = shell("echo x$CARGO_MANIFEST_DIR", Duration::from_secs(5));
        assert_eq!(channel.announce(&asked()).await.unwrap().0, "x");
    }
}
