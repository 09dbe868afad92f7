//! A freeze: one person stops every call, and only a fresh proof ends that, in two stages.

use countersign_types::time::Timestamp;

/// What a freeze still stops. It ends in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FreezeStage {
    /// Calls are asked about and people decide again; grants and earlier permits are suspended.
    GrantsSuspended,
    /// Every call is refused.
    Frozen,
}

impl FreezeStage {
    /// The word in the API, in metrics and in the ledger mark.
    pub const fn label(self) -> &'static str {
        match self {
            FreezeStage::GrantsSuspended => "grants_suspended",
            FreezeStage::Frozen => "frozen",
        }
    }
}

/// A freeze in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    /// What it still stops.
    pub stage: FreezeStage,
    /// The person who froze.
    pub by: String,
    /// When.
    pub since: Timestamp,
}

impl Freeze {
    /// One line for the ledger mark.
    pub fn to_line(&self) -> String {
        format!("{} {} {}", self.stage.label(), self.since.0, self.by)
    }

    /// Parses a line of the ledger mark.
    pub fn parse(line: &str) -> Option<Freeze> {
        let mut words = line.splitn(3, ' ');
        let word = words.next()?;
        let stage = [FreezeStage::GrantsSuspended, FreezeStage::Frozen]
            .into_iter()
            .find(|stage| stage.label() == word)?;
        let since = Timestamp(words.next()?.parse().ok()?);
        let by = words.next().filter(|by| !by.is_empty())?.to_owned();
        Some(Freeze { stage, by, since })
    }

    /// The stricter of two; of equal ones the first.
    pub fn stricter(one: Option<Freeze>, other: Option<Freeze>) -> Option<Freeze> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if other.stage > one.stage { other } else { one }),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freeze_survives_its_line_and_the_stricter_one_wins() {
        let freeze = |stage| Freeze { stage, by: "ana".to_owned(), since: Timestamp(7) };
        let (all, grants) = (freeze(FreezeStage::Frozen), freeze(FreezeStage::GrantsSuspended));
        for one in [&all, &grants] {
            assert_eq!(Freeze::parse(&one.to_line()).as_ref(), Some(one));
        }
        for bad in ["", "frozen", "frozen x ana", "frozen 7", "frozen 7 ", "thawed 7 ana"] {
            assert_eq!(Freeze::parse(bad), None, "{bad}");
        }
        let stricter = Freeze::stricter(Some(grants.clone()), Some(all.clone()));
        assert_eq!(stricter, Some(all.clone()));
        assert_eq!(Freeze::stricter(Some(all.clone()), None), Some(all));
        assert_eq!(Freeze::stricter(None, Some(grants.clone())), Some(grants));
    }
}
