//! When a driven reactor has its turns, and when its caller's timer comes.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use millrace_stack::batch::{Batch, EVENT_LENGTH};
use millrace_stack::driver::{Driver, Step, Wake};
use millrace_stack::{Reactor, Settings};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const UPLOAD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct Server {
    reactor: Reactor,
    id: usize,
    driver: Driver,
    memory: (Vec<i32>, Vec<u8>),
}

impl Server {
    /// A batch has room for so many events.
    fn new(events: usize) -> Self {
        let mut reactor = Reactor::new().unwrap();
        let keep_alive = Some(Duration::from_secs(1));
        let id = reactor.add_server(Settings { keep_alive, ..Settings::default() });
        let memory = (vec![0; EVENT_LENGTH * events], vec![0; 1024 * 1024]);
        Self { reactor, id, driver: Driver::default(), memory }
    }

    fn connect(&mut self, bytes: &[u8]) -> (UnixStream, usize) {
        let (mut client, other) = UnixStream::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        client.write_all(bytes).unwrap();
        let connection = self.reactor.adopt(self.id, other.into()).unwrap();
        (client, connection)
    }

    fn next(&mut self, wake: &mut Wake) -> Step {
        let mut batch = Batch::new(&mut self.memory.0, &mut self.memory.1);
        self.driver.next(wake, &mut self.reactor, &mut batch).unwrap()
    }

    /// A wake with its steps.
    fn wake(&mut self) -> Vec<Step> {
        let mut wake = self.driver.wake();
        let mut steps = vec![self.next(&mut wake)];
        while !matches!(steps.last(), Some(Step::Wait(_))) {
            steps.push(self.next(&mut wake));
        }
        steps
    }
}

#[test]
fn each_command_outside_of_a_wake_tells_of_its_timer() {
    let mut server = Server::new(64);
    let (_client, answered) = server.connect(REQUEST);
    let (_other, closed) = server.connect(UPLOAD);
    assert_eq!(server.wake(), [Step::Take(2), Step::Wait(None)]);
    assert_eq!(server.driver.after_command(&mut server.reactor), None);
    server.reactor.send(answered, OK, 1, false).unwrap();
    let timer = server.driver.after_command(&mut server.reactor).flatten();
    assert!(timer.is_some_and(|ms| (900..=1001).contains(&ms)), "{timer:?}");
    // That of a connection that lingers, which its client does not end.
    server.reactor.close(answered, false);
    server.reactor.end(closed);
    server.reactor.close(closed, false);
    assert!(server.driver.after_command(&mut server.reactor).flatten().is_some());
    assert_eq!(server.driver.after_command(&mut server.reactor), None);
}

#[test]
fn the_timer_of_a_command_within_a_wake_is_set_behind_it() {
    let mut server = Server::new(64);
    let (_client, id) = server.connect(REQUEST);
    let mut wake = server.driver.wake();
    assert_eq!(server.next(&mut wake), Step::Take(1));
    server.reactor.send(id, OK, 1, false).unwrap();
    assert_eq!(server.driver.after_command(&mut server.reactor), None);
    let Step::Wait(timer) = server.next(&mut wake) else { panic!("nothing has come") };
    assert!(timer.is_some_and(|ms| (900..=1001).contains(&ms)), "{timer:?}");
}

#[test]
fn after_a_few_batches_the_event_loop_has_its_turn() {
    let mut server = Server::new(24);
    let clients: Vec<_> = (0..200).map(|_| server.connect(REQUEST)).collect();
    let steps = server.wake();
    assert_eq!(steps.len(), 5, "{steps:?}");
    let mut told = 0;
    for _ in 0..clients.len() {
        let counts = |step: &Step| if let Step::Take(count) = step { *count } else { 0 };
        told += server.wake().iter().map(counts).sum::<usize>();
    }
    let first = steps.iter().map(|step| if let Step::Take(count) = step { *count } else { 0 });
    assert_eq!(told + first.sum::<usize>(), clients.len());
}

#[test]
fn a_wake_within_a_take_begins_with_the_rest_of_that() {
    let mut server = Server::new(64);
    let _first = server.connect(REQUEST);
    let mut outer = server.driver.wake();
    assert_eq!(server.next(&mut outer), Step::Take(1));
    let _second = server.connect(REQUEST);
    assert_eq!(server.driver.on_nested_wait(&mut server.reactor), None);
    assert_eq!(server.wake(), [Step::TakeRest, Step::Take(1), Step::Wait(None)]);
    assert_eq!(server.next(&mut outer), Step::Wait(None));
    assert_eq!(server.wake(), [Step::Wait(None)]);
}
