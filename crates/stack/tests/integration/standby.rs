//! What goes on while the reactor's own thread does not come.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic};
use millrace_stack::batch::{Batch, EVENT_LENGTH, Kind};
use millrace_stack::cache::{self, Mode};
use millrace_stack::{Reactor, ReactorHandle, Settings, StandbyThread};

/// Far more than it takes.
const LIMIT: Duration = Duration::from_secs(10);
/// Half of the time for which the own thread has to be away.
const PUNCTUAL: Duration = Duration::from_millis(2);
const STORED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OTHER: &[u8] = b"GET /other HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct Own {
    shared: Arc<ReactorHandle>,
    listener: UnixListener,
    /// Of the server and its listener.
    ids: (usize, usize),
    /// The client of that request, which stays.
    first: Option<UnixStream>,
}

impl Own {
    /// A server whose answer to the first request is stored.
    fn new(settings: Settings) -> Self {
        let name = format!("millrace-standby-{}-{:p}", std::process::id(), &settings);
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut reactor = Reactor::new().unwrap();
        let mode = Mode::All(Duration::from_secs(60));
        let cache = cache::Settings { mode, ..cache::Settings::default() };
        let server = reactor.add_server(Settings { cache, ..settings });
        let id = reactor.listen(server, listener.try_clone().unwrap().into()).unwrap();
        let ids = (server, id);
        let mut own = Self { shared: ReactorHandle::new(reactor), listener, ids, first: None };
        let mut first = own.connect();
        first.write_all(STORED).unwrap();
        let mut told = own.turn();
        while told.last().is_none_or(|&(kind, _)| kind != Kind::Request as i32) {
            told.extend(own.turn());
        }
        own.answer(told.last().unwrap().1);
        assert!(read(&mut first).ends_with("ok"));
        own.first = Some(first);
        own
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect_addr(&self.listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    fn turn(&self) -> Vec<(i32, usize)> {
        let (mut events, mut bytes) = (vec![0; EVENT_LENGTH * 64], vec![0; 256 * 1024]);
        let mut batch = Batch::new(&mut events, &mut bytes);
        self.shared.turn(&mut batch).unwrap();
        let count = batch.count();
        self.shared.with(Reactor::wake_again);
        let told = events.chunks(EVENT_LENGTH).take(count);
        told.map(|event| (event[0], usize::try_from(event[1]).unwrap())).collect()
    }

    fn answer(&self, connection: usize) {
        self.shared.with(|reactor| reactor.send(connection, OK, 1, false)).unwrap();
    }
}

/// What comes next.
fn read(stream: &mut UnixStream) -> String {
    let mut bytes = [0; 4096];
    let count = stream.read(&mut bytes).unwrap();
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

#[test]
fn hits_go_on_and_the_rest_waits() {
    let own = Own::new(Settings::default());
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    for _ in 0..3 {
        client.write_all(STORED).unwrap();
        assert!(read(&mut client).ends_with("ok"));
    }
    client.write_all(&[STORED, OTHER, STORED].concat()).unwrap();
    assert_eq!(read(&mut client).matches("200 OK").count(), 1);
    drop(standby);
    let mut told = own.turn();
    while told.len() < 2 {
        told.extend(own.turn());
    }
    let kinds: Vec<_> = told.iter().map(|&(kind, _)| kind).collect();
    assert_eq!(kinds, [Kind::Open as i32, Kind::Request as i32]);
    own.answer(told[1].1);
    // The one behind it is looked at in the next turn.
    assert!(own.turn().is_empty());
    let mut received = String::new();
    while received.matches("200 OK").count() < 2 {
        received.push_str(&read(&mut client));
    }
}

#[test]
fn what_waits_is_told_in_the_order_in_which_it_came() {
    let own = Own::new(Settings::default());
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut first = own.first.as_ref().unwrap().try_clone().unwrap();
    let mut clients: Vec<UnixStream> = Vec::new();
    // Far more than one batch has room for.
    for _ in 0..200 {
        let mut client = own.connect();
        client.write_all(OTHER).unwrap();
        clients.push(client);
        // Answered by the standby thread, which has seen the one before by then.
        first.write_all(STORED).unwrap();
        assert!(read(&mut first).ends_with("ok"));
    }
    drop(standby);
    let mut late = own.connect();
    late.write_all(OTHER).unwrap();
    let mut told = Vec::new();
    while told.len() < clients.len() + 1 {
        let requests = own.turn().into_iter().filter(|event| event.0 == Kind::Request as i32);
        told.extend(requests.map(|(_, connection)| connection));
    }
    // Numbers are given in the order in which connections come.
    assert!(told.is_sorted(), "{told:?}");
}

/// How often the standby thread has gone to sleep.
fn sleeps() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let statuses =
        tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
    let standbys = statuses.filter(|status| status.starts_with("Name:\tmillrace\n"));
    let counts = standbys.filter_map(|status| {
        let (_, count) = status.split_once("\nvoluntary_ctxt_switches:")?;
        count.lines().next()?.trim().parse::<u64>().ok()
    });
    counts.sum()
}

#[test]
fn nobody_is_woken_while_the_own_thread_comes() {
    // Those of other tests would count, too.
    const ALONE: &str = "MILLRACE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone
            .args(["--exact", "standby::nobody_is_woken_while_the_own_thread_comes"])
            .env(ALONE, "1");
        assert!(alone.status().unwrap().success());
        return;
    }
    let own = Own::new(Settings::default());
    let _standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    own.turn();
    let clock = Monotonic::new();
    let began = clock.now();
    let (before, mut last) = (sleeps(), began);
    // While it was away for long, as on a busy machine, the standby thread may have stood in for it: it sleeps now and then.
    let mut excused = 0;
    while last.since(began) < Duration::from_millis(300) {
        client.write_all(STORED).unwrap();
        own.turn();
        assert!(read(&mut client).ends_with("ok"));
        let now = clock.now();
        if now.since(last) >= PUNCTUAL {
            excused += 5 + now.since(last).as_millis() as u64;
        }
        last = now;
    }
    // Who looks in every 2 ms sleeps 150 times.
    let slept = sleeps() - before;
    assert!(slept < 30 + excused, "{slept}, {excused} excused");
}

#[test]
fn hits_go_on_between_the_turns_of_a_thread_that_handles_each_for_long() {
    let own = Own::new(Settings::default());
    let _standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    let (hits, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                client.write_all(STORED).unwrap();
                assert!(read(&mut client).ends_with("ok"));
                hits.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut turns = 0;
        // The turns alone answer one each.
        while hits.load(Ordering::Relaxed) <= 2 * turns + 20 && turns < 300 {
            own.turn();
            turns += 1;
            // A handler.
            std::thread::sleep(Duration::from_millis(8));
        }
        over.store(true, Ordering::Relaxed);
        assert!(turns < 300);
    });
}

#[test]
fn a_connection_that_the_caller_screens_waits() {
    let own = Own::new(Settings { requires_admission: true, ..Settings::default() });
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    client.write_all(STORED).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let early = client.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(early.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    drop(standby);
    client.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(own.turn().first().map(|&(kind, _)| kind), Some(Kind::Open as i32));
    assert!(own.turn().is_empty());
    assert!(read(&mut client).ends_with("ok"));
}

#[test]
fn more_connections_than_a_batch_holds_are_all_told() {
    let own = Own::new(Settings::default());
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut clients: Vec<_> = (0..100).map(|_| own.connect()).collect();
    for client in &mut clients {
        client.write_all(STORED).unwrap();
        assert!(read(client).ends_with("ok"));
        client.write_all(OTHER).unwrap();
    }
    drop(standby);
    let (mut opened, mut asked) = (0, 0);
    // All but the first wait for its response.
    while opened < clients.len() || asked < 1 {
        for (kind, connection) in own.turn() {
            opened += usize::from(kind == Kind::Open as i32);
            if kind == Kind::Request as i32 {
                asked += 1;
                own.answer(connection);
            }
        }
    }
    for client in &mut clients {
        assert!(read(client).ends_with("ok"));
        own.turn();
    }
    assert_eq!((opened, asked), (clients.len(), 1));
}

#[test]
fn what_was_accepted_for_a_server_that_is_gone_is_told_nobody() {
    let own = Own::new(Settings::default());
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    client.write_all(STORED).unwrap();
    assert!(read(&mut client).ends_with("ok"));
    drop(standby);
    own.shared.with(|reactor| {
        reactor.close_listener(own.ids.1);
        reactor.remove_server(own.ids.0);
        let next = reactor.add_server(Settings::default());
        assert_ne!(next, own.ids.0, "its number is not free before the turn");
    });
    assert!(own.turn().is_empty());
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "it is closed");
}

#[test]
fn a_client_that_leaves_is_told_afterwards() {
    let own = Own::new(Settings::default());
    let standby = StandbyThread::start(&own.shared).unwrap();
    let mut client = own.connect();
    client.write_all(STORED).unwrap();
    assert!(read(&mut client).ends_with("ok"));
    drop(client);
    let mut last = own.connect();
    last.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    assert!(read(&mut last).contains("Connection: close"));
    drop(standby);
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        kinds.extend(own.turn().into_iter().map(|(kind, _)| kind));
    }
    for kind in [Kind::Open, Kind::Eof, Kind::Answered] {
        assert!(kinds.contains(&(kind as i32)), "{kinds:?}");
    }
}
