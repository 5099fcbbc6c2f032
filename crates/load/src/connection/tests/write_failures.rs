//! What was sent when a write fails.

use proptest::prelude::*;

use super::*;

#[test]
fn a_request_whose_write_fails_at_once_was_not_sent_and_remains_due() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Err(io::ErrorKind::BrokenPipe.into())]);
    let error = scene.send(&[GET, HEAD], b"request", 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(scene.put_back(), 2);
    assert_eq!(scene.places(), (0, 0, 2));
    let counts = scene.tally().counts;
    assert_eq!((counts.sent, counts.bytes_sent), (0, 0));
}

#[test]
fn a_request_whose_write_fails_later_was_sent() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(3), Err(io::ErrorKind::BrokenPipe.into())]);
    let error = scene.send(&[GET], b"request", 0).unwrap_err();
    assert_eq!((error.kind(), scene.places()), (io::ErrorKind::BrokenPipe, (1, 0, 0)));
    assert_eq!(scene.lose_all(7, Loss::Transport(ErrorKind::Reset)), 1);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.transport_errors), (1, 1));
    assert_eq!(tally.counts.bytes_sent, 3);
    assert!(tally.adds_up());
}

#[test]
fn requests_of_which_nothing_has_gone_out_are_due_again_in_order() {
    let mut scene = Scene::new();
    scene.script().writes = VecDeque::from([Ok(2), Err(io::ErrorKind::BrokenPipe.into())]);
    scene.send(&[GET, HEAD, GET], b"112233", 1).unwrap_err();
    scene.send(&[HEAD], b"44", 2).unwrap();
    scene.connection.due.push_back(Due::new(Nanos(3), GET));
    assert_eq!(scene.places(), (1, 3, 1));
    assert_eq!(scene.lose_all(5, Loss::Transport(ErrorKind::Reset)), 1);
    assert_eq!(scene.put_back(), 3);
    let due: Vec<_> =
        scene.connection.due.iter().map(|due| (due.intended.0, due.request)).collect();
    assert_eq!(due, [(1, HEAD), (1, GET), (2, HEAD), (3, GET)]);
    assert_eq!(scene.recorder.under_way(), 0);
    let tally = scene.tally();
    assert_eq!((tally.counts.sent, tally.counts.bytes_sent), (1, 2));
    assert!(tally.adds_up());
}

proptest! {
    /// Requests of these lengths are sent some at a time; the transport takes so many bytes at a time,
    /// and fails in the end.
    #[test]
    fn the_requests_that_were_sent_are_those_that_have_bytes_outside(
        batches in prop::collection::vec(prop::collection::vec(1..9usize, 1..5), 1..6),
        writes in prop::collection::vec(0..12usize, 0..24),
    ) {
        let mut scene = Scene::new();
        let writes = writes.into_iter().map(|count| if count == 0 { blocked() } else { Ok(count) });
        scene.script().writes = writes.collect();
        let broken = std::iter::repeat_with(|| Err(io::ErrorKind::BrokenPipe.into()));
        scene.script().writes.extend(broken.take(50));
        let mut starts = Vec::new();
        let mut end = 0;
        for lengths in &batches {
            let before = end;
            for length in lengths {
                starts.push(end);
                end += length;
            }
            let (count, bytes) = (lengths.len(), vec![b'x'; end - before]);
            let local: Vec<_> =
                starts[starts.len() - count..].iter().map(|start| start - before).collect();
            if scene.send_batch(&vec![GET; count], &bytes, &local, 0).is_err()
                || scene.flush_at(0).is_err()
            {
                break;
            }
        }
        let total = starts.len();
        let outside = scene.script().written.len();
        let sent = starts.iter().filter(|start| **start < outside).count();
        prop_assert_eq!(scene.lose_all(1, Loss::Timeout), sent);
        scene.put_back();
        prop_assert_eq!(scene.places(), (0, 0, total - sent));
        let tally = scene.tally();
        prop_assert_eq!((tally.counts.sent, tally.counts.bytes_sent), (sent as u64, outside as u64));
        prop_assert!(tally.adds_up());
    }
}
