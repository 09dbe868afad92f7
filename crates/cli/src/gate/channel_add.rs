//! `countersign channel add telegram`: from a bot's token to the first tap.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use countersign_channels::secret::Token;
use countersign_channels::telegram::bot::{BASE_URL, Bot};
use countersign_channels::telegram::started;
use countersign_daemon::config::{DaemonConfig, Paths};
use tokio::runtime::Runtime;

use super::args_channel::Add;
use super::credential::{PersonSession, PromptTerminal};
use super::{channel_file, channel_steps, output, page, reach, running};
use crate::failure::Failure;

/// The time limit of one call to Telegram.
const CALL: Duration = Duration::from_secs(15);
/// The time limit for the daemon to reload its configuration.
const RELOAD: Duration = Duration::from_secs(20);
/// The characters of a start code, chosen to be easy to tell apart.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Runs the command.
pub fn run(args: &Add) -> Result<ExitCode, Failure> {
    if args.kind != "telegram" {
        return Err(Failure::at(
            &args.kind,
            "only telegram can be added interactively; for other channels see `countersign config example`",
        ));
    }
    let paths = reach::paths(args.config.as_deref(), None)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    if config.rules.channels.contains_key(&args.name) {
        return Err(Failure::at(
            &args.name,
            "a channel with this name exists; choose another name with --name",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let secret = bot_token(args)?;
    let token = Token::parse(&secret).ok_or_else(|| Failure::at("token", "invalid token"))?;
    let base_url = args.base_url.as_deref().unwrap_or(BASE_URL);
    let bot = Bot::new(base_url, token, args.allow_private, CALL).map_err(said)?;
    let me = runtime.block_on(bot.me()).map_err(said)?;
    output::line(&format!("Bot: @{} ({}).", me.username, page::safe(&me.name, 80)))?;
    let chat = match args.chat {
        Some(chat) => chat,
        None => find_chat(args, &runtime, &bot, &me.username)?,
    };
    let lines = Lines::new(args, &paths, &config, chat)?;
    output::line(&format!("These lines will be written:\n\n{}", lines.block))?;
    output::line(&format!("and [escalation] first = [{}]\n", lines.first_level.join(", ")))?;
    if !args.yes && !terminal()?.agrees("Write them?")? {
        output::line("Nothing was written.")?;
        return Ok(ExitCode::FAILURE);
    }
    let kept = lines.write(&paths, args.bot_token_file.is_none().then_some(secret.as_str()))?;
    let place = page::safe(&paths.config.display().to_string(), 4096);
    let kept = kept.map_or_else(String::new, |kept| {
        format!("; the previous file is {}", page::safe(&kept.display().to_string(), 4096))
    });
    output::line(&format!("Written to {place}{kept}."))?;
    in_use(args, &config)
}

#[expect(clippy::needless_pass_by_value, reason = "used in map_err")]
fn said(error: countersign_channels::ChannelError) -> Failure {
    Failure::at("telegram", page::safe(&error.problem, 400))
}

/// The bot's token, from a file or typed without echo.
fn bot_token(args: &Add) -> Result<String, Failure> {
    if let Some(file) = &args.bot_token_file {
        return reach::secret_file(file);
    }
    output::line(
        "Create a bot used only by Countersign: on Telegram, send /newbot to @BotFather. It gives you \
         a token.",
    )?;
    terminal()?;
    Ok(PromptTerminal::secret("Token of the bot (not shown): ")?.trim().to_owned())
}

fn terminal() -> Result<PromptTerminal, Failure> {
    PromptTerminal::open().map_err(|_| {
        let need = "run this in a terminal, or use --bot-token-file and --yes";
        Failure::Input(need.to_owned())
    })
}

/// Waits until the person presses Start, and uses that chat.
fn find_chat(args: &Add, runtime: &Runtime, bot: &Bot, name: &str) -> Result<i64, Failure> {
    let mut bytes = [0_u8; 10];
    getrandom::fill(&mut bytes).map_err(|error| Failure::at("randomness", error))?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).map(|letter| char::from(*letter));
    let code: String = bytes.iter().filter_map(letter).collect();
    output::line(&format!(
        "Open this on your phone or here, and press Start:\n  https://t.me/{name}?start={code}\n\
         Waiting {} s for it. Ctrl-C ends this; nothing is written yet.",
        args.wait
    ))?;
    let end = Instant::now() + Duration::from_secs(args.wait);
    let mut next = None;
    while Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        let heard = runtime.block_on(async {
            tokio::time::timeout(left, bot.updates(next)).await.unwrap_or_else(|_| Ok(Vec::new()))
        });
        let updates = heard.map_err(said)?;
        if updates.is_empty() {
            thread::sleep(Duration::from_millis(100));
        }
        for update in &updates {
            let found = started(update, &code, name);
            next = next.max(found.next);
            if let Some((chat, called)) = found.chat {
                // Confirmed here, so that the daemon does not receive this code again.
                runtime.block_on(bot.forget(next)).map_err(said)?;
                output::line(&format!("Received Start from {}.", page::safe(&called, 80)))?;
                return Ok(chat);
            }
        }
    }
    Err(Failure::Input("Start was not pressed in time; nothing was written".to_owned()))
}

/// The lines to write.
struct Lines {
    token_file: PathBuf,
    block: String,
    first_level: Vec<String>,
}

impl Lines {
    fn new(args: &Add, paths: &Paths, config: &DaemonConfig, chat: i64) -> Result<Lines, Failure> {
        let folder = paths.config.parent().map_or_else(PathBuf::new, PathBuf::from);
        let token_file = match &args.bot_token_file {
            Some(file) => std::path::absolute(file)?,
            None => folder.join(format!("{}.token", args.name)),
        };
        let (name, token) = (&args.name, token_file.display().to_string());
        let mut block = format!(
            "[channels.{name}]\nkind = \"telegram\"\ntoken_file = {token:?}\nchat = {chat}\n"
        );
        if let Some(url) = &args.base_url {
            let _ = writeln!(block, "base_url = {url:?}");
        }
        if args.allow_private {
            block.push_str("allow_private = true\n");
        }
        let mut first_level = config.rules.escalation.first().cloned().unwrap_or_default();
        first_level.push(name.clone());
        Ok(Lines { token_file, block, first_level })
    }

    /// Writes the token, if Countersign stores it, and the configuration. Returns the path of the
    /// previous one.
    fn write(&self, paths: &Paths, secret: Option<&str>) -> Result<Option<PathBuf>, Failure> {
        if let Some(folder) = paths.config.parent() {
            fs::create_dir_all(folder)?;
        }
        let place = self.token_file.display().to_string();
        let ours = match secret {
            None => false,
            Some(secret) => channel_file::write_secret(&self.token_file, secret)
                .map_err(|error| Failure::at(&place, format!("not written: {error}")))?,
        };
        let done = put(paths, &self.block, &self.first_level);
        if done.is_err() && ours {
            let _ = fs::remove_file(&self.token_file);
        }
        done
    }
}

/// The new configuration, if the daemon accepts it.
fn put(paths: &Paths, block: &str, first_level: &[String]) -> Result<Option<PathBuf>, Failure> {
    let old = match fs::read_to_string(&paths.config) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::at(&paths.config.display().to_string(), error)),
    };
    let plain = channel_file::with_channel(&old, block);
    DaemonConfig::read(&plain, paths).map_err(|error| Failure::Input(error.to_string()))?;
    let whole = channel_file::with_first_level(&plain, first_level);
    let meant = DaemonConfig::read(&whole, paths).ok();
    let fits = meant
        .is_some_and(|meant| meant.rules.escalation.first().is_some_and(|it| it == first_level));
    if !fits {
        output::line("[escalation] could not be changed safely. Add the channel to it yourself.")?;
    }
    let text = if fits { whole } else { plain };
    Ok(channel_file::replace(&paths.config, &text)?)
}

/// Reloads the daemon, links the person's account, and waits for the first tap.
fn in_use(args: &Add, old: &DaemonConfig) -> Result<ExitCode, Failure> {
    let later =
        format!("Then link your account: countersign channel link {}", page::safe(&args.name, 40));
    let Some(daemon) = running::daemon(&old.store) else {
        output::line(&format!("{}\n{later}", running::NOT_FOUND))?;
        return Ok(ExitCode::FAILURE);
    };
    let id = daemon.as_raw_nonzero();
    let question = format!("Reload the configuration of the daemon (process {id}) now?");
    let wanted = args.yes || terminal()?.agrees(&question)?;
    if !wanted || !running::reload(daemon) {
        output::line(&format!("Reload the configuration of the daemon: kill -HUP {id}\n{later}"))?;
        return Ok(ExitCode::FAILURE);
    }
    let session = PersonSession::open_to_change(&args.person)?;
    let end = Instant::now() + RELOAD;
    while !session.channels()?.iter().any(|channel| channel.name == args.name) {
        if Instant::now() > end {
            output::line("The daemon does not use the channel yet; its log says why.")?;
            return Ok(ExitCode::FAILURE);
        }
        thread::sleep(Duration::from_millis(200));
    }
    channel_steps::confirm(&session, &args.name)?;
    let before = session.accounts()?;
    let code = link(&session, &args.name)?;
    output::line(&channel_steps::how_to_link(&code))?;
    let patience = Duration::from_secs(args.wait);
    // Only a linked account can tap the button.
    if channel_steps::wait_for_link(&session, &args.name, &before, patience)? {
        return channel_steps::try_out(&session, &args.name, patience);
    }
    Ok(ExitCode::FAILURE)
}

/// A code, once the daemon knows the bot's name and can build a link.
fn link(session: &PersonSession, name: &str) -> Result<countersign_client::LinkCode, Failure> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let code = session.link_account(name)?;
        if code.open.is_some() || Instant::now() > end {
            return Ok(code);
        }
        thread::sleep(Duration::from_millis(300));
    }
}
