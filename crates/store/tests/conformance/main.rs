//! What every backend of the store must do; each test runs on each backend that is listed here.

#[cfg(test)]
mod durability;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod model;
#[cfg(test)]
mod races;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod setup;

/// Runs every named test on a backend.
macro_rules! conformance {
    ($place:ty: $($module:ident::$test:ident,)*) => {
        $(#[test]
        fn $test() {
            setup::run(crate::$module::$test::<$place>());
        })*
    };
}

/// On SQLite.
#[cfg(test)]
mod sqlite {
    use super::*;

    conformance! {
        setup::SqliteFixture:
        requests::a_request_is_kept_with_entry_and_announcement,
        requests::the_same_key_finds_the_same_request,
        requests::nobody_brings_an_answer_along,
        requests::nothing_comes_of_a_drill,
        requests::a_message_that_did_not_arrive_is_taken_up_again,
        requests::an_edited_approval_keeps_its_arguments,
        requests::what_may_not_stay_goes_with_the_end,
        requests::people_find_requests_page_by_page,
        requests::a_search_says_where_it_stopped,
        requests::earlier_calls_are_counted_by_what_became_of_them,
        requests::a_permit_is_used_once_in_time_by_its_agent_for_its_call,
        requests::the_first_word_about_an_outcome_counts,
        requests::a_wait_ends_with_the_request_and_leaves_nothing,
        requests::everything_is_there_after_opening_again,
        races::one_decision_whatever_races,
        races::a_counted_grant_covers_as_often_as_it_says,
        races::a_permit_is_used_once_whatever_races,
        races::one_key_makes_one_request_whatever_races,
        settings::grants_live_until_they_are_over,
        settings::a_crisis_only_gets_graver_until_a_person_lifts_it,
        settings::people_agents_and_logins,
        settings::an_account_is_one_persons,
        settings::a_passkey_keeps_its_key_and_its_end,
        settings::who_is_revoked_has_no_way_in,
        settings::announcements_are_tried_until_done,
        ledger::the_ledger_verifies_and_its_proofs_hold,
        ledger::time_never_goes_back_and_an_unsettled_clock_approves_nothing,
        ledger::only_a_newer_checkpoint_is_kept,
        ledger::passes_ride_and_a_clean_stop_leaves_no_gap,
        ledger::a_crash_leaves_a_stated_gap,
        ledger::an_entry_that_cannot_be_written_does_not_pass,
        model::any_life_of_requests_is_that_of_the_model,
    }
}
