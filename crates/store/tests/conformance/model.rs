//! Random events on a few requests, compared with the state machine in memory.

use countersign_store::{Store, StoreError};
use countersign_types::time::Moment;
use countersign_workflow::request::{Choice, Event, Request, Requester};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::setup::*;

const REQUESTS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Answer(usize, u8, bool),
    Cancel(usize, bool),
    Time(usize),
    Wait(i64),
    Settle(bool),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..REQUESTS, 0..4_u8, any::<bool>()).prop_map(|(r, p, c)| Step::Answer(r, p, c)),
        1 => (0..REQUESTS, any::<bool>()).prop_map(|(r, own)| Step::Cancel(r, own)),
        3 => (0..REQUESTS).prop_map(Step::Time),
        3 => (0..90_000_i64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Settle),
        1 => Just(Step::Reopen),
    ]
}

async fn live<P: Fixture>(steps: &[Step]) {
    let fixture = P::new();
    let mut store = fixture.open();
    let mut model: Vec<Request> = Vec::new();
    for approve in 1..=3_u8 {
        model.push(submit(&store, asked(approve)).await.request);
    }
    let mut reliable = true;
    for step in steps {
        let (at, event) = match step {
            Step::Answer(at, person, yes) => {
                let choice = if *yes { Choice::Approve } else { Choice::Deny };
                (*at, says(&format!("p{person}"), choice))
            }
            Step::Cancel(at, own) => {
                let name = if *own { "coder" } else { "other" };
                (*at, Event::Cancel { by: Requester::Agent(name.to_owned()) })
            }
            Step::Time(at) => (*at, Event::Time),
            Step::Wait(millis) => {
                fixture.clock().forward(*millis);
                continue;
            }
            Step::Settle(now) => {
                reliable = *now;
                fixture.clock().settle(reliable);
                continue;
            }
            Step::Reopen => {
                drop(store);
                store = fixture.open();
                continue;
            }
        };
        let now = Moment { at: fixture.clock().at(), reliable };
        let wanted = model[at].apply(event.clone(), now).map_err(StoreError::Refused);
        let found = store.apply(model[at].id, event, context()).await.map(|applied| applied.change);
        assert_eq!(found, wanted);
        let kept = store.request(model[at].id).await.unwrap().unwrap().request;
        assert_eq!(kept, model[at]);
    }
    let waiting = model.iter().filter(|request| !request.state.has_ended()).count();
    assert_eq!(store.pending().await.unwrap().len(), waiting);
    verified(&store).await;
}

pub async fn random_events_match_the_state_machine<P: Fixture>() {
    let handle = tokio::runtime::Handle::current();
    let checked = tokio::task::spawn_blocking(move || {
        let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
        let lives = proptest::collection::vec(step(), 1..40);
        TestRunner::new(config).run(&lives, |steps| {
            handle.block_on(live::<P>(&steps));
            Ok(())
        })
    });
    checked.await.unwrap().unwrap();
}
