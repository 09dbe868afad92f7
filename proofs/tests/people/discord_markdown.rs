//! What an agent writes stays inside its block of code on Discord, by a parser of Discord's
//! markdown: nothing in it becomes a link, a mention or an end of the block.

use std::path::Path;
use std::process::Command;

use proof_skip::{Cause, skip};
use serde_json::{Value, json};

use crate::discord;
use crate::fake_platform::{FakePlatform, ask, installation};
use crate::fixture::{Rng, has, report_figures, shared, size};
use crate::tools::{spoken, tools};

/// What means something to Discord, and what stands around it.
const PIECES: [&str; 26] = [
    "```",
    "``",
    "`",
    "\n",
    "\n\n",
    "@everyone",
    "@here",
    "<@77>",
    "<@&5>",
    "<#6>",
    "<:x:1>",
    "<t:1>",
    "[safe](https://evil.example)",
    "https://evil.example",
    "discord.gg/evil",
    "||",
    "**",
    "__",
    "~~",
    "\n# big",
    "\n> said",
    "\n- one",
    "\\",
    "ansi\n",
    ":smile:",
    " word ",
];

fn hostile(rng: &mut Rng, most: u64) -> String {
    let many = 1 + rng.below(most);
    let piece = |_| PIECES[usize::try_from(rng.below(PIECES.len() as u64)).unwrap()];
    (0..many).map(piece).collect()
}

#[test]
fn nothing_that_an_agent_writes_means_anything_on_discord() {
    let library = tools().join("people/node_modules/discord-markdown-parser/dist/index.js");
    if !has("node") || !library.is_file() {
        return skip(Cause::Tool, "node or discord-markdown-parser is not installed");
    }
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let stand_in = FakePlatform::start(discord::Discord::default());
    let settings = discord::settings(folder.path(), &stand_in, true);
    let fixture = installation(folder.path(), &[("discord", settings)]);
    let (mut rng, many) = (Rng(0xdead_beef), size(150, 3_000));
    let mut messages = Vec::new();
    for number in 0..many {
        let (to, text) = (hostile(&mut rng, 4), hostile(&mut rng, 12));
        let call = json!({
            "tool": "send_message",
            "arguments": { "to": format!("{to}{number}@example.org"), "text": text },
        });
        let id = ask(&fixture, &call);
        let message = stand_in.until("a message", |discord| discord.about(&id));
        messages.push((id, message["first"].clone(), text));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/people/discord_markdown.cjs");
    let contents: Vec<Value> = messages.iter().map(|(_, content, _)| content.clone()).collect();
    let read = spoken(Command::new("node").arg(script).arg(library), &contents);
    assert_eq!(read.len(), messages.len());
    let list = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    for (line, (id, content, text)) in read.iter().zip(&messages) {
        let found: Value = serde_json::from_str(line).unwrap();
        let (kinds, code) = (list(&found["kinds"]), list(&found["code"]));
        let harmless = ["text", "br", "strong", "twemoji", "codeBlock", "url"];
        assert!(kinds.iter().all(|kind| harmless.contains(&kind.as_str())), "{found}\n{content}");
        let [code] = code.as_slice() else { panic!("{found}\n{content}") };
        // The only link is ours.
        let links = list(&found["links"]);
        assert!(links.len() == 1 && links[0].ends_with(&format!("/requests/{id}")), "{found}");
        // What stands between our fences is in the block as it stands there, to its last letter.
        let content = content.as_str().unwrap();
        let (_, inside) = content.split_once("\n```\n").unwrap();
        let (inside, _) = inside.rsplit_once("\n```\n").unwrap();
        assert_eq!(code, inside);
        let words = |text: &str| text.matches("word").count() + text.matches("evil").count();
        assert!(words(code) >= words(text), "{code}\n{text}");
    }
    report_figures(&format!(
        "discord: {many} hostile calls read by a parser of its markdown, none got out"
    ));
}
