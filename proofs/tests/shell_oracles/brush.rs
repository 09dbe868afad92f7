//! Whether brush-parser reads a text. It never ends on some short texts and overflows the stack
//! on deep ones, so it only ever sees what bash accepts, small and shallow, in a thread of its
//! own that is left behind when it takes too long.

use std::io::Cursor;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const STACK: usize = 64 << 20;
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST: usize = 300;
const DEEPEST: usize = 10;

/// Whether it reads the text; none where it is not asked or gives no answer.
pub fn reads(text: &str) -> Option<bool> {
    if text.len() > LONGEST || depth(text) > DEEPEST {
        return None;
    }
    let (send, receive) = mpsc::channel();
    let text = text.to_owned();
    let work = move || {
        let options = brush_parser::ParserOptions::default();
        let mut parser = brush_parser::Parser::new(Cursor::new(text.as_bytes()), &options);
        let _ = send.send(parser.parse_program().is_ok());
    };
    thread::Builder::new().stack_size(STACK).spawn(work).unwrap();
    receive.recv_timeout(PATIENCE).ok()
}

/// The deepest nesting of brackets, quotes not regarded: more than enough.
fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0usize, 0);
    for c in text.chars() {
        match c {
            '(' | '{' | '[' => now += 1,
            ')' | '}' | ']' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}
