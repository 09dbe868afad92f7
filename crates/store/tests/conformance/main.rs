//! The contract of a store: each test runs on each backend that is listed here.

#[cfg(test)]
mod approved_parts;
#[cfg(test)]
mod command_grants;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod grant_budgets;
#[cfg(test)]
mod hidden_entries;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod model;
#[cfg(test)]
mod people;
#[cfg(test)]
mod proposed_edits;
#[cfg(test)]
mod races;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod reviews;
#[cfg(test)]
mod session_answers;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod tampered_credentials;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tool_labels;

/// Runs every named test on a backend.
macro_rules! conformance {
    ($fixture:ty: $($module:ident::$test:ident,)*) => {
        $(#[test]
        fn $test() {
            setup::run(crate::$module::$test::<$fixture>());
        })*
    };
}

/// On SQLite.
#[cfg(test)]
mod sqlite {
    use super::*;

    conformance! {
        setup::SqliteFixture:
        requests::a_request_is_stored_with_entry_and_announcement,
        requests::the_same_key_finds_the_same_request,
        requests::a_new_request_cannot_bring_a_decision,
        requests::a_drill_has_no_permit_and_no_outcome,
        requests::an_undelivered_message_is_announced_again,
        requests::an_edited_approval_keeps_its_arguments,
        requests::the_card_is_replaced_when_the_request_ends,
        requests::people_find_requests_page_by_page,
        requests::a_truncated_search_can_be_continued,
        requests::similar_calls_are_counted_by_decision,
        requests::a_permit_is_redeemed_once_in_time_by_its_agent_for_its_call,
        requests::approvals_are_unused_until_they_are_redeemed_or_expire,
        requests::only_the_first_outcome_counts,
        requests::a_wait_ends_with_the_request_and_removes_its_waiter,
        requests::everything_is_there_after_reopening,
        proposed_edits::a_proposed_edit_is_approved_by_two_people_across_a_restart,
        proposed_edits::another_edit_replaces_a_proposed_one_and_its_votes,
        proposed_edits::a_denial_ends_a_proposed_edit_and_keeps_it,
        proposed_edits::concurrent_votes_are_all_counted,
        races::concurrent_answers_make_one_decision,
        races::a_counted_grant_covers_exactly_its_uses,
        races::concurrent_redemptions_use_a_permit_once,
        races::concurrent_submissions_with_one_key_make_one_request,
        approved_parts::an_approved_part_is_a_grant_of_its_own_for_one_call,
        approved_parts::a_part_of_another_request_agent_or_person_is_refused,
        approved_parts::only_a_part_that_was_approved_once_covers_critical,
        approved_parts::a_denial_ends_approved_parts_that_it_contradicts,
        command_grants::a_command_grant_is_stored_with_its_last_use,
        command_grants::a_grant_with_conditions_is_stored_and_used,
        grant_budgets::concurrent_uses_never_exceed_a_money_budget,
        grant_budgets::a_use_is_charged_exactly_once,
        grant_budgets::distinct_recipients_are_counted,
        command_grants::a_rate_limit_holds_in_every_hour,
        settings::grants_are_active_until_expired_or_revoked,
        settings::a_crisis_level_only_rises_until_a_person_lifts_it,
        settings::a_takeover_is_stored_until_the_crisis_is_lifted,
        settings::people_agents_and_logins,
        settings::an_account_belongs_to_one_person,
        settings::a_passkey_keeps_its_key_and_its_end,
        settings::revoking_a_person_ends_all_credentials,
        settings::announcements_are_retried_until_done,
        session_answers::an_approval_for_the_session_covers_its_session_until_revoked,
        session_answers::several_people_approve_for_the_session_only_together,
        session_answers::a_call_that_asks_about_nothing_known_is_approved_once,
        session_answers::a_denial_ends_the_approvals_that_it_contradicts,
        session_answers::an_approval_for_the_repository_covers_its_repository_only,
        session_answers::an_approval_for_the_session_expires_and_is_bounded,
        session_answers::session_memories_survive_and_are_forgotten_when_idle,
        reviews::a_review_is_stored_with_its_request,
        reviews::only_low_calls_that_the_rules_approved_can_be_reviewed,
        reviews::a_review_ends_once_and_every_step_is_recorded,
        reviews::silence_is_never_recorded_as_a_persons_answer,
        tool_labels::labels_survive_and_servers_without_labels_are_bounded,
        ledger::the_ledger_verifies_and_its_proofs_hold,
        ledger::time_never_goes_back_and_an_unsettled_clock_approves_nothing,
        ledger::a_rebased_clock_takes_the_rights_of_the_other_time_away,
        ledger::only_a_newer_checkpoint_is_stored,
        ledger::a_clean_stop_writes_all_passes,
        ledger::the_newest_entries_about_what_is_in_force_are_found,
        ledger::a_crash_leaves_a_recorded_gap,
        ledger::an_entry_that_cannot_be_written_does_not_pass,
        model::random_events_match_the_state_machine,
    }
}
