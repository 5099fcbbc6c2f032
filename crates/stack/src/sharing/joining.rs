//! How a process joins those that share an address: it finds their doors in a directory, and gets the listening socket
//! from any of them.
//!
//! Blocks, for as long as those processes take to answer; meant for a thread of its own.

use std::fmt;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use millrace_net::{Clock as _, Monotonic, Nanos};
use rustix::fs::{FlockOperation, flock};

use super::link::{Link, user_of};
use super::message::{Message, VERSION};
use super::prefix::UrlPrefix;

/// How long those who share the address may take to answer, in all. Who is busy for longer is heard of later.
const PATIENCE: Duration = Duration::from_secs(5);
/// No process joins while another does.
const LOCK: &str = "lock";

/// Tells a reactor from all others of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactorId(pub(crate) u64);

/// What a process has that has joined, until it shares: others wait for that.
#[derive(Debug)]
pub struct Joined {
    pub(crate) prefix: UrlPrefix,
    pub(crate) door: Option<Door>,
    pub(crate) others: Vec<Other>,
    listener: Option<OwnedFd>,
    here: bool,
    _lock: File,
}

/// Where those who join later come to.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) listener: UnixListener,
    pub(crate) file: DoorFile,
}

/// A door's place in the directory, which is empty when this is gone.
#[derive(Debug)]
pub(crate) struct DoorFile(PathBuf);

/// A process that shares the address already.
#[derive(Debug)]
pub(crate) struct Other {
    pub(crate) link: Link<UnixStream>,
    pub(crate) user: u32,
    pub(crate) prefixes: Vec<UrlPrefix>,
    /// Prefixes that nobody has any more, with their users.
    pub(crate) gone: Vec<(UrlPrefix, u32)>,
    /// It has answered.
    pub(crate) welcomed: bool,
}

/// Why a process cannot join.
#[derive(Debug)]
pub enum JoinError {
    /// The system refuses: what, and why.
    System(&'static str, PathBuf, io::Error),
    /// The prefix is another user's.
    Taken(UrlPrefix, u32),
    /// Those who share the address have (`true`) or have no TLS.
    OtherScheme(bool),
    /// They speak another version of the protocol.
    OtherVersion,
    /// None of them has answered.
    Silent,
}

impl JoinError {
    /// The system's name for such an error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::System(_, _, error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "EACCES"
            }
            Self::System(..) => "EIO",
            Self::Taken(..) => "EACCES",
            Self::OtherScheme(_) | Self::OtherVersion => "EADDRINUSE",
            Self::Silent => "ETIMEDOUT",
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(what, path, error) => write!(f, "{what} {}: {error}", path.display()),
            Self::Taken(prefix, user) => write!(f, "{prefix} belongs to user {user}"),
            Self::OtherScheme(true) => f.write_str("those who share the port use https"),
            Self::OtherScheme(false) => f.write_str("those who share the port use http"),
            Self::OtherVersion => {
                f.write_str("those who share the port use another version of millrace")
            }
            Self::Silent => f.write_str("those who share the port do not answer"),
        }
    }
}

impl std::error::Error for JoinError {}

impl Joined {
    /// The socket that those who share the address listen with; `None`: there is nobody, or this reactor only.
    pub fn take_listener(&mut self) -> Option<OwnedFd> {
        self.listener.take()
    }

    /// This reactor shares the address already.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.here
    }

    /// What was asked for.
    #[must_use]
    pub fn prefix(&self) -> &UrlPrefix {
        &self.prefix
    }
}

/// Joins those who share the address of a prefix. `base` is where all such addresses have their directories: whoever may
/// write there may join. `own` is the reactor that is to share.
pub fn join(base: &Path, prefix: UrlPrefix, own: ReactorId) -> Result<Joined, JoinError> {
    let mode = fs::metadata(base)
        .map_err(|error| JoinError::System("cannot use", base.into(), error))?
        .permissions()
        .mode();
    // What the group may do to the directory, it may do to what is in it.
    let is_shared = mode & 0o020 != 0;
    let directory = base.join(name_of(&prefix));
    let system = |what| {
        let directory = directory.clone();
        move |error| JoinError::System(what, directory, error)
    };
    make_directory(&directory, is_shared).map_err(system("cannot make"))?;
    let lock = lock(&directory, is_shared).map_err(system("cannot lock"))?;
    let own_name = format!("{}.{:016x}", std::process::id(), own.0);
    let here = directory.join(&own_name).exists();
    let mut joined =
        Joined { prefix, door: None, others: Vec::new(), listener: None, here, _lock: lock };
    if here {
        return Ok(joined);
    }
    let paths = fs::read_dir(&directory).map_err(system("cannot read"))?;
    for path in paths.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.file_name().is_some_and(|name| name == LOCK) {
            continue;
        }
        match UnixStream::connect(&path) {
            Ok(socket) => joined.greet(socket).map_err(system("cannot join at"))?,
            // Whoever made it is gone.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(&path).ok();
            }
            Err(error) => return Err(JoinError::System("cannot join at", path, error)),
        }
    }
    joined.hear()?;
    joined.door =
        Some(Door::open(directory.join(own_name), is_shared).map_err(system("cannot listen in"))?);
    Ok(joined)
}

fn name_of(prefix: &UrlPrefix) -> String {
    match prefix.address() {
        Some(address) => format!("{address}-{}", prefix.port()),
        None => format!("any-{}", prefix.port()),
    }
}

fn make_directory(path: &Path, is_shared: bool) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        // The mode above is less what the user's mask takes away.
        Ok(()) if is_shared => fs::set_permissions(path, Permissions::from_mode(0o2770)),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn lock(directory: &Path, is_shared: bool) -> io::Result<File> {
    let path = directory.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path)?;
    if is_shared {
        // It may be another's, who has done so.
        fs::set_permissions(&path, Permissions::from_mode(0o660)).ok();
    }
    loop {
        match flock(&file, FlockOperation::LockExclusive) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result.map(|()| file)?),
        }
    }
}

impl Joined {
    fn greet(&mut self, socket: UnixStream) -> io::Result<()> {
        let user = user_of(&socket)?;
        let mut link = Link::new(socket);
        let hello = Message::Hello { version: VERSION, secure: self.prefix.is_secure() };
        // One that ends in this moment has nothing to say.
        if link.send(&hello, None).is_ok() {
            let (prefixes, gone) = (Vec::new(), Vec::new());
            self.others.push(Other { link, user, prefixes, gone, welcomed: false });
        }
        Ok(())
    }

    /// Waits for what the others say.
    fn hear(&mut self) -> Result<(), JoinError> {
        let clock = Monotonic::new();
        let until = clock.now() + PATIENCE;
        let mut heard = Vec::new();
        for mut other in std::mem::take(&mut self.others) {
            if other.hear((&clock, until), &mut self.listener, self.prefix.is_secure())? {
                heard.push(other);
            }
        }
        self.others = heard;
        if self.listener.is_none() && !self.others.is_empty() {
            return Err(JoinError::Silent);
        }
        let taken = self.others.iter().find_map(|other| other.bars(&self.prefix));
        match taken {
            Some(user) => Err(JoinError::Taken(self.prefix.clone(), user)),
            None => Ok(()),
        }
    }
}

impl Other {
    /// Waits for a welcome; `false`: it is gone.
    fn hear(
        &mut self,
        (clock, until): (&Monotonic, Nanos),
        listener: &mut Option<OwnedFd>,
        secure: bool,
    ) -> Result<bool, JoinError> {
        loop {
            let Self { link, prefixes, gone, .. } = self;
            let said = link.next(|message, descriptor| match message {
                Message::Welcome { version, .. } if *version != VERSION => {
                    Err(JoinError::OtherVersion)
                }
                Message::Welcome { secure: theirs, .. } if *theirs != secure => {
                    Err(JoinError::OtherScheme(*theirs))
                }
                Message::Welcome { prefixes: theirs, gone: lost, .. } => {
                    prefixes.extend(theirs.iter().filter_map(|text| UrlPrefix::parse(text).ok()));
                    let lost = lost.iter();
                    gone.extend(
                        lost.filter_map(|(user, text)| Some((UrlPrefix::parse(text).ok()?, *user))),
                    );
                    *listener = listener.take().or(descriptor);
                    Ok(true)
                }
                // Nothing else comes first.
                _ => Err(JoinError::OtherVersion),
            });
            match said {
                Ok(Some(said)) => {
                    self.welcomed = said?;
                    return Ok(true);
                }
                Ok(None) => {}
                Err(_) => return Err(JoinError::OtherVersion),
            }
            let time = until.since(clock.now());
            if time.is_zero() {
                return Ok(true);
            }
            self.link.socket.set_read_timeout(Some(time)).ok();
            match self.link.receive() {
                Ok(true) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return Ok(false),
            }
        }
    }

    /// The user who has this prefix, if that is somebody else.
    fn bars(&self, prefix: &UrlPrefix) -> Option<u32> {
        let own = rustix::process::getuid().as_raw();
        let held = self.prefixes.contains(prefix).then_some(self.user);
        let lost = self.gone.iter().find(|(gone, _)| gone == prefix).map(|(_, user)| *user);
        held.or(lost).filter(|&user| user != own)
    }
}

impl Door {
    fn open(path: PathBuf, is_shared: bool) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        let file = DoorFile(path);
        let mode = if is_shared { 0o660 } else { 0o600 };
        fs::set_permissions(&file.0, Permissions::from_mode(mode))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, file })
    }
}

impl Drop for DoorFile {
    fn drop(&mut self) {
        // Somebody may have removed it.
        fs::remove_file(&self.0).ok();
    }
}
