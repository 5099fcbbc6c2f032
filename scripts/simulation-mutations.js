// Breaks the stack on purpose, one place at a time, and shows whether the simulation finds it. Not a part of CI: it changes
// files of a clean work tree, and changes them back.
//
//   node scripts/simulation-mutations.js            all of them
//   node scripts/simulation-mutations.js EOF leak   those whose names have one of these words
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './step.js';

/** Some are found in one of ten thousand runs. */
const SECONDS = '40';

/**
 * What is broken: a name, a file (of `crates/stack/src`, or of the `folder` below `crates`), the text to replace, and what comes
 * in its place.
 */
const MUTATIONS = [
  {
    name: 'a lost wake-up: who may go on between two turns wakes nobody',
    file: 'reactor.rs',
    text: 'self.run_again(id);\n        self.call_again();',
    by: 'self.run_again(id);',
  },
  {
    name: 'a forgotten unblock: one request at a time, and the next is never read',
    file: 'connection/blocked.rs',
    text: 'left <= most / 2',
    by: 'left < most.div_ceil(2)',
  },
  {
    name: 'wrong order: bytes are sent ahead of those that wait',
    file: 'connection/sending.rs',
    text: 'while taken < bytes.len() && self.output.is_empty() {',
    by: 'while taken < bytes.len() {',
  },
  {
    name: 'a double event: what was reported later is reported again',
    file: 'connection/reports.rs',
    text: 'std::mem::take(&mut connection.lane.unreported)',
    by: 'connection.lane.unreported',
  },
  {
    name: 'a wrong count: requests of a connection that is gone are still with the caller',
    file: 'reactor/commands.rs',
    text: 'server.in_flight = server.in_flight.saturating_sub(connection.lane.in_flight);\n',
    by: '',
  },
  {
    name: 'a leak: a connection that lingers stays, though its peer has ended',
    file: 'reactor/lingering.rs',
    text: 'Err(_) => {\n                self.lingering.remove(id);',
    by: 'Err(_) => {',
  },
  {
    name: 'a forgotten EOF: it has come with what was blocked',
    file: 'connection/receiving.rs',
    text: '// Told when the caller has taken what came before.\n            self.channel.readable = true;',
    by: '',
  },
  {
    name: 'a full batch is not noticed',
    file: 'batch.rs',
    text: 'self.room() >= EVENTS',
    by: 'self.room() > 0',
  },
  {
    name: 'a lane that is blocked is read: more requests than may be are with the caller',
    file: 'connection/blocked.rs',
    text: '(Self::Pipeline | Self::Room, Next::Head) => true,',
    by: '(Self::Pipeline | Self::Room, Next::Head) => false,',
  },
  {
    name: 'a session in a wrong state: a request is read behind the last one',
    file: 'connection/session/h1.rs',
    text: 'if lane.closes { ReadState::Closed } else',
    by: 'if false { ReadState::Closed } else',
  },
  {
    name: 'beside: a connection that was accepted is not told of later',
    file: 'reactor/accepting.rs',
    text: 'connection.lane.unreported.opened = true;\n            self.reports.push(&mut connection.lane);',
    by: 'connection.lane.unreported.opened = false;',
  },
  {
    name: 'beside: all has left, and nobody hears of it',
    file: 'reactor/standby.rs',
    text: 'if untold.drained {',
    by: 'if false {',
  },
  {
    name: 'a stale number: it is given anew while a batch still names it',
    file: 'connection/id.rs',
    text: 'false => self.vacated.push(id.index),',
    by: 'false => self.free.push(id.index),',
  },
  {
    name: 'a lost timer: nobody hears that one was set',
    file: 'reactor/timers.rs',
    text: 'self.timers.push(connection.activity.timer, Timer::Idle(id));\n            self.timers_changed = true;',
    by: 'self.timers.push(connection.activity.timer, Timer::Idle(id));',
  },
  {
    name: 'memory is given to two: bytes that were told are overwritten',
    file: 'connection/receiving.rs',
    text: 'commit(&region, if is_told { told } else { start })',
    by: 'commit(&region, start)',
  },
  {
    name: 'last bytes stay where they are, though no end comes',
    file: 'connection/sending.rs',
    text: 'self.transport.push(no_delay);',
    by: '',
  },
  {
    name: 'who waits for the response to a connection that is gone waits on',
    file: 'reactor/commands.rs',
    text: 'self.go_on_woken(connection.server);\n',
    by: '',
  },
  {
    name: 'an idle connection without a timer: something came after it was told to be idle',
    file: 'connection/activity.rs',
    text: 'self.is_reported().then(|| self.on_answered(now))',
    by: 'if self.is_reported() { drop(self.on_answered(now)) }\n        None',
  },
  {
    name: 'an error comes first: what was read before it is forgotten',
    file: 'connection/receiving.rs',
    text: 'Err(error) => (channel.readable, then) = (false, ReadEnd::Failed(error)),',
    by: 'Err(error) => {\n                    (channel.readable, then, region) = (false, ReadEnd::Failed(error), memory.reserve(0));\n                }',
  },
  {
    name: 'a lost timer: commands outside of a wake do not tell of theirs',
    file: 'driver.rs',
    text: '(self.wakes == 0 && reactor',
    by: '(self.wakes > 0 && reactor',
  },
  {
    name: 'a time of before: the limits of a connection that is adopted count from then',
    file: 'reactor/accepting.rs',
    text: 'let now = self.clock.now();',
    by: 'let now = Nanos::default();',
  },
  {
    name: 'a rate counts from the connect, not from the first byte',
    file: 'connection/lane.rs',
    text: 'arriving_since: Nanos::NEVER,',
    by: 'arriving_since: now,',
  },
  {
    name: 'TLS: text before a broken record is lost',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: 'return if count > 0 { Ok(Read { count, drained: false }) } else { Err(error) };',
    by: 'return Err(error);',
  },
  {
    name: 'TLS: a corked end of a handshake is forgotten, where no response takes it along',
    file: 'reactor/events.rs',
    text: 'self.behind_caller.push(connection, Work::FLUSH_HANDSHAKE);',
    by: '',
  },
  {
    name: 'TLS: a handshake without a limit: its timer is not armed',
    file: 'reactor/handshakes.rs',
    text: 'self.timers.push(began + limit, Timer::Handshakes(server));\n            self.timers_changed = true;',
    by: '',
  },
  {
    name: 'TLS: a request in one flight with the end of the handshake is not read',
    file: 'connection/session/handshake.rs',
    text: "// What came with the client's last message is in the session, not in the socket.\n        self.channel.readable = true;",
    by: 'self.channel.readable = false;',
  },
  {
    name: 'TLS: bytes behind such a request are not read: the socket was empty in the handshake',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: 'may not hold any more.\n            return Ok(Read { count, drained: false });',
    by: 'may not hold any more.\n            return Ok(Read { count, drained: self.socket.drained });',
  },
  {
    name: 'TLS: an end behind a part of a record is not found',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: '// An end may follow what is no text,',
    by: 'if read.drained {\n                return Err(io::ErrorKind::WouldBlock.into());\n            }\n            // An end may follow what is no text,',
  },
  {
    name: 'TLS: what waited leaves while it reads, and nobody hears of it',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: '&& !in_one_flight && self.unsent == 0 {',
    by: '&& !in_one_flight {',
  },
  {
    name: 'TLS: the session is full, the socket is not: nobody sends the rest',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: 'if !self.send(last)? || parts.is_empty() || count == 0 {',
    by: 'if !self.send(last)? || true {',
  },
  {
    name: 'TLS: what sending has failed with at the end of a handshake is forgotten',
    folder: 'net/src/tls',
    file: 'server.rs',
    text: 'Err(error) if result.is_ok() => self.write_error = Some(error),',
    by: '',
  },
  {
    name: 'TLS: an end in place of what sending has failed with',
    file: 'connection/receiving.rs',
    text: 'let has_read_all = !channel.readable;\n            channel.find_write_error();',
    by: 'channel.find_write_error();\n            let has_read_all = !channel.readable;',
  },
  {
    name: 'beside: a reset that is found in a handshake is found by nobody later',
    file: 'connection/session/handshake.rs',
    text: 'self.channel.fail_behind_input(io::Error::from_raw_os_error(number));',
    by: 'let _ = number;',
  },
  {
    name: 'session: an error is told ahead of requests that wait for the word of their caller',
    file: 'connection/session.rs',
    text: 'Self::Handshake(Handshake::Agreed) => true,\n            Self::Handshake(_)',
    by: 'Self::Handshake(_)',
  },
  {
    name: 'channel: an error that the end of our side has met is not told',
    file: 'connection/channel.rs',
    text: 'self.transport.end()?;',
    by: 'self.transport.end().ok();',
  },
  {
    name: 'channel: an error of sending is told ahead of what has arrived',
    file: 'connection/receiving.rs',
    text: 'if has_read_all && let Some(error)',
    by: 'if let Some(error)',
  },
  {
    name: 'channel: bytes behind the end of our side keep it open',
    file: 'connection/channel.rs',
    text: 'Self::Ending | Self::Ended => *self,\n        };',
    by: 'Self::Ending | Self::Ended => Self::Open,\n        };',
  },
  {
    name: 'channel: the end of a peer is forgotten behind what was read with it',
    file: 'connection/channel.rs',
    text: 'self.readable = !read.drained || self.peer_ended;',
    by: 'self.readable = !read.drained;',
  },
  {
    name: 'channel: an answer of the cache that cannot be sent is told nobody',
    file: 'connection/cache.rs',
    text: 'answers.clear();\n    if let Err(error) = sent {\n        channel.fail_behind_input(error);',
    by: 'answers.clear();\n    if let Err(error) = sent {\n        drop(error);',
  },
  {
    name: 'lane: a body comes though the caller wants no more for now',
    file: 'connection/lane.rs',
    text: 'self.paused = paused;\n    }',
    by: 'self.paused = paused && self.in_flight > 1;\n    }',
  },
  {
    name: 'channel: an error comes ahead of the requests of a connection that the caller has not seen',
    file: 'connection.rs',
    text: 'is_new || self.is_asked()',
    by: '(is_new && false) || self.is_asked()',
  },
  {
    name: 'lane: of several responses that are complete one counts',
    file: 'connection/lane.rs',
    text: 'self.in_flight -= done;',
    by: 'self.in_flight -= done.min(1);',
  },
  {
    name: 'blocked: nobody goes on when its peer has taken what was sent',
    file: 'connection/blocked.rs',
    text: '(Self::Room | Self::Owner, Change::Drained)',
    by: '(Self::Owner, Change::Drained)',
  },
  {
    name: 'blocked: a lane is read though something has to be reported first',
    file: 'connection/blocked.rs',
    text: '(Self::No, Next::Head) | (',
    by: '(Self::No | Self::Report, Next::Head) | (',
  },
  {
    name: 'reports: a lane is not reported again, once it was',
    file: 'connection/reports.rs',
    text: 'let unreported = std::mem::take(&mut connection.lane.unreported);',
    by: 'let unreported = std::mem::take(&mut connection.lane.unreported);\n        connection.lane.unreported.queued = true;',
  },
  {
    name: 'memory: a batch that was taken has no room for the next one',
    file: 'batch/memory.rs',
    text: 'pub(super) fn clear(&mut self) {\n        self.end = 0;',
    by: 'pub(super) fn clear(&mut self) {',
  },
];

const words = process.argv.slice(2);
const chosen = MUTATIONS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
let missed = 0;
for (const { name, folder = 'stack/src', file, text, by } of chosen) {
  const path = join(root, 'crates', folder, file);
  const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (source.split(text).length !== 2) {
    console.log(`?       ${name}: ${file} does not have the text once`);
    missed++;
    continue;
  }
  writeFileSync(path, source.replace(text, by));
  const start = performance.now();
  const args = ['test', '--quiet', '--manifest-path', 'simulation/Cargo.toml'];
  process.env.MILLRACE_SECONDS = SECONDS;
  const { code, output } = await run('cargo', args);
  writeFileSync(path, source);
  const seconds = Math.round((performance.now() - start) / 1000);
  const why = /panicked at (.+?):\d+:\n(.+)/.exec(output);
  if (code === 0 || why === null) missed++;
  const how = why ? `${why[1]}: ${why[2].slice(0, 100)}` : output.slice(-500);
  console.log(code === 0 ? `missed  ${name}` : `found   ${name}\n        ${seconds} s, ${how}`);
}
console.log(`${chosen.length - missed} of ${chosen.length} found`);
process.exitCode = missed > 0 ? 1 : 0;
