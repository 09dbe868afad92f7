//! `countersign channel add telegram`: from a bot's token to the first tap, step by step.

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
use super::credential::{Session, Terminal};
use super::{channel, channel_file, house, page, reach, running};
use crate::failure::Failure;

/// How long one call of Telegram's may take.
const CALL: Duration = Duration::from_secs(15);
/// How long a daemon may take to read its configuration again.
const RELOAD: Duration = Duration::from_secs(20);
/// Letters of a start code, none of which is taken for another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Runs the command.
pub fn run(args: &Add) -> Result<ExitCode, Failure> {
    if args.kind != "telegram" {
        return Err(Failure::at(
            &args.kind,
            "only telegram is set up step by step; the others stand in `countersign config example`",
        ));
    }
    let paths = reach::paths(args.config.as_deref(), None)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    if config.rules.channels.contains_key(&args.name) {
        return Err(Failure::at(
            &args.name,
            "there is a channel of this name; take another one with --name",
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let secret = bot_token(args)?;
    let token = Token::parse(&secret).ok_or_else(|| Failure::at("token", "this is no token"))?;
    let base_url = args.base_url.as_deref().unwrap_or(BASE_URL);
    let bot = Bot::new(base_url, token, args.allow_private, CALL).map_err(said)?;
    let me = runtime.block_on(bot.me()).map_err(said)?;
    house::line(&format!("This is @{} ({}).", me.username, page::safe(&me.name, 80)))?;
    let chat = match args.chat {
        Some(chat) => chat,
        None => find_chat(args, &runtime, &bot, &me.username)?,
    };
    let lines = Lines::new(args, &paths, &config, chat)?;
    house::line(&format!("These lines are written:\n\n{}", lines.block))?;
    house::line(&format!("and [ladder] first = [{}]\n", lines.rung.join(", ")))?;
    if !args.yes && !terminal()?.agrees("Write them?")? {
        house::line("Nothing was written.")?;
        return Ok(ExitCode::FAILURE);
    }
    let kept = lines.write(&paths, args.bot_token_file.is_none().then_some(secret.as_str()))?;
    let place = page::safe(&paths.config.display().to_string(), 4096);
    let kept = kept.map_or_else(String::new, |kept| {
        format!("; what was there is in {}", page::safe(&kept.display().to_string(), 4096))
    });
    house::line(&format!("Written to {place}{kept}."))?;
    in_use(args, &config)
}

#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
fn said(error: countersign_channels::ChannelError) -> Failure {
    Failure::at("telegram", page::safe(&error.problem, 400))
}

/// The bot's token, from a file or typed unseen.
fn bot_token(args: &Add) -> Result<String, Failure> {
    if let Some(file) = &args.bot_token_file {
        return reach::secret_file(file);
    }
    house::line(
        "Make a bot for Countersign alone: on Telegram, write /newbot to @BotFather. It gives you \
         a token.",
    )?;
    terminal()?;
    Ok(Terminal::secret("The bot's token (it is not shown): ")?.trim().to_owned())
}

fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|_| {
        let need = "this needs a person at a terminal, or --bot-token-file and --yes";
        Failure::Input(need.to_owned())
    })
}

/// Waits until the person presses Start, and takes the chat in which they did.
fn find_chat(args: &Add, runtime: &Runtime, bot: &Bot, name: &str) -> Result<i64, Failure> {
    let mut bytes = [0_u8; 10];
    getrandom::fill(&mut bytes).map_err(|error| Failure::at("randomness", error))?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).map(|letter| char::from(*letter));
    let code: String = bytes.iter().filter_map(letter).collect();
    house::line(&format!(
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
                // The daemon must not hear this code again and wonder.
                runtime.block_on(bot.forget(next)).map_err(said)?;
                house::line(&format!("Found you: {}.", page::safe(&called, 80)))?;
                return Ok(chat);
            }
        }
    }
    Err(Failure::Input("nobody pressed Start in time; nothing was written".to_owned()))
}

/// What is written.
struct Lines {
    token_file: PathBuf,
    block: String,
    rung: Vec<String>,
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
        let mut rung = config.rules.ladder.first().cloned().unwrap_or_default();
        rung.push(name.clone());
        Ok(Lines { token_file, block, rung })
    }

    /// Writes the token, if it is ours to keep, and the configuration. Says where the old one is.
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
        let done = put(paths, &self.block, &self.rung);
        if done.is_err() && ours {
            let _ = fs::remove_file(&self.token_file);
        }
        done
    }
}

/// The new configuration, if the daemon would take it.
fn put(paths: &Paths, block: &str, rung: &[String]) -> Result<Option<PathBuf>, Failure> {
    let old = match fs::read_to_string(&paths.config) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::at(&paths.config.display().to_string(), error)),
    };
    let plain = channel_file::with_channel(&old, block);
    DaemonConfig::read(&plain, paths).map_err(|error| Failure::Input(error.to_string()))?;
    let whole = channel_file::with_first_rung(&plain, rung);
    let meant = DaemonConfig::read(&whole, paths).ok();
    let fits = meant.is_some_and(|meant| meant.rules.ladder.first().is_some_and(|it| it == rung));
    if !fits {
        house::line("Your [ladder] could not be changed safely: add the channel to it yourself.")?;
    }
    let text = if fits { whole } else { plain };
    Ok(channel_file::replace(&paths.config, &text)?)
}

/// Has the daemon read it, links the person's account, and waits for the first tap.
fn in_use(args: &Add, old: &DaemonConfig) -> Result<ExitCode, Failure> {
    let later =
        format!("Then link your account: countersign channel link {}", page::safe(&args.name, 40));
    let Some(daemon) = running::daemon(&old.store) else {
        house::line(&format!("{}\n{later}", running::NOT_FOUND))?;
        return Ok(ExitCode::FAILURE);
    };
    let id = daemon.as_raw_nonzero();
    let question = format!("Have the daemon (process {id}) read its configuration now?");
    let wanted = args.yes || terminal()?.agrees(&question)?;
    if !wanted || !running::reload(daemon) {
        house::line(&format!("Have the daemon read it: kill -HUP {id}\n{later}"))?;
        return Ok(ExitCode::FAILURE);
    }
    let session = Session::open_to_change(&args.person)?;
    let end = Instant::now() + RELOAD;
    while !session.channels()?.iter().any(|channel| channel.name == args.name) {
        if Instant::now() > end {
            house::line("The daemon does not use the channel yet; its log says why.")?;
            return Ok(ExitCode::FAILURE);
        }
        thread::sleep(Duration::from_millis(200));
    }
    let before = session.accounts()?;
    let code = link(&session, &args.name)?;
    house::line(&channel::how_to_link(&code))?;
    let patience = Duration::from_secs(args.wait);
    // Only a linked account can tap what counts.
    if channel::wait_for_link(&session, &args.name, &before, patience)? {
        return channel::try_out(&session, &args.name, patience);
    }
    Ok(ExitCode::FAILURE)
}

/// A code, once the daemon knows the bot's name and can make an address of it.
fn link(session: &Session, name: &str) -> Result<countersign_client::LinkCode, Failure> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let code = session.link_account(name)?;
        if code.open.is_some() || Instant::now() > end {
            return Ok(code);
        }
        thread::sleep(Duration::from_millis(300));
    }
}
