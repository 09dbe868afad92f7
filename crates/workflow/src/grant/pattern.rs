//! Patterns of commands: words, and typed holes for values that may differ. A hole never takes an
//! option, so that a pattern has exactly the options that it names.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::members::is_plain;

/// The longest pattern, in bytes, and the most words.
const MAX_BYTES: usize = 400;
const MAX_WORDS: usize = 40;
/// The longest value of a hole, in bytes.
const MAX_VALUE: usize = 200;
/// The most digits of a number.
const MAX_DIGITS: usize = 9;

/// A value that may differ between the calls that a pattern covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternHole {
    /// `<number>`: digits.
    Number,
    /// `<word>`: letters, digits, `_`, `-` and `.`; no path.
    Word,
    /// `<path>`: a file or folder below the grant's repository, none of them hidden.
    Path,
    /// `<package>`: a package name, with its scope but without a version, path or address.
    Package,
    /// `<url>`: an https address of a host that the approved call reached.
    Url,
}

impl PatternHole {
    /// Every kind of hole.
    pub const ALL: [PatternHole; 5] = [
        PatternHole::Number,
        PatternHole::Word,
        PatternHole::Path,
        PatternHole::Package,
        PatternHole::Url,
    ];

    /// As it is written in a pattern.
    pub const fn text(self) -> &'static str {
        match self {
            PatternHole::Number => "<number>",
            PatternHole::Word => "<word>",
            PatternHole::Path => "<path>",
            PatternHole::Package => "<package>",
            PatternHole::Url => "<url>",
        }
    }

    fn takes(self, value: &str, place: PatternPlace<'_>) -> bool {
        if value.is_empty() || value.len() > MAX_VALUE || value.starts_with(['-', '.', '+']) {
            return false;
        }
        match self {
            PatternHole::Number => {
                value.len() <= MAX_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit())
            }
            PatternHole::Word => is_word(value),
            PatternHole::Path => {
                place.repository.is_some_and(|folder| is_visible_below(value, folder))
            }
            PatternHole::Package => match value.strip_prefix('@') {
                None => is_word(value),
                Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| {
                    is_word(scope) && is_word(name) && !name.starts_with('.')
                }),
            },
            PatternHole::Url => is_address(value, place.hosts),
        }
    }
}

/// Where a pattern is compared with a command.
#[derive(Debug, Clone, Copy)]
pub struct PatternPlace<'a> {
    /// The folder of the repository that the command runs in.
    pub repository: Option<&'a str>,
    /// The hosts that addresses may name.
    pub hosts: &'a [&'a str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternWord {
    Literal(String),
    Hole(PatternHole),
}

/// A command with typed holes, such as `npm publish <path>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    words: Vec<PatternWord>,
}

impl CommandPattern {
    /// Reads a pattern. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<CommandPattern, &'static str> {
        if text.len() > MAX_BYTES {
            return Err("a pattern has at most 400 bytes");
        }
        let mut words = Vec::new();
        for word in text.split_ascii_whitespace() {
            let hole = PatternHole::ALL.into_iter().find(|hole| hole.text() == word);
            words.push(match hole {
                Some(hole) => PatternWord::Hole(hole),
                None if is_plain(word) => PatternWord::Literal(word.to_owned()),
                None => {
                    return Err("a pattern consists of plain words, without quotes, variables or \
                                other shell syntax, and of the holes <number>, <word>, <path>, \
                                <package> and <url>");
                }
            });
        }
        let is_literal = |index: usize| matches!(words.get(index), Some(PatternWord::Literal(_)));
        let has_holes = words.iter().any(|word| matches!(word, PatternWord::Hole(_)));
        if !is_literal(0) || words.len() > MAX_WORDS {
            return Err("a pattern begins with a program and has at most 40 words");
        }
        if has_holes && !is_literal(1) {
            return Err("the word after the program must not be a hole");
        }
        let pattern = CommandPattern { words };
        if pattern.hole_follows_option() {
            return Err("a hole must not follow an option, which could take it as its value");
        }
        Ok(pattern)
    }

    /// An option may take the next word as its value: `-c <word>` would run any program. A number
    /// is only a number wherever it is.
    fn hole_follows_option(&self) -> bool {
        self.words.windows(2).any(|pair| match pair {
            [PatternWord::Literal(option), PatternWord::Hole(hole)] => {
                option.starts_with('-') && option != "--" && *hole != PatternHole::Number
            }
            _ => false,
        })
    }

    /// The pattern of exactly this command.
    pub fn exactly(command: &str) -> Option<CommandPattern> {
        CommandPattern::parse(command).ok().filter(|pattern| !pattern.has_holes())
    }

    /// The command with holes in place of numbers and of paths below the repository; none if it has
    /// neither, or if the result would not be a pattern.
    pub fn generalize(command: &str, repository: Option<&str>) -> Option<CommandPattern> {
        let place = PatternPlace { repository, hosts: &[] };
        let mut after_option = false;
        let word = |(index, word): (usize, &str)| {
            let is_option = word.starts_with('-') && word != "--";
            let is_value = std::mem::replace(&mut after_option, is_option);
            let is_path = !is_value && word.contains('/') && PatternHole::Path.takes(word, place);
            match index {
                0 | 1 => word.to_owned(),
                _ if PatternHole::Number.takes(word, place) => {
                    PatternHole::Number.text().to_owned()
                }
                _ if is_path => PatternHole::Path.text().to_owned(),
                _ => word.to_owned(),
            }
        };
        let words: Vec<String> = command.split_ascii_whitespace().enumerate().map(word).collect();
        CommandPattern::parse(&words.join(" ")).ok().filter(CommandPattern::has_holes)
    }

    /// Whether it has holes.
    pub fn has_holes(&self) -> bool {
        self.words.iter().any(|word| matches!(word, PatternWord::Hole(_)))
    }

    /// Whether one of its holes takes paths.
    pub fn has_path(&self) -> bool {
        self.words.contains(&PatternWord::Hole(PatternHole::Path))
    }

    /// Whether a plain command is one of those that the pattern stands for.
    pub fn matches(&self, command: &str, place: PatternPlace<'_>) -> bool {
        let mut words = command.split_ascii_whitespace();
        let all = self.words.iter().all(|wanted| match (wanted, words.next()) {
            (PatternWord::Literal(wanted), Some(word)) => wanted == word,
            (PatternWord::Hole(hole), Some(word)) => hole.takes(word, place),
            (_, None) => false,
        });
        all && words.next().is_none()
    }
}

/// A plain name: no path, no option, no address.
fn is_word(value: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !value.is_empty()
        && value.bytes().all(letter)
        && !value.starts_with(['-', '.'])
        && !value.contains("..")
}

/// Whether a path names a file or folder below a folder: relative, or with the folder in front. No
/// part of it is hidden or leads upwards, which also leaves `.git` and `.env` out.
fn is_visible_below(path: &str, folder: &str) -> bool {
    let rest = match path.strip_prefix('/') {
        None => Some(path),
        Some(_) => {
            path.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'))
        }
    };
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./@+,".contains(&byte);
    rest.is_some_and(|rest| {
        let mut parts = rest.trim_end_matches('/').split('/');
        rest.bytes().all(letter)
            && parts.all(|part| !part.is_empty() && !part.starts_with(['.', '-']))
    })
}

/// Whether a value is an https address of one of these hosts.
fn is_address(value: &str, hosts: &[&str]) -> bool {
    let Some(rest) = value.strip_prefix("https://") else { return false };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    hosts.contains(&host) && path.bytes().all(letter) && !path.split('/').any(|part| part == "..")
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            match word {
                PatternWord::Literal(text) => write!(f, "{space}{text}")?,
                PatternWord::Hole(hole) => write!(f, "{space}{}", hole.text())?,
            }
        }
        Ok(())
    }
}

impl Serialize for CommandPattern {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CommandPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CommandPattern, D::Error> {
        let text = String::deserialize(from)?;
        CommandPattern::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: PatternPlace<'_> =
        PatternPlace { repository: Some("/home/ana/shop"), hosts: &["api.example.com"] };

    fn matches(pattern: &str, command: &str) -> bool {
        CommandPattern::parse(pattern).unwrap().matches(command, HERE)
    }

    #[test]
    fn a_hole_takes_values_of_its_kind() {
        for (pattern, command) in [
            ("npm publish <path>", "npm publish packages/cart"),
            ("npm publish <path>", "npm publish /home/ana/shop/packages/cart/"),
            ("gh pr merge <number> --squash", "gh pr merge 12 --squash"),
            ("npm install <package>", "npm install @acme/cart-ui"),
            ("npm install <package>", "npm install left-pad"),
            ("git push origin <word>", "git push origin feature-1.2"),
            ("curl -sS -f <number>", "curl -sS -f 12"),
            ("git checkout -- <path>", "git checkout -- src/main.rs"),
            ("curl post <url>", "curl post https://api.example.com/v1/items"),
        ] {
            assert!(matches(pattern, command), "{pattern}: {command}");
        }
    }

    /// Each of these hides an option, another folder, another host or more words in a hole.
    #[test]
    fn a_hole_takes_nothing_else() {
        for (pattern, command) in [
            ("npm publish <path>", "npm publish"),
            ("npm publish <path>", "npm publish a/b c/d"),
            ("npm publish <path>", "npm publish ../other"),
            ("npm publish <path>", "npm publish a/../../other"),
            ("npm publish <path>", "npm publish /home/ana/shop-evil/x"),
            ("npm publish <path>", "npm publish /home/ana/shop"),
            ("npm publish <path>", "npm publish /etc/passwd"),
            ("npm publish <path>", "npm publish ~/x"),
            ("npm publish <path>", "npm publish --registry=x"),
            ("npm publish <path>", "npm publish a/.git/hooks"),
            ("npm publish <path>", "npm publish .env"),
            ("npm publish <path>", "npm publish https://x.example/y"),
            ("npm publish <path>", "npm publish a//b"),
            ("gh pr merge <number>", "gh pr merge --admin"),
            ("gh pr merge <number>", "gh pr merge 1234567890"),
            ("gh pr merge <number>", "gh pr merge -1"),
            ("npm install <package>", "npm install ./x"),
            ("npm install <package>", "npm install evil/repo"),
            ("npm install <package>", "npm install @a/b/c"),
            ("npm install <package>", "npm install left-pad@1.0.0"),
            ("npm install <package>", "npm install git+https://x.example/y"),
            ("npm install <package>", "npm install -g"),
            ("git push origin <word>", "git push origin +main"),
            ("git push origin <word>", "git push origin a:b"),
            ("git push origin <word>", "git push origin --force"),
            ("git push origin <word>", "git push evil main"),
            ("curl post <url>", "curl post http://api.example.com/"),
            ("curl post <url>", "curl post https://api.example.com.evil.example/"),
            ("curl post <url>", "curl post https://api.example.com@evil.example/"),
            ("curl post <url>", "curl post https://api.example.com:8080/"),
            ("curl post <url>", "curl post https://evil.example/https://api.example.com/"),
            ("curl post <url>", "curl post https://api.example.com/a/../b"),
        ] {
            assert!(!matches(pattern, command), "{pattern}: {command}");
        }
        let nowhere = PatternPlace { repository: None, hosts: &[] };
        let path = CommandPattern::parse("npm publish <path>").unwrap();
        assert!(!path.matches("npm publish packages/cart", nowhere));
    }

    #[test]
    fn a_pattern_names_its_program_and_options() {
        for text in [
            "",
            "<word>",
            "<path> x",
            "npm <word>",
            "bash -c <word>",
            "rm -rf <path>",
            "git -C <path> status",
            "npm run $x",
            "npm <anything>",
            "npm 'a b'",
            "a; b",
            "a <word",
        ] {
            assert!(CommandPattern::parse(text).is_err(), "{text}");
        }
        let text = "gh run view <number> --log";
        assert_eq!(CommandPattern::parse(text).unwrap().to_string(), text);
        assert!(CommandPattern::exactly("npm publish").is_some());
        assert!(CommandPattern::exactly("npm publish <path>").is_none());
    }

    #[test]
    fn numbers_and_paths_are_generalized_and_words_are_not() {
        let repository = Some("/home/ana/shop");
        let wide = |command: &str| {
            CommandPattern::generalize(command, repository).map(|pattern| pattern.to_string())
        };
        assert_eq!(wide("npm publish packages/cart").as_deref(), Some("npm publish <path>"));
        assert_eq!(wide("gh run view 12 --log").as_deref(), Some("gh run view <number> --log"));
        for command in [
            "npm publish",
            "git push origin main",
            "git -C packages/cart status",
            "deploy 12",
            "cat /etc/passwd",
            "npm install ../x",
        ] {
            assert_eq!(wide(command), None, "{command}");
        }
    }
}
