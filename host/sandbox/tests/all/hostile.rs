//! A plugin that misbehaves costs its own call, and says in words what it did.

use coxswain_model::{
    plan::{Failure, Plan},
    view::MemberState,
};
use coxswain_sandbox::{Break, Fault};
use pretty_assertions::assert_eq;

use crate::given::{self, chain, job};

fn perform(behaviour: &str) -> Result<Plan, Fault> {
    let result = chain("hostile", &[("behaviour", behaviour)])
        .render(&job("OpenMPI", 2, 1))
        .map_err(|fault| fault.fault);
    // Whatever happened, the next call is fine.
    assert!(chain("openmpi", &[]).render(&job("OpenMPI", 1, 1)).is_ok(), "after {behaviour}");
    result
}

fn broken(behaviour: &str) -> Break {
    match perform(behaviour) {
        Err(Fault::Broken(how)) => how,
        other => panic!("{behaviour}: {other:?}"),
    }
}

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let how = broken("loop");

    assert_eq!(how, Break::OutOfFuel { fuel: 50_060_000 });
    assert_eq!(
        how.to_string(),
        "it used up its 50060000 instructions (an endless loop, or too much work for one job)"
    );
}

#[test]
fn deep_recursion_ends_on_the_stack() {
    assert_eq!(broken("recurse"), Break::OutOfStack);
}

#[test]
fn memory_ends_at_its_limit() {
    assert_eq!(broken("grow"), Break::OutOfMemory);
    assert_eq!(broken("leap"), Break::OutOfMemory);
    assert_eq!(Break::OutOfMemory.to_string(), "it asked for more than 64 MiB of memory");
}

#[test]
fn a_panic_is_a_trap() {
    assert!(matches!(broken("panic"), Break::Trapped(_)));
}

#[test]
fn strings_that_share_bytes_count_each_time() {
    assert_eq!(broken("alias").to_string(), "its result is too large: more than 4194304 bytes in all");
}

#[test]
fn oversized_results_are_refused() {
    assert!(matches!(broken("large-file"), Break::ResultTooLarge(_)));
    assert_eq!(broken("some-edits").to_string(), "its result is too large: 2000 edits, at most 1024");
    assert_eq!(broken("many-files").to_string(), "its result is too large: 100 files, at most 64");
    assert_eq!(
        broken("many-words").to_string(),
        "its result is too large: 2000 words of a command, at most 1024"
    );
    assert_eq!(
        broken("many-violations").to_string(),
        "its result is too large: 10000 violations, at most 256"
    );
}

#[test]
fn a_million_edits_end_at_one_of_the_limits() {
    assert!(matches!(
        broken("many-edits"),
        Break::OutOfFuel { .. } | Break::OutOfMemory | Break::ResultTooLarge(_)
    ));
}

#[test]
fn texts_for_people_are_one_short_line() {
    let long = perform("long-note").unwrap();
    let noisy = perform("noisy-note").unwrap();
    let refusal = perform("noisy-refusal").unwrap_err();

    assert_eq!(long.notes[0].text.len(), 1024);
    assert_eq!(noisy.notes[0].text, "one two   [31mthree");
    assert_eq!(refusal, Fault::Refused(Failure::Unsupported("no Type: Warning ".into())));
}

#[test]
fn nothing_outlives_a_call() {
    let first = perform("fickle").unwrap();

    for _ in 0..3 {
        assert_eq!(perform("fickle").unwrap(), first);
    }
}

#[test]
fn calls_on_many_threads_do_not_disturb_each_other() {
    let job = job("OpenMPI", 8, 1);
    let alone = chain("openmpi", &[]).render(&job);

    std::thread::scope(|scope| {
        for at in 0..8 {
            let (job, alone) = (&job, &alone);
            scope.spawn(move || {
                for _ in 0..10 {
                    match at % 2 {
                        0 => assert_eq!(&chain("openmpi", &[]).render(job), alone),
                        _ => assert!(chain("hostile", &[("behaviour", "grow")]).render(job).is_err()),
                    }
                }
            });
        }
    });
}

#[test]
fn follow_is_bounded_like_render() {
    let job = job("OpenMPI", 2, 1);
    let members = given::members(&job, MemberState::Ready);

    let fault = chain("hostile", &[("behaviour", "loop")]).follow(&job, &members).unwrap_err();

    // Members are input as hosts are: three hosts and two members.
    assert_eq!(fault.fault, Fault::Broken(Break::OutOfFuel { fuel: 50_100_000 }));
}
