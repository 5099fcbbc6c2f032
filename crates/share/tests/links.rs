//! The way between two processes: each message comes with its own descriptor, however much of it leaves at once. A program of
//! its own, because how many files can be opened is the whole process's.

#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../src/link.rs"]
mod link;
#[expect(dead_code, reason = "the crate's own, of which this takes a part")]
#[path = "../src/message.rs"]
mod message;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use link::Link;
use message::Message;
use proptest::prelude::*;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What came: a connection's number, how many bytes with it, and the file that its descriptor is of.
type Came = Vec<(u32, usize, Option<u64>)>;

/// Which numbers are free is the whole process's.
static FILES: Mutex<()> = Mutex::new(());

/// Two ends, of which the first has room for little.
fn pair() -> (Link<UnixStream>, Link<UnixStream>) {
    let (here, there) = UnixStream::pair().unwrap();
    socket2::SockRef::from(&here).set_send_buffer_size(4096).unwrap();
    here.set_nonblocking(true).unwrap();
    there.set_nonblocking(true).unwrap();
    (Link::new(here), Link::new(there))
}

fn file_of(descriptor: OwnedFd) -> u64 {
    File::from(descriptor).metadata().unwrap().ino()
}

/// A descriptor that is like no other, and its file.
fn descriptor() -> (OwnedFd, u64) {
    let (reader, _) = io::pipe().unwrap();
    let descriptor = OwnedFd::from(reader);
    let file = file_of(descriptor.try_clone().unwrap());
    (descriptor, file)
}

fn connection(serial: u32, bytes: &[u8]) -> Message<'_> {
    Message::Connection { serial, hops: 0, peer: None, session: None, bytes }
}

/// Takes what has come; `false`: there is nothing now.
fn receive(link: &mut Link<UnixStream>, came: &mut Came) -> bool {
    match link.receive() {
        Ok(1..) => {}
        Ok(0) => panic!("the other end is gone"),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
        Err(error) => panic!("{error}"),
    }
    while let Some(next) = link
        .next(|message, descriptor| match message {
            Message::Connection { serial, bytes, .. } => {
                Some((*serial, bytes.len(), descriptor.map(file_of)))
            }
            _ => None,
        })
        .unwrap()
    {
        came.extend(next);
    }
    true
}

fn receive_all(from: &mut Link<UnixStream>, to: &mut Link<UnixStream>, came: &mut Came) {
    loop {
        from.flush().unwrap();
        let more = receive(to, came);
        if !more && from.is_flushed() {
            return;
        }
    }
}

const LONGEST: usize = 40_000;

/// Of a connection's bytes: most are short, some come in several parts.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0..3000usize, 1 => 3000..LONGEST]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// `turns`: the messages that leave with one flush; of each how long it is, or `None`: one without a descriptor.
    #[test]
    fn descriptors_come_with_their_messages(
        turns in prop::collection::vec(
            prop::collection::vec(prop::option::weighted(0.8, length()), 0..150), 1..4),
    ) {
        let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut here, mut there) = pair();
        let (mut sent, mut came) = (Came::new(), Came::new());
        let bytes = [0; LONGEST];
        for turn in turns {
            for length in turn {
                let Some(length) = length else {
                    here.push(&Message::Refused { serial: 0 }, None).unwrap();
                    continue;
                };
                let (descriptor, file) = descriptor();
                let serial = sent.len() as u32;
                sent.push((serial, length, Some(file)));
                here.push(&connection(serial, &bytes[..length]), Some(Arc::new(descriptor))).unwrap();
            }
            here.flush().unwrap();
            receive(&mut there, &mut came);
        }
        receive_all(&mut here, &mut there, &mut came);
        prop_assert_eq!(came, sent);
    }
}

/// As a process whose files are all open: what came is known, and which of it is lost. Those behind have theirs.
fn check_room(room: u64, first: &[u8]) {
    let (mut here, mut there) = pair();
    let sent: Came = (0..5)
        .map(|serial| {
            let (descriptor, file) = descriptor();
            let bytes = if serial == 0 { first } else { b"" };
            here.push(&connection(serial, bytes), Some(Arc::new(descriptor))).unwrap();
            (serial, bytes.len(), Some(file))
        })
        .collect();
    here.flush().unwrap();
    let mut came = Came::new();
    with_room_for(room, || receive(&mut there, &mut came));
    receive_all(&mut here, &mut there, &mut came);
    let lost = |(serial, length, file): (u32, usize, Option<u64>)| {
        (serial, length, file.filter(|_| u64::from(serial) < room))
    };
    assert_eq!(came, sent.into_iter().map(lost).collect::<Came>());
    let (descriptor, file) = descriptor();
    here.send(&connection(5, b"text"), Some(Arc::new(descriptor))).unwrap();
    receive(&mut there, &mut came);
    assert_eq!(came[5], (5, 4, Some(file)));
}

#[test]
fn where_there_is_no_room_for_descriptors_the_last_ones_are_lost() {
    let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    check_room(2, b"");
    check_room(0, b"");
    // The first message comes in several parts, the descriptors with the first of them.
    check_room(1, &[0; 10_000]);
}

/// The other end says that more came than did.
#[test]
fn a_descriptor_that_never_came_is_lost() {
    let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let (here, mut there) = pair();
    let mut bytes = connection(1, b"").to_bytes().unwrap();
    message::set_descriptors(&mut bytes, 1);
    io::Write::write_all(&mut &here.socket, &bytes).unwrap();
    let mut came = Came::new();
    receive(&mut there, &mut came);
    assert_eq!(came, [(1, 0, None)]);
}

/// The other end sends one and does not say so.
#[test]
fn a_descriptor_that_nobody_spoke_of_is_no_message() {
    let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let (here, mut there) = pair();
    let (descriptor, _) = descriptor();
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let bytes = Message::Refused { serial: 1 }.to_bytes().unwrap();
    sendmsg(&here.socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty()).unwrap();
    assert!(there.receive().unwrap() > 0);
    assert!(there.next(|_, _| ()).unwrap().is_some());
    let error = there.next(|_, _| ()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

/// One that says more than leaves together would have room for endless descriptors that never come.
#[test]
fn more_descriptors_than_leave_together_are_no_message() {
    let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let (here, mut there) = pair();
    let mut bytes = Message::Taken { serials: Vec::new() }.to_bytes().unwrap();
    message::set_descriptors(&mut bytes, 65);
    io::Write::write_all(&mut &here.socket, &bytes).unwrap();
    assert!(there.receive().unwrap() > 0);
    assert!(there.next(|_, _| ()).is_err());
}

/// No more than so many files can be opened while `act` runs.
fn with_room_for(count: u64, act: impl FnOnce() -> bool) {
    /// Whatever comes of it.
    struct Before(Rlimit);
    impl Drop for Before {
        fn drop(&mut self) {
            setrlimit(Resource::Nofile, self.0).unwrap();
        }
    }
    let before = Before(getrlimit(Resource::Nofile));
    let (free, _) = descriptor();
    let next = std::os::fd::AsRawFd::as_raw_fd(&free) as u64;
    drop(free);
    let limit = Rlimit { current: Some(next + count), ..before.0 };
    setrlimit(Resource::Nofile, limit).unwrap();
    act();
}

#[test]
fn what_an_end_that_does_not_listen_has_to_hear_has_a_bound() {
    let (mut here, mut there) = pair();
    let mut ours = BTreeSet::new();
    for round in 0..5_000 {
        let prefix = format!("http://+:80/{round}/");
        here.send_change(&prefix, true).unwrap();
        if round % 1_000 == 0 {
            ours.insert(prefix);
        } else {
            here.send_change(&prefix, false).unwrap();
        }
    }
    let (mut heard, mut count) = (BTreeSet::new(), 0);
    loop {
        here.flush().unwrap();
        match there.receive() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            received => assert!(received.unwrap() > 0),
        }
        while let Some((prefix, is_added)) = there.next(|message, _| change(message)).unwrap() {
            count += 1;
            let is_news = if is_added { heard.insert(prefix) } else { heard.remove(&prefix) };
            assert!(is_news);
        }
    }
    assert!(here.is_flushed() && heard == ours);
    assert!(count < 1_000, "{count} messages");
}

/// The prefix of a message, and whether it is somebody's from now on.
fn change(message: &Message<'_>) -> (String, bool) {
    match message {
        Message::Added { prefix } => (prefix.to_string(), true),
        Message::Removed { prefix } => (prefix.to_string(), false),
        other => panic!("{other:?}"),
    }
}
