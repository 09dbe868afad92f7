//! The times of people, agents and credentials after the clock was set back.

use countersign_types::time::Timestamp;

use crate::people::CredentialRows;

/// The clock is set back from one time to an earlier one.
pub(super) struct ClockShift {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl ClockShift {
    /// A time that was still to come is as far ahead as before; every other one is not after `to`.
    fn time(&self, at: &mut Timestamp) {
        let ahead = at.0.saturating_sub(self.from.0).max(0);
        *at = if ahead > 0 { Timestamp(self.to.0.saturating_add(ahead)) } else { self.to.min(*at) };
    }

    /// Changes the rows as the tables are changed.
    pub fn apply(&self, rows: &mut CredentialRows) {
        for row in &mut rows.people {
            self.time(&mut row.added);
            self.time(&mut row.role_since);
            self.time(&mut row.active_from);
        }
        for row in &mut rows.agents {
            self.time(&mut row.added);
            row.expires.iter_mut().for_each(|at| self.time(at));
        }
        for row in &mut rows.accounts {
            self.time(&mut row.linked);
            self.time(&mut row.active_from);
        }
        for row in &mut rows.passkeys {
            self.time(&mut row.added);
            self.time(&mut row.active_from);
        }
    }
}
