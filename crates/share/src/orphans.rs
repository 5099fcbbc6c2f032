//! Prefixes that nobody has any more who had not given them back.

use std::time::Duration;

use millrace_net::Nanos;

use crate::message;
use crate::prefix::UrlPrefix;
use crate::trust::is_trusted;

/// How long one is remembered: a service that crashes at night has it back in the morning.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Those of one user that are sure, and those that are not.
pub(crate) const MAX_ORPHANS: usize = 1024;

/// A prefix that nobody has any more who had not given it back: its user alone may have it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrphanedPrefix {
    pub(crate) prefix: UrlPrefix,
    pub(crate) user: u32,
    /// We have seen it, or somebody says so who is trusted. What others say bars everybody else from the prefix and gives it to nobody whom
    /// others deny it.
    pub(crate) confirmed: bool,
}

impl OrphanedPrefix {
    /// What a process of the user `teller` says of a prefix, and for how long that holds; `None`: nothing that is one.
    pub(crate) fn told_by(
        orphaned: &message::Orphaned<'_>,
        teller: u32,
    ) -> Option<(Self, Duration)> {
        let prefix = UrlPrefix::parse(&orphaned.prefix).ok()?;
        let left = Duration::from_secs(orphaned.left_s.into()).min(KEPT);
        let confirmed = orphaned.confirmed && is_trusted(teller);
        Some((Self { prefix, user: orphaned.user, confirmed }, left))
    }
}

/// Those of one address, each with the time when it is forgotten.
#[derive(Debug, Default)]
pub(crate) struct OrphanedPrefixes(Vec<(Nanos, OrphanedPrefix)>);

impl OrphanedPrefixes {
    /// Remembers one. Where there are too many of its kind, the one that would be forgotten first is.
    pub(crate) fn add(&mut self, orphan: OrphanedPrefix, until: Nanos) {
        let says_all = |known: &OrphanedPrefix| {
            known.confirmed || known.user == orphan.user && !orphan.confirmed
        };
        if self.of(&orphan.prefix).any(says_all) {
            return;
        }
        if orphan.confirmed {
            self.remove(&orphan.prefix);
        }
        // Nobody is to make room for itself at another's expense.
        let kind = |orphan: &OrphanedPrefix| orphan.confirmed.then_some(orphan.user);
        let mut same =
            self.0.iter().enumerate().filter(|(_, (_, known))| kind(known) == kind(&orphan));
        let first = same.clone().min_by_key(|(_, (until, _))| *until).map(|(at, _)| at);
        if same.nth(MAX_ORPHANS - 1).is_some()
            && let Some(first) = first
        {
            self.0.remove(first);
        }
        self.0.push((until, orphan));
    }

    /// Somebody has a prefix again.
    pub(crate) fn remove(&mut self, prefix: &UrlPrefix) {
        self.0.retain(|(_, orphan)| orphan.prefix != *prefix);
    }

    /// Forgets what is to be forgotten by now.
    pub(crate) fn expire(&mut self, now: Nanos) {
        self.0.retain(|(until, _)| *until > now);
    }

    /// When the next one is forgotten.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.0.iter().map(|(until, _)| *until).min()
    }

    /// What is known of a prefix.
    pub(crate) fn of(&self, prefix: &UrlPrefix) -> impl Iterator<Item = &OrphanedPrefix> {
        self.all().filter(move |orphan| orphan.prefix == *prefix)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &OrphanedPrefix> {
        self.0.iter().map(|(_, orphan)| orphan)
    }

    /// What is told to others.
    pub(crate) fn to_messages(
        &self,
        now: Nanos,
    ) -> impl Iterator<Item = message::Orphaned<'static>> {
        self.0.iter().map(move |(until, orphan)| {
            let OrphanedPrefix { user, confirmed, .. } = *orphan;
            // In range: a day at most.
            let left_s = until.since(now).as_secs() as u32;
            message::Orphaned { prefix: orphan.prefix.to_string().into(), user, confirmed, left_s }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: [u32; 2] = [1001, 1002];

    fn orphan(number: usize, user: u32, confirmed: bool) -> OrphanedPrefix {
        OrphanedPrefix {
            prefix: UrlPrefix::parse(&format!("http://*:80/{number}/")).unwrap(),
            user,
            confirmed,
        }
    }

    fn at(seconds: usize) -> Nanos {
        Nanos::default() + Duration::from_secs(seconds as u64)
    }

    #[test]
    fn are_forgotten_in_time() {
        let mut all = OrphanedPrefixes::default();
        all.add(orphan(1, USERS[0], true), at(10));
        all.add(orphan(2, USERS[0], true), at(20));
        all.expire(at(9));
        assert_eq!((all.all().count(), all.next()), (2, Some(at(10))));
        let said: Vec<_> = all.to_messages(at(9)).map(|gone| gone.left_s).collect();
        assert_eq!(said, [1, 11]);
        all.expire(at(10));
        assert!(all.all().eq([&orphan(2, USERS[0], true)]));
        // Who says so does not make it last longer.
        let gone = all.to_messages(at(10)).next().unwrap();
        let told = message::Orphaned { left_s: u32::MAX, ..gone.clone() };
        assert_eq!(OrphanedPrefix::told_by(&gone, 0).unwrap().1, Duration::from_secs(10));
        assert_eq!(OrphanedPrefix::told_by(&told, 0).unwrap().1, KEPT);
    }

    #[test]
    fn one_user_does_not_displace_anothers() {
        let mut all = OrphanedPrefixes::default();
        all.add(orphan(0, USERS[0], true), at(1));
        for number in 1..=MAX_ORPHANS + 10 {
            all.add(orphan(number, USERS[1], true), at(number));
            all.add(orphan(10_000 + number, number as u32, false), at(number));
        }
        let count = |confirmed, user: Option<u32>| {
            let of_it = |it: &&OrphanedPrefix| {
                it.confirmed == confirmed && user.is_none_or(|user| it.user == user)
            };
            all.all().filter(of_it).count()
        };
        assert_eq!(count(true, Some(USERS[0])), 1);
        assert_eq!(count(true, Some(USERS[1])), MAX_ORPHANS);
        assert_eq!(count(false, None), MAX_ORPHANS);
        // The first to go are those that would be forgotten first.
        assert!(all.of(&orphan(10, 0, true).prefix).next().is_none());
        assert!(all.of(&orphan(11, 0, true).prefix).next().is_some());
    }
}
