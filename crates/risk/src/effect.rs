//! What a call does to the world, apart from how dangerous that is.

use serde::Serialize;

/// One kind of effect. A call usually has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Effect {
    /// Looks at something.
    Read,
    /// Creates or changes files or local state.
    Write,
    /// Removes files or local state.
    Delete,
    /// Starts a program or code we can name.
    Exec,
    /// Sends something out over the network.
    NetOut,
    /// Brings something in over the network.
    NetIn,
    /// Runs with more rights, or changes rights.
    Privilege,
    /// Will run again later by itself.
    Persist,
    /// Makes something public or available to others.
    Publish,
    /// Starts, stops or changes a service or a process.
    Service,
    /// Speaks to a person in somebody's name.
    Send,
    /// Moves or commits money.
    Money,
    /// Reads or reveals a secret.
    Secret,
    /// Changes an agent, its tools or this firewall.
    SelfChange,
    /// Hands work to another agent or job.
    Delegate,
    /// Changes state on a remote service (cloud, database, cluster, account).
    Remote,
    /// A crisis decision action: emergency services, location, contacts, ending the talk.
    Crisis,
}

/// A set of effects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effects(u32);

impl Effects {
    /// Adds one effect.
    pub fn insert(&mut self, effect: Effect) {
        self.0 |= 1 << (effect as u8);
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: Effects) {
        self.0 |= other.0;
    }

    /// Whether the effect is in the set.
    pub fn has(self, effect: Effect) -> bool {
        self.0 & (1 << (effect as u8)) != 0
    }

    /// The set of these effects.
    pub const fn of(effects: &[Effect]) -> Effects {
        let (mut set, mut rest) = (0, effects);
        while let [first, others @ ..] = rest {
            set |= 1 << (*first as u8);
            rest = others;
        }
        Effects(set)
    }

    /// Whether any of these is in the set.
    pub const fn has_any(self, effects: &[Effect]) -> bool {
        self.meets(Effects::of(effects))
    }

    /// Whether any effect of another set is in this one.
    pub const fn meets(self, other: Effects) -> bool {
        self.0 & other.0 != 0
    }

    /// This set without the effects of another one.
    #[must_use]
    pub const fn without(self, other: Effects) -> Effects {
        Effects(self.0 & !other.0)
    }

    /// Whether there is no effect in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether nothing but looking happens.
    pub fn only_reads(self) -> bool {
        self.0 & !(1 << (Effect::Read as u8)) & !(1 << (Effect::NetIn as u8)) == 0
    }

    /// The effects in the set, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        ALL.into_iter().filter(move |&e| self.has(e))
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(iter: I) -> Self {
        let mut set = Effects::default();
        for effect in iter {
            set.insert(effect);
        }
        set
    }
}

impl Serialize for Effects {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.iter())
    }
}

const ALL: [Effect; 17] = [
    Effect::Read,
    Effect::Write,
    Effect::Delete,
    Effect::Exec,
    Effect::NetOut,
    Effect::NetIn,
    Effect::Privilege,
    Effect::Persist,
    Effect::Publish,
    Effect::Service,
    Effect::Send,
    Effect::Money,
    Effect::Secret,
    Effect::SelfChange,
    Effect::Delegate,
    Effect::Remote,
    Effect::Crisis,
];

/// Side-effect classes, from harmless to irreversible or costly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum EffectClass {
    /// Read-only.
    #[serde(rename = "read_only")]
    A,
    /// Local and reversible.
    #[serde(rename = "local_reversible")]
    B,
    /// External side effects.
    #[serde(rename = "external")]
    C,
    /// Critical, destructive or crisis-sensitive.
    #[serde(rename = "critical")]
    D,
}
