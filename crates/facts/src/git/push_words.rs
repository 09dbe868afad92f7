//! The words behind `git push`.

/// Options that change nothing in what is pushed.
const PLAIN: [&str; 19] = [
    "--atomic",
    "--force-if-includes",
    "--ipv4",
    "--ipv6",
    "--no-atomic",
    "--no-follow-tags",
    "--no-force-if-includes",
    "--no-force-with-lease",
    "--no-progress",
    "--no-signed",
    "--no-thin",
    "--porcelain",
    "--progress",
    "--quiet",
    "--set-upstream",
    "--thin",
    "--verbose",
    "--verify",
    "--recurse-submodules=no",
];

/// A push as it is called.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct PushWords {
    pub remote: Option<String>,
    pub refspecs: Vec<String>,
    pub is_forced: bool,
    pub is_leased: bool,
    pub deletes: bool,
    pub all_branches: bool,
    pub all_tags: bool,
    pub follows_tags: bool,
    pub skips_hook: bool,
}

impl PushWords {
    /// Reads the words, `push` first. `None` for options that are not described here: they may
    /// push something else.
    pub fn parse(words: &[String]) -> Option<PushWords> {
        let (command, rest) = words.split_first()?;
        if command != "push" {
            return None;
        }
        let (mut found, mut operands, mut only_operands) =
            (PushWords::default(), Vec::new(), false);
        for word in rest {
            match word.as_str() {
                _ if only_operands => operands.push(word.clone()),
                "--" => only_operands = true,
                long if long.starts_with("--") => found.long_option(long)?,
                short if short.starts_with('-') && short.len() > 1 => {
                    for letter in short.chars().skip(1) {
                        match letter {
                            'f' => found.is_forced = true,
                            'd' => found.deletes = true,
                            'q' | 'u' | 'v' | '4' | '6' => {}
                            _ => return None,
                        }
                    }
                }
                _ => operands.push(word.clone()),
            }
        }
        let mut operands = operands.into_iter();
        found.remote = operands.next();
        found.refspecs = operands.collect();
        let names_all = found.all_branches && (!found.refspecs.is_empty() || found.deletes);
        let deletes_nothing = found.deletes && (found.refspecs.is_empty() || found.all_tags);
        (!names_all && !deletes_nothing).then_some(found)
    }

    fn long_option(&mut self, option: &str) -> Option<()> {
        match option {
            "--force" => self.is_forced = true,
            "--delete" => self.deletes = true,
            "--all" | "--branches" => self.all_branches = true,
            "--tags" => self.all_tags = true,
            "--follow-tags" => self.follows_tags = true,
            "--no-verify" => self.skips_hook = true,
            _ if option == "--force-with-lease" || option.starts_with("--force-with-lease=") => {
                self.is_leased = true;
            }
            _ if PLAIN.contains(&option) => {}
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Option<PushWords> {
        PushWords::parse(&words.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_that_are_not_described_have_no_dry_run() {
        let found = parse("push -fu origin main v1:v2").unwrap();
        assert_eq!(found.remote.as_deref(), Some("origin"));
        assert_eq!(found.refspecs, ["main", "v1:v2"]);
        assert!(found.is_forced);
        assert!(parse("push origin --delete old").unwrap().deletes);
        for words in [
            "push --mirror",
            "push --prune origin",
            "push --receive-pack=x origin",
            "push --exec x",
            "push --repo=x",
            "push -o ci.skip",
            "push --recurse-submodules=on-demand",
            "push --all origin main",
            "push --delete origin",
            "push --dele origin x",
            "pull",
        ] {
            assert_eq!(parse(words), None, "{words}");
        }
    }
}
