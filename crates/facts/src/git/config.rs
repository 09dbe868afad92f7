//! Git's configuration format. Nothing that it names is opened or run.

/// The settings of one file, in their order.
#[derive(Debug, Default)]
pub struct GitConfig {
    settings: Vec<GitSetting>,
}

#[derive(Debug)]
struct GitSetting {
    section: String,
    subsection: String,
    key: String,
    value: String,
}

impl GitConfig {
    /// Reads a file; lines that are not valid are skipped.
    pub fn parse(text: &str) -> GitConfig {
        let mut config = GitConfig::default();
        let (mut section, mut subsection) = (String::new(), String::new());
        let joined = text.replace("\\\r\n", "").replace("\\\n", "");
        for line in joined.lines() {
            let mut line = line.trim();
            if line.starts_with('[') {
                let Some((head, rest)) = section_head(line) else { continue };
                (section, subsection) = head;
                line = rest.trim();
            }
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            config.settings.push(GitSetting {
                section: section.clone(),
                subsection: subsection.clone(),
                key: key.trim().to_ascii_lowercase(),
                value: unquoted(value.trim()),
            });
        }
        config
    }

    /// All values of a key.
    pub fn values<'c>(
        &'c self,
        section: &'c str,
        subsection: &'c str,
        key: &'c str,
    ) -> impl Iterator<Item = &'c str> {
        let fits = move |one: &&GitSetting| {
            one.section == section && one.subsection == subsection && one.key == key
        };
        self.settings.iter().filter(fits).map(|one| one.value.as_str())
    }

    /// The last value of a key, which counts.
    pub fn value(&self, section: &str, subsection: &str, key: &str) -> Option<&str> {
        self.settings
            .iter()
            .rev()
            .find(|one| one.section == section && one.subsection == subsection && one.key == key)
            .map(|one| one.value.as_str())
    }

    /// The subsections of a section with their values of a key.
    pub fn with_key<'c>(
        &'c self,
        section: &'c str,
        key: &'c str,
    ) -> impl Iterator<Item = (&'c str, &'c str)> {
        let fits = move |one: &&GitSetting| one.section == section && one.key == key;
        self.settings.iter().filter(fits).map(|one| (one.subsection.as_str(), one.value.as_str()))
    }

    /// Whether other files are part of it.
    pub fn includes_files(&self) -> bool {
        self.settings.iter().any(|one| ["include", "includeif"].contains(&one.section.as_str()))
    }
}

type SectionName = (String, String);

/// `[section]`, `[section "sub"]` or `[section.sub]`, and what follows.
fn section_head(line: &str) -> Option<(SectionName, &str)> {
    let inner = line.strip_prefix('[')?;
    let Some((name, quoted)) = inner.split_once('"').filter(|(name, _)| !name.contains(']')) else {
        let (name, rest) = inner.split_once(']')?;
        let (section, subsection) = name.split_once('.').unwrap_or((name, ""));
        let names = (section.trim().to_ascii_lowercase(), subsection.trim().to_ascii_lowercase());
        return Some((names, rest));
    };
    let mut subsection = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                let rest = quoted.get(at + 1..)?.trim_start().strip_prefix(']')?;
                return Some(((name.trim().to_ascii_lowercase(), subsection), rest));
            }
            '\\' => subsection.push(letters.next()?.1),
            other => subsection.push(other),
        }
    }
    None
}

/// A value without quotes, escapes and comments.
fn unquoted(value: &str) -> String {
    let (mut out, mut is_quoted) = (String::new(), false);
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => out.extend(letters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            '#' | ';' if !is_quoted => break,
            other => out.push(other),
        }
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let config = GitConfig::parse(
            "[core]\n\tbare = false ; no\n[remote \"a \\\"b\"] url = \"x;y\" # z\n\turl=second\n\
             [Extensions]\nObjectFormat = sha256\n[url \"new:\"]\ninsteadOf = old:\n[broken\nx=1\n",
        );
        assert_eq!(config.value("core", "", "bare"), Some("false"));
        let urls: Vec<&str> = config.values("remote", "a \"b", "url").collect();
        assert_eq!(urls, ["x;y", "second"]);
        assert_eq!(config.value("extensions", "", "objectformat"), Some("sha256"));
        assert_eq!(config.with_key("url", "insteadof").next(), Some(("new:", "old:")));
        assert!(!config.includes_files());
        assert!(GitConfig::parse("[include]\npath=x").includes_files());
        assert!(GitConfig::parse("[includeIf \"gitdir:~/x\"]\npath=x").includes_files());
    }
}
