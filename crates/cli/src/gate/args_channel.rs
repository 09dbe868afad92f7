//! What can be said to `countersign channel`.

use clap::{Parser, Subcommand};

use super::args::{Named, Person, PersonOnly};

/// Channels: how people are reached, and who answers through them.
#[derive(Parser)]
#[command(name = "countersign channel", bin_name = "countersign channel")]
#[command(after_help = EXAMPLES)]
pub struct Channel {
    /// What to do.
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

Only linked accounts can answer, and what they say counts as their person's word.
Exit codes: 0 done, 1 a test did not go out or nobody linked an account, 2 an error.";

/// What to do with channels.
#[derive(Subcommand)]
pub enum ChannelWhat {
    /// Every channel, and how it does.
    List(PersonOnly),
    /// Send one message through a channel, now.
    Test(Named),
    /// Link your account: a code to say there.
    Link {
        /// The channel.
        name: String,
        /// Do not wait until it is linked.
        #[arg(long)]
        no_wait: bool,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// The accounts that answer, and whose they are.
    Accounts(PersonOnly),
    /// End what an account may say.
    Unlink {
        /// The account, as `accounts` lists it: CHANNEL/ACCOUNT.
        account: String,
        /// As whom.
        #[command(flatten)]
        person: Person,
    },
    /// Set up a new channel, step by step.
    Add(Add),
}

/// Set up a new channel, step by step.
#[derive(Parser)]
// It is a conversation: there is no JSON of it.
#[command(after_help = ADD_EXAMPLES, mut_arg("json", |arg| arg.hide(true)))]
pub struct Add {
    /// The kind: telegram.
    pub kind: String,
    /// What it is called in the configuration.
    #[arg(long, value_name = "NAME", default_value = "telegram")]
    pub name: String,
    /// A file with the bot's token, readable by you alone; else it is asked for.
    #[arg(long, value_name = "FILE")]
    pub bot_token_file: Option<String>,
    /// The chat in which it asks; else the one in which you press Start.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub chat: Option<i64>,
    /// The configuration; else the usual one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<String>,
    /// Another place of the Bot API, such as a server of your own.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// That place may be this machine, a private network or plain http.
    #[arg(long, requires = "base_url")]
    pub allow_private: bool,
    /// How long to wait for you each time, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub wait: u64,
    /// Write without asking.
    #[arg(long)]
    pub yes: bool,
    /// As whom.
    #[command(flatten)]
    pub person: Person,
}

const ADD_EXAMPLES: &str = "\
Example:
  countersign channel add telegram

Make a bot for Countersign alone first: write /newbot to @BotFather on Telegram. Before anything is
written you see the lines; the configuration that was there is kept beside it, with .before at the
end of its name. For a group, add the bot to it and give its number with --chat.
Exit codes: 0 it works, 1 it is written but not linked or not in use yet, 2 an error.";
