//! Arguments of `countersign channel`.

use clap::{Parser, Subcommand};

use super::args::{NamedArgs, PersonArgs, PersonOnly};

/// Manage channels: Telegram and others.
#[derive(Parser)]
#[command(name = "countersign channel", bin_name = "countersign channel")]
#[command(after_help = EXAMPLES)]
pub struct ChannelArgs {
    /// The action.
    #[command(subcommand)]
    pub what: ChannelWhat,
}

const EXAMPLES: &str = "\
Examples:
  countersign channel add telegram
  countersign channel list
  countersign channel test telegram
  countersign channel link telegram
  countersign channel unlink telegram/123456789

Only linked accounts can decide; they decide in the name of their person.
Exit codes: 0 success, 1 a test message failed or no account was linked, 2 an error.";

/// The actions of `channel`.
#[derive(Subcommand)]
pub enum ChannelWhat {
    /// List channels and their status.
    List(PersonOnly),
    /// Send a test message.
    Test(NamedArgs),
    /// Link your account: prints a code to send through the channel.
    Link {
        /// The channel.
        name: String,
        /// Do not wait until the account is linked.
        #[arg(long)]
        no_wait: bool,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// List linked accounts.
    Accounts(PersonOnly),
    /// Unlink an account.
    Unlink {
        /// The account from `channel accounts`: CHANNEL/ACCOUNT.
        account: String,
        /// The people API and the person.
        #[command(flatten)]
        person: PersonArgs,
    },
    /// Add a channel interactively.
    Add(Add),
}

/// Add a channel interactively.
#[derive(Parser)]
// The command is interactive and has no JSON output.
#[command(after_help = ADD_EXAMPLES, mut_arg("json", |arg| arg.hide(true)))]
pub struct Add {
    /// The kind of channel: telegram.
    pub kind: String,
    /// The name of the channel in the configuration.
    #[arg(long, value_name = "NAME", default_value = "telegram")]
    pub name: String,
    /// File with the bot's token, readable only by you [default: prompt]
    #[arg(long, value_name = "FILE")]
    pub bot_token_file: Option<String>,
    /// The chat that receives requests [default: the chat in which you press Start]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub chat: Option<i64>,
    /// The configuration file [default: the standard path]
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Another URL of the Bot API, such as your own server.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Allow a --base-url on this host, in a private network or with plain http.
    #[arg(long, requires = "base_url")]
    pub allow_private: bool,
    /// How long to wait for each of your steps, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub wait: u64,
    /// Do not prompt for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// The people API and the person.
    #[command(flatten)]
    pub person: PersonArgs,
}

const ADD_EXAMPLES: &str = "\
Example:
  countersign channel add telegram

First create a bot used only by Countersign: send /newbot to @BotFather on Telegram. The lines are
shown before they are written, and the previous configuration is kept with the suffix .before. For a
group, add the bot to the group and give its number with --chat.
Exit codes: 0 the channel works, 1 written but not linked or not active yet, 2 an error.";
