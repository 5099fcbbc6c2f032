//! The stack's own thread and the standby thread, in every order of their steps that the memory model allows.

#![forbid(unsafe_code)]

#[cfg(test)]
#[path = "../../crates/stack/src/standby/handover.rs"]
mod handover;

#[cfg(test)]
mod tests {
    use std::io;

    use loom::model;
    use loom::sync::Arc;
    use loom::thread;

    use crate::handover::Handover;

    #[derive(Debug, Default)]
    struct Value {
        /// What each of them has done.
        own: u32,
        beside: u32,
        /// What the own thread's descriptor would say.
        readable: bool,
    }

    type Shared = Arc<Handover<Value>>;

    fn shared() -> Shared {
        let shared = Handover::new(Value::default());
        shared.watch(true);
        Arc::new(shared)
    }

    /// Turns of a standby thread, until the own thread is back since `turns`; at most so many.
    fn stand_in(shared: &Shared, turns: u64, most: u32) {
        for _ in 0..most {
            if shared.is_back(turns) {
                return;
            }
            let mut value = shared.beside();
            value.beside += 1;
            let has_come = value.own > 0;
            // The own thread may come while the standby thread has the value.
            let is_back = shared.is_back(turns);
            assert!(!has_come || is_back, "the standby thread goes on beside the own thread");
        }
    }

    #[test]
    fn only_one_has_the_value_and_the_standby_thread_leaves_it_to_the_own_thread() {
        model(|| {
            let shared = shared();
            let turns = shared.turns();
            let beside = Arc::clone(&shared);
            let standby = thread::spawn(move || stand_in(&beside, turns, 2));
            for _ in 0..2 {
                shared.begin_turn();
                shared.own().own += 1;
            }
            standby.join().unwrap();
            assert_eq!(shared.own().own, 2);
            assert!(shared.own().beside <= 2);
            assert!(!shared.is_back(shared.turns()), "nobody waits any more");
        });
    }

    #[test]
    fn a_standby_thread_that_looks_in_holds_nobody_up() {
        model(|| {
            let shared = shared();
            let beside = Arc::clone(&shared);
            let standby = thread::spawn(move || {
                let Some(mut value) = beside.try_beside() else { return false };
                value.beside += 1;
                true
            });
            shared.own().own += 1;
            let has_looked = standby.join().unwrap();
            let value = shared.own();
            assert_eq!((value.own, value.beside), (1, u32::from(has_looked)));
        });
    }

    #[test]
    fn who_is_woken_by_a_failure_hears_of_it_once() {
        model(|| {
            let shared = shared();
            let beside = Arc::clone(&shared);
            let standby = thread::spawn(move || {
                beside.fail(io::Error::other("refused"));
                beside.beside().readable = true;
            });
            let before = shared.take_failure();
            while !shared.own().readable {
                thread::yield_now();
            }
            assert!(!shared.is_watched());
            let after = shared.take_failure();
            let told = before.into_iter().chain(after).map(|error| error.to_string());
            assert_eq!(told.collect::<Vec<_>>(), ["refused"]);
            assert!(shared.take_failure().is_none());
            standby.join().unwrap();
        });
    }

    #[test]
    fn a_standby_thread_that_waits_ends_when_it_is_to() {
        model(|| {
            let shared = shared();
            let beside = Arc::clone(&shared);
            let standby = thread::spawn(move || {
                while beside.is_watched() {
                    thread::park();
                    if let Some(mut value) = beside.try_beside() {
                        value.beside += 1;
                    }
                }
            });
            shared.begin_turn();
            shared.own().own += 1;
            shared.watch(false);
            standby.thread().unpark();
            standby.join().unwrap();
            assert_eq!(shared.own().own, 1);
        });
    }
}
