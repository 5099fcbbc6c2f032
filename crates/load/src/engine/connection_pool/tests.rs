use millrace_net::Nanos;

use super::*;

fn due(intended: u64) -> Due {
    Due::new(Nanos(intended), 0)
}

fn waiting(pool: &mut ConnectionPool) -> Vec<u64> {
    std::iter::from_fn(|| pool.take_waiting()).map(|due| due.intended.0).collect()
}

#[test]
fn of_idle_connections_the_last_used_is_used_first() {
    let mut pool = ConnectionPool::default();
    pool.wait(due(1));
    assert_eq!(pool.take_free(), None);
    [3, 1, 2].into_iter().for_each(|connection| pool.add_free(connection, true));
    assert_eq!(pool.take_free(), Some(2));
    pool.add_free(2, true);
    assert_eq!([(); 4].map(|()| pool.take_free()), [Some(2), Some(1), Some(3), None]);
}

#[test]
fn connections_with_room_are_used_in_turn_after_the_idle_ones() {
    let mut pool = ConnectionPool::default();
    pool.wait(due(1));
    [(3, false), (1, true), (2, false), (4, false)]
        .into_iter()
        .for_each(|(connection, idle)| pool.add_free(connection, idle));
    // Its last request has ended.
    pool.add_free(2, true);
    assert_eq!([(); 5].map(|()| pool.take_free()), [Some(2), Some(1), Some(3), Some(4), None]);
}

#[test]
fn a_free_connection_is_listed_once() {
    let mut pool = ConnectionPool::default();
    pool.wait(due(1));
    [3, 1, 3, 3, 1].into_iter().for_each(|connection| pool.add_free(connection, true));
    assert_eq!([(); 3].map(|()| pool.take_free()), [Some(1), Some(3), None]);
    pool.add_free(3, true);
    assert_eq!([(); 2].map(|()| pool.take_free()), [Some(3), None]);
}

#[test]
fn a_free_connection_remains_listed_while_nobody_waits() {
    let mut pool = ConnectionPool::default();
    pool.add_free(4, true);
    assert_eq!(pool.take_free(), None);
    pool.wait(due(1));
    assert_eq!(pool.take_free(), Some(4));
}

#[test]
fn arrivals_wait_in_order_and_those_put_back_come_first() {
    let mut pool = ConnectionPool::default();
    [30, 40].into_iter().for_each(|intended| pool.wait(due(intended)));
    pool.wait_first([due(10), due(20)].into_iter());
    assert_eq!(pool.waiting(), 4);
    assert_eq!(waiting(&mut pool), [10, 20, 30, 40]);
    assert_eq!(pool.waiting(), 0);
}

#[test]
fn no_more_connections_are_opened_than_arrivals_wait() {
    let mut pool = ConnectionPool::new(vec![0, 1, 2, 3], 0);
    assert_eq!(pool.take_closed(), None, "nobody waits");
    pool.wait(due(1));
    pool.wait(due(2));
    assert!(pool.take_closed().is_some());
    assert!(pool.take_closed().is_some());
    assert_eq!(pool.take_closed(), None, "two are on their way");
    pool.opened();
    assert!(pool.take_closed().is_some(), "two wait, one is on its way");
    pool.opened();
    pool.opened();
    pool.take_waiting();
    assert!(pool.take_closed().is_some());
    pool.opened();
    assert_eq!(pool.take_closed(), None, "none is left");
    pool.add_closed(7);
    assert_eq!(pool.take_closed(), Some(7));
}

#[test]
fn connections_of_the_set_up_are_on_their_way_too() {
    let mut pool = ConnectionPool::new(vec![5], 5);
    pool.set_up();
    pool.wait(due(1));
    assert_eq!(pool.take_closed(), None);
    pool.opened();
    assert_eq!(pool.take_closed(), Some(5));
}
