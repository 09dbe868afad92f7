//! How sure we are who answers, and how sure a call needs us to be.
//!
//! A no is taken from anybody who is known. A yes is worth what its way in is worth: a chat account
//! can be stolen with a phone, so it never approves what cannot be taken back.

use std::fmt;

use serde::Serialize;

use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

/// How sure we are that it was this person. Later ones are worth more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Somebody who was reached: whoever holds the phone, or reads the same topic.
    Reached,
    /// An account elsewhere that the person linked to their name.
    Linked,
    /// Logged in here with their passphrase.
    Login,
    /// Signed this very call with their passkey.
    Passkey,
}

impl Assurance {
    /// From the least to the most.
    pub const ALL: [Assurance; 4] =
        [Assurance::Reached, Assurance::Linked, Assurance::Login, Assurance::Passkey];

    /// The word on every surface.
    pub const fn label(self) -> &'static str {
        match self {
            Assurance::Reached => "reached",
            Assurance::Linked => "linked",
            Assurance::Login => "login",
            Assurance::Passkey => "passkey",
        }
    }

    /// Reads the word; anything else is none of them.
    pub fn parse(text: &str) -> Option<Assurance> {
        Assurance::ALL.into_iter().find(|assurance| assurance.label() == text)
    }
}

/// What an approval needs, by tier. An operator may ask for more than the floor, never for less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// MEDIUM, and LOW where it asks.
    pub medium: Assurance,
    /// HIGH.
    pub high: Assurance,
    /// CRITICAL.
    pub critical: Assurance,
}

impl Default for Needs {
    fn default() -> Self {
        Needs { medium: Assurance::Linked, high: Assurance::Linked, critical: Assurance::Login }
    }
}

impl Needs {
    /// What no setting goes below.
    const fn floor(tier: Tier, crisis: bool) -> Assurance {
        match tier {
            Tier::Critical => Assurance::Login,
            _ if crisis => Assurance::Login,
            Tier::High => Assurance::Linked,
            Tier::Safe | Tier::Low | Tier::Medium => Assurance::Reached,
        }
    }

    /// What an approval of this needs, from somebody who has a passkey or has none.
    pub fn of(&self, tier: Tier, crisis: bool, has_passkey: bool) -> Assurance {
        let set = match tier {
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        let needed = set.max(Needs::floor(tier, crisis));
        // Who has one signs with it, or a stolen session would be as good as they are.
        if tier == Tier::Critical && has_passkey { Assurance::Passkey } else { needed }
    }
}

/// What somebody brings along who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// How sure we are that it is them.
    pub assurance: Assurance,
    /// The gravest tier that the way they came may approve.
    pub approves: Tier,
    /// Whether they have a passkey.
    pub has_passkey: bool,
    /// How long they have been able to answer this way.
    pub tenure: Tenure,
}

/// How long a person, or the account or passkey they answer with, has had the right to answer.
/// Whoever steals an administrator's session must not create the people who then approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenure {
    /// When the right was given: requests made before this moment are for other people.
    pub since: Timestamp,
    /// When the waiting period ends; nothing is approved earlier.
    pub active_from: Timestamp,
}

impl Tenure {
    /// A right that was given at this moment and had no waiting period.
    pub const fn from(since: Timestamp) -> Tenure {
        Tenure { since, active_from: since }
    }

    /// The shorter of two: a person is no older than the account they answer through.
    #[must_use]
    pub fn and(self, other: Tenure) -> Tenure {
        Tenure {
            since: self.since.max(other.since),
            active_from: self.active_from.max(other.active_from),
        }
    }
}

impl Standing {
    /// Somebody who logged in with a passphrase.
    pub const fn login(has_passkey: bool, tenure: Tenure) -> Standing {
        Standing { assurance: Assurance::Login, approves: Tier::Critical, has_passkey, tenure }
    }
}

/// Why an approval counts for nothing. The request waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLittle {
    /// It needs more assurance than this.
    Needs(Assurance),
    /// This way in approves nothing graver than this.
    WayIn(Tier),
}

/// Whether somebody who stands so may approve this.
pub fn may_approve(
    needs: &Needs,
    standing: Standing,
    tier: Tier,
    crisis: bool,
) -> Result<(), TooLittle> {
    let needed = needs.of(tier, crisis, standing.has_passkey);
    if standing.assurance < needed {
        Err(TooLittle::Needs(needed))
    } else if tier > standing.approves {
        Err(TooLittle::WayIn(standing.approves))
    } else {
        Ok(())
    }
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooLittle::Needs(Assurance::Passkey) => {
                f.write_str("approving this needs your passkey: open it in the web inbox")
            }
            TooLittle::Needs(Assurance::Login) => {
                f.write_str("approving this needs your login: open it in the inbox")
            }
            TooLittle::Needs(Assurance::Linked | Assurance::Reached) => {
                f.write_str("approving this needs an account that is linked to a person")
            }
            TooLittle::WayIn(tier) => {
                write!(f, "this channel approves at most {}: open it in the inbox", tier.label())
            }
        }
    }
}

impl std::error::Error for TooLittle {}

#[cfg(test)]
mod tests {
    use super::*;

    const TENURE: Tenure = Tenure::from(Timestamp(0));
    const TIERS: [Tier; 5] = [Tier::Safe, Tier::Low, Tier::Medium, Tier::High, Tier::Critical];

    /// Every tier, crisis or not, way in, assurance, passkey or none, and every setting.
    #[test]
    fn nothing_is_approved_below_the_table() {
        let mut approved = 0;
        for tier in TIERS {
            for crisis in [false, true] {
                for approves in TIERS {
                    for assurance in Assurance::ALL {
                        for has_passkey in [false, true] {
                            for setting in Assurance::ALL {
                                let needs =
                                    Needs { medium: setting, high: setting, critical: setting };
                                let tenure = TENURE;
                                let standing =
                                    Standing { assurance, approves, has_passkey, tenure };
                                let may = may_approve(&needs, standing, tier, crisis).is_ok();
                                approved += u32::from(may);
                                if !may {
                                    continue;
                                }
                                assert!(assurance >= setting && tier <= approves);
                                assert!(tier < Tier::High || assurance >= Assurance::Linked);
                                let grave = tier == Tier::Critical || crisis;
                                assert!(!grave || assurance >= Assurance::Login);
                                let signs = tier == Tier::Critical && has_passkey;
                                assert!(!signs || assurance == Assurance::Passkey);
                            }
                        }
                    }
                }
            }
        }
        assert!(approved > 200, "the table lets nothing through: {approved}");
    }

    #[test]
    fn a_login_approves_everything_until_there_is_a_passkey() {
        let needs = Needs::default();
        for tier in TIERS {
            assert_eq!(may_approve(&needs, Standing::login(false, TENURE), tier, true), Ok(()));
        }
        let signs = may_approve(&needs, Standing::login(true, TENURE), Tier::Critical, false);
        assert_eq!(signs, Err(TooLittle::Needs(Assurance::Passkey)));
        assert_eq!(may_approve(&needs, Standing::login(true, TENURE), Tier::High, false), Ok(()));
    }

    #[test]
    fn words_are_read_back() {
        for assurance in Assurance::ALL {
            assert_eq!(Assurance::parse(assurance.label()), Some(assurance));
        }
        assert_eq!(Assurance::parse("Login"), None);
    }
}
