//! Where the processes that share an address meet: a rendezvous socket of each, and a lock.
//!
//! Others of the group may write there too, so nothing is followed, and nothing is changed that was not made here. All names
//! are looked up below one descriptor.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, chmodat, fchmod, flock, mkdir, open, openat,
    statat, unlinkat,
};
use rustix::io::Errno;

/// No process joins while another does.
const LOCK: &str = "lock";

#[derive(Debug)]
pub(crate) struct Directory {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    is_shared: bool,
}

/// Where those who join later come to.
#[derive(Debug)]
pub(crate) struct RendezvousSocket {
    pub(crate) listener: UnixListener,
    pub(crate) file: RendezvousFile,
}

/// Its place in the directory, which is empty when this is gone.
#[derive(Debug)]
pub(crate) struct RendezvousFile {
    directory: Arc<OwnedFd>,
    name: String,
}

impl Directory {
    /// Opens it, or makes it; for a group if `is_shared`.
    pub(crate) fn open(path: &Path, is_shared: bool) -> io::Result<Self> {
        let made = match mkdir(path, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty())?;
        if made && is_shared {
            // The mode above is less what the user's mask takes away.
            fchmod(&fd, Mode::RWXU | Mode::RWXG | Mode::SGID)?;
        }
        Ok(Self { fd: Arc::new(fd), path: path.into(), is_shared })
    }

    /// Nobody else joins until this is gone; `None`: somebody does now. Does not wait for that, which may take as long as an
    /// event loop is busy: the thread is one of few that all of a process share.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = statat(&*self.fd, LOCK, AtFlags::SYMLINK_NOFOLLOW);
        let made = found.is_err_and(|error| error == Errno::NOENT);
        let file = openat(&*self.fd, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
        if made && self.is_shared {
            // It may be another's by now, who has done so.
            fchmod(&file, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP).ok();
        }
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file.into())),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Names of all rendezvous sockets, those of processes that are gone too.
    pub(crate) fn rendezvous(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.path(""))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| is_rendezvous_name(name) && self.is_socket(name)).collect())
    }

    fn is_socket(&self, name: &str) -> bool {
        let stat = statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket)
    }

    /// Where something in it is, for calls that know no descriptors of directories.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).join(name)
        } else {
            self.path.join(name)
        }
    }

    pub(crate) fn remove(&self, name: &str) {
        // Somebody else may have done so.
        unlinkat(&*self.fd, name, AtFlags::empty()).ok();
    }

    pub(crate) fn open_rendezvous(&self, name: String) -> io::Result<RendezvousSocket> {
        let listener = UnixListener::bind(self.path(&name))?;
        let file = RendezvousFile { directory: Arc::clone(&self.fd), name };
        let own = Mode::RUSR | Mode::WUSR;
        let mode = if self.is_shared { own | Mode::RGRP | Mode::WGRP } else { own };
        chmodat(&*self.fd, &file.name, mode, AtFlags::empty())?;
        listener.set_nonblocking(true)?;
        Ok(RendezvousSocket { listener, file })
    }
}

/// A process and a reactor of it: `4711.0123456789abcdef`.
fn is_rendezvous_name(name: &str) -> bool {
    let Some((process, reactor)) = name.split_once('.') else { return false };
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    digits && reactor.len() == 16 && reactor.bytes().all(is_hex)
}

impl Drop for RendezvousFile {
    fn drop(&mut self) {
        // Somebody may have removed it.
        unlinkat(&*self.directory, &self.name, AtFlags::empty()).ok();
    }
}
