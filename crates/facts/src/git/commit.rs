//! Commits and tags, taken apart.

use super::objects::{ObjectKind, ObjectName, ObjectStore, parse_name};

/// How many parents of a commit are read.
const MAX_PARENTS: usize = 64;
/// How many tags of tags are followed.
const MAX_TAGS: usize = 4;

/// What is needed of a commit.
#[derive(Debug, Clone)]
pub struct Commit {
    pub tree: ObjectName,
    pub parents: Vec<ObjectName>,
    /// When it was committed, in seconds.
    pub time: i64,
    /// The first line of its message.
    pub subject: String,
}

impl Commit {
    /// Reads a commit.
    pub fn read(store: &mut ObjectStore, name: &ObjectName) -> Option<Commit> {
        Commit::parse(&store.read(name, ObjectKind::Commit)?)
    }

    fn parse(body: &[u8]) -> Option<Commit> {
        let text = String::from_utf8_lossy(body);
        let mut lines = text.split('\n');
        let tree = parse_name(lines.next()?.strip_prefix("tree ")?)?;
        let (mut parents, mut time) = (Vec::new(), 0);
        for line in lines.by_ref() {
            if line.is_empty() {
                break;
            }
            if let Some(name) = line.strip_prefix("parent ") {
                if parents.len() >= MAX_PARENTS {
                    return None;
                }
                parents.push(parse_name(name)?);
            } else if let Some(who) = line.strip_prefix("committer ") {
                let seconds = who.rsplit(' ').nth(1);
                time = seconds.and_then(|text| text.parse().ok()).unwrap_or_default();
            }
        }
        let subject = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
        Some(Commit { tree, parents, time, subject: subject.trim().to_owned() })
    }
}

/// The commit that a name stands for; tags are followed.
pub fn peeled(store: &mut ObjectStore, name: &ObjectName) -> Option<ObjectName> {
    let mut name = *name;
    for _ in 0..=MAX_TAGS {
        if store.read(&name, ObjectKind::Commit).is_some() {
            return Some(name);
        }
        let tag = store.read(&name, ObjectKind::Tag)?;
        let line = tag.strip_prefix(b"object ")?.get(..40)?;
        name = parse_name(std::str::from_utf8(line).ok()?)?;
    }
    None
}
