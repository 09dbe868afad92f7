//! The impact preview: what a call would touch, typed, worst first.

use serde::Serialize;

/// How many entries of a kind are listed; the rest is counted.
pub const LISTED: usize = 16;

/// How near the effect comes to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HumanImpact {
    /// Nobody notices.
    None,
    /// Somebody's systems, accounts or money.
    Administrative,
    /// A person hears or feels it.
    Personal,
    /// Somebody's safety.
    Safety,
}

/// A list that keeps its first entries and counts all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CountedList {
    /// The first few.
    pub listed: Vec<String>,
    /// How many there are in all.
    pub count: u32,
}

impl CountedList {
    /// Adds an entry unless it is listed already.
    pub fn add(&mut self, entry: &str) {
        if self.listed.iter().any(|e| e == entry) {
            return;
        }
        self.count = self.count.saturating_add(1);
        if self.listed.len() < LISTED {
            self.listed.push(entry.to_owned());
        }
    }

    /// Adds the entries of another list.
    pub(crate) fn absorb(&mut self, other: CountedList) {
        if self.is_empty() {
            *self = other;
            return;
        }
        other.listed.iter().for_each(|entry| self.add(entry));
        let more = other.count.saturating_sub(u32::try_from(other.listed.len()).unwrap_or(0));
        self.count = self.count.saturating_add(more);
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// An amount of money as the caller wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Money {
    /// The exact digits of the argument.
    pub amount: String,
    /// Currency if one was named.
    pub currency: Option<String>,
}

/// What would be touched. Fields are in the order in which people care.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Impact {
    /// Money moved or committed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub money: Vec<Money>,
    /// People or addresses that would hear something.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub recipients: CountedList,
    /// Files or folders deleted.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub deletes: CountedList,
    /// Files or folders written.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub writes: CountedList,
    /// Database tables, rows or statements changed.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub rows: CountedList,
    /// Services, processes, clusters, cloud resources changed.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub services: CountedList,
    /// Secrets read.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub secrets: CountedList,
    /// Hosts talked to.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub hosts: CountedList,
    /// Programs started.
    #[serde(skip_serializing_if = "CountedList::is_empty")]
    pub programs: CountedList,
    /// Items in a bulk operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
}

impl Impact {
    /// Adds everything another reader saw.
    pub(crate) fn absorb(&mut self, other: Impact) {
        for money in other.money {
            if !self.money.contains(&money) {
                self.money.push(money);
            }
        }
        self.recipients.absorb(other.recipients);
        self.deletes.absorb(other.deletes);
        self.writes.absorb(other.writes);
        self.rows.absorb(other.rows);
        self.services.absorb(other.services);
        self.secrets.absorb(other.secrets);
        self.hosts.absorb(other.hosts);
        self.programs.absorb(other.programs);
        self.items = self.items.max(other.items);
    }

    /// The lists, by the word that every surface has for them.
    pub const fn lists(&self) -> [(&'static str, &CountedList); 8] {
        [
            ("tells", &self.recipients),
            ("deletes", &self.deletes),
            ("writes", &self.writes),
            ("rows", &self.rows),
            ("services", &self.services),
            ("secrets", &self.secrets),
            ("hosts", &self.hosts),
            ("runs", &self.programs),
        ]
    }
}
