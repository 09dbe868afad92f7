//! The exact call: monospace, the dangerous part marked, every character visible.

use std::fmt::Write as _;

use countersign_json as json;
use countersign_risk::call_view::{Leaf, leaves};
use countersign_risk::card::Card;
use countersign_text::sanitize::show;
use maud::{Markup, html};

use super::labels::thousands;

/// Lines of one argument before the rest is folded.
const LINES: usize = 10;
/// Bytes of one argument before the rest is folded.
const BYTES: usize = 1200;

/// The call on a card.
pub fn call(card: &Card) -> Markup {
    let arguments = json::parse(&card.arguments).ok();
    let worst = card.reasons.iter().find(|reason| reason.span.is_some());
    // If secrets were removed, the command is the redacted text.
    let written = card.command.as_ref().filter(|_| !card.hidden.is_empty());
    let leaves = match (written, &arguments) {
        (Some(command), _) => {
            return html! { div.call { pre { (command) } (gone(card)) } };
        }
        (None, Some(arguments)) => leaves(arguments, worst),
        (None, None) => Vec::new(),
    };
    html! {
        div.call {
            @if leaves.iter().all(|leaf| leaf.name.is_some()) { p.tool { (card.tool) } }
            @for leaf in &leaves { (argument(leaf)) }
            (gone(card))
        }
    }
}

fn gone(card: &Card) -> Markup {
    html! {
        @for kind in &card.hidden {
            p.gone { "hidden: " (kind.kind) @if kind.count > 1 { ", " (kind.count) " times" } }
        }
        @if card.folded > 0 {
            p.gone.folded { "… " (thousands(card.folded)) " more bytes are not on the card" }
        }
    }
}

fn argument(leaf: &Leaf) -> Markup {
    let long = leaf.text.len() > BYTES || leaf.text.lines().count() > LINES;
    let lines = leaf.text.lines().count();
    html! {
        div.argument {
            @if let Some(name) = &leaf.name { span.key { (name) } }
            pre.long[long] tabindex=[long.then_some("0")] {
                @if leaf.name.is_none() { span.prompt aria-hidden="true" { "$ " } }
                (marked(leaf))
            }
            @if long {
                button.more type="button" {
                    "Show all " (thousands(leaf.text.len() as u64)) " bytes, " (lines) " lines"
                }
            }
        }
    }
}

/// The text with its marked part; every character is visible, line breaks are marked and kept.
fn marked(leaf: &Leaf) -> Markup {
    let text = leaf.text.as_str();
    if text.is_empty() {
        return html! { span.faint { "\"\"" } };
    }
    let at = |place: usize| text.floor_char_boundary(place.min(text.len()));
    let (from, to) = leaf.marked.map_or((text.len(), text.len()), |(from, to)| (at(from), at(to)));
    let (before, rest) = text.split_at(from);
    let (mark, after) = rest.split_at(to.saturating_sub(from).min(rest.len()));
    html! {
        (lines(before))
        @if !mark.is_empty() { mark { (lines(mark)) } }
        (lines(after))
    }
}

fn lines(text: &str) -> Markup {
    html! {
        @for line in text.split_inclusive('\n') {
            @if let Some(line) = line.strip_suffix('\n') {
                (show(line).text) span.faint { "⏎" } "\n"
            } @else {
                (show(line).text)
            }
        }
    }
}

/// JSON for editing: characters that a text field would not show are written as escapes.
pub fn editable(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if show(c.encode_utf8(&mut [0; 4])).altered {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editable_json_shows_every_character() {
        let json = "{\"a\":\"x\u{202e}y\u{1b}\u{e0001}é\"}";
        let text = editable(json);
        assert_eq!(text, "{\"a\":\"x\\u202ey\\u001b\\udb40\\udc01é\"}");
        assert_eq!(
            json::parse(&text).unwrap(),
            json::parse("{\"a\":\"x\u{202e}y\\u001b\u{e0001}é\"}").unwrap()
        );
    }
}
