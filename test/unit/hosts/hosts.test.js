// The parts of a load on many machines that need none.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { Script } from 'node:vm';
import { HostsError, loadOnHosts } from 'millrace';
import { measureClock } from '#internal/hosts/connection/clock.js';
import { receiveCommand } from '#internal/hosts/connection/copy.js';
import { describeEnd } from '#internal/hosts/connection/ended.js';
import { splitWords, sshWords } from '#internal/hosts/connection/ssh.js';
import { decodeOptions, encodeOptions } from '#internal/hosts/encode-options.js';
import { readHosts } from '#internal/hosts/host.js';
import { parseMessage, readLines } from '#internal/hosts/json-lines.js';
import { wallClockMs } from '#internal/load/engine/start.js';

describe('hosts', () => {
  test('are names, users and ports', () => {
    assert.deepEqual(readHosts(['a, root@b:2222', '[::1]:22', 'fe80::1'], 'hosts'), [
      { name: 'a', destination: 'a' },
      { name: 'root@b:2222', destination: 'root@b', port: 2222 },
      { name: '[::1]:22', destination: '::1', port: 22 },
      { name: 'fe80::1', destination: 'fe80::1' },
    ]);
  });

  /** @type {[text: string, message: RegExp][]} */
  const refused = [
    ['', /^hosts must be hosts such as a, user@b:2222 .*\(got ''\)$/],
    ['-oProxyCommand=x', /^hosts must be hosts such as/],
    ['a b', /^hosts must be hosts such as/],
    ['@hosts.txt', /^hosts must be hosts such as .*\(got '@hosts\.txt'\)$/],
    ['a,b,a', /^hosts: 'a' is named twice/],
    ['a:0', /^hosts: 0 is not a port \(in 'a:0'\)$/],
  ];
  for (const [text, message] of refused) {
    test(`'${text}' is refused`, () => {
      assert.throws(() => readHosts(text, 'hosts'), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});

test('ssh gets the words of its own flags first', () => {
  assert.deepEqual(splitWords(`ssh -F 'my hosts' -o "A=b c"`), [
    'ssh',
    '-F',
    'my hosts',
    '-o',
    'A=b c',
  ]);
  const words = sshWords('ssh -F x', { name: 'b', destination: 'u@b', port: 22 }, 'millrace agent');
  assert.deepEqual(words.slice(0, 3), ['ssh', '-F', 'x']);
  assert.deepEqual(words.slice(-5), ['-p', '22', '--', 'u@b', 'millrace agent']);
  assert.ok(words.includes('BatchMode=yes'));
});

test('options are sent with bytes, headers and URLs', () => {
  const options = {
    url: new URL('http://a/'),
    headers: new Headers({ accept: 'x' }),
    body: Buffer.from([0, 255]),
    targets: [{ url: '/b', headers: new Map([['c', 'd']]) }],
    ca: ['pem', Buffer.from([1])],
  };
  assert.deepEqual(decodeOptions(JSON.parse(JSON.stringify(encodeOptions(options)))), {
    url: 'http://a/',
    headers: [['accept', 'x']],
    body: Buffer.from([0, 255]),
    targets: [{ url: '/b', headers: [['c', 'd']] }],
    ca: ['pem', Buffer.from([1])],
  });
});

test('messages are lines, however they are cut; other lines are none', async () => {
  const bytes = Buffer.from('{"type":"hello","version":"ü"}\nwelcome\n{"no":1}\n{broken\n');
  const lines = [];
  let chunks = 0;
  const pieces = Readable.from(Array.from(bytes, (byte) => Buffer.from([byte])));
  for await (const line of readLines(pieces, () => chunks++)) lines.push(parseMessage(line));
  assert.equal(chunks, bytes.length);
  assert.deepEqual(lines, [{ type: 'hello', version: 'ü' }, null, null, null]);
});

test('the shortest round trip tells the offset of a clock', async () => {
  const delays = [40, 8, 60, 2, 30, 30, 30, 30, 30, 30];
  const session = {
    async readClock() {
      const delayMs = delays.shift();
      const heardMs = performance.now();
      // The way there takes no time, the way back all of it: the worst case of the bound.
      const sentMs = heardMs - delayMs;
      return { sentMs, heardMs, atMs: wallClockMs() - delayMs + 5000 };
    },
  };
  const { offsetMs, boundMs } = await measureClock(session);
  assert.deepEqual(delays, []);
  assert.equal(boundMs, 1);
  assert.ok(Math.abs(offsetMs - 5000) <= boundMs + 1, String(offsetMs));
});

test('what brings the package is one line, which csh takes as a shell of Unix does', () => {
  const command = receiveCommand();
  assert.doesNotMatch(command, /\n/);
  const program = /node -e '\\''(.*)'\\'' "\$d"/.exec(command)?.[1];
  // Comments would end with the line.
  assert.doesNotMatch(program ?? '//', /\/\//);
  assert.doesNotThrow(() => new Script(String(program)));
});

test('hosts that only must not be used are a usage error, all others are out of reach', () => {
  const fail = (...codes) =>
    new HostsError(codes.map((code) => ({ host: 'a', message: 'm', code }))).code;
  assert.equal(fail('ERR_MILLRACE_USAGE', 'ERR_MILLRACE_USAGE'), 'ERR_MILLRACE_USAGE');
  assert.equal(fail('ERR_MILLRACE_ENGINE'), 'ERR_MILLRACE_UNREACHABLE');
  assert.equal(fail('ERR_MILLRACE_USAGE', 'ERR_MILLRACE_NATIVE'), 'ERR_MILLRACE_UNREACHABLE');
});

describe('a connection that ends', () => {
  const tell = (ended, remote) =>
    describeEnd(
      { code: 1, signal: null, lines: [], ...ended },
      { remoteCommand: 'millrace', copy: false, hasAnswered: false, ...remote },
    ).message;

  /** @type {[ended: object, remote: object, message: RegExp][]} */
  const cases = [
    [
      { code: 255, lines: ['ssh: connect to host b port 22: Connection refused'] },
      {},
      /^ssh: connect to host b port 22: Connection refused$/,
    ],
    [{ code: 255, lines: ['u@b: Permission denied (publickey).'] }, {}, /ssh-add/],
    [{ code: 255, lines: ['Host key verification failed.'] }, {}, /accept its key$/],
    [{ code: 255 }, {}, /^ssh ended without a word$/],
    [
      { code: 127, lines: ['bash: line 1: millrace: command not found'] },
      {},
      /^'millrace' was not found there \(bash.*\): install millrace or .*, or --copy brings it/,
    ],
    [
      { code: 127, lines: ["/usr/bin/env: 'node': No such file or directory"] },
      {},
      /^Node\.js was not found there .*: install Node\.js/,
    ],
    [
      { code: 1, lines: ['Error: x'] },
      { remoteCommand: 'npx millrace' },
      /^'npx millrace agent' ended there with code 1 before it answered: Error: x$/,
    ],
    [{ code: 255 }, { hasAnswered: true }, /^the connection broke, or millrace was killed there/],
    [{ code: 137, lines: ['Killed'] }, { hasAnswered: true }, /^millrace ended there \(Killed\)/],
  ];
  for (const [ended, remote, message] of cases) {
    test(`${message.source} is told of ${JSON.stringify({ ...ended, ...remote })}`, () => {
      assert.match(tell(ended, remote), message);
    });
  }
});

describe('a load that cannot run on hosts', () => {
  const url = 'http://a/';
  /** @type {[options: any, message: RegExp][]} */
  const refused = [
    [{ command: 'node x.js' }, /^command cannot be combined with hosts: start the server first/],
    [{ url, segment: '1/2', seed: 1 }, /^segment cannot be combined with hosts/],
    [{ url, failOn: 'errors<1', abortOnFail: true }, /^abortOnFail cannot be combined with hosts/],
    [{ url, pid: 1 }, /^pid cannot be combined with hosts: it is the process of one machine/],
    [{ url, connections: 2 }, /^3 hosts need at least 3 connections, .*\(got 2 in all\)/],
    [{ url, requests: 2 }, /^3 hosts need at least 3 requests, one for each \(got 2 in all\)/],
    [
      { url: [url, 'http://b/'], rate: 9, connections: 5 },
      /^3 hosts need at least 6 connections, one for each and each of 2 servers \(got 5 in all\)/,
    ],
    [{ url, ssh: ' ' }, /^ssh must be a command \(got ' '\)$/],
    [{ url, remoteCommand: '' }, /^remoteCommand must be a command \(got ''\)$/],
    [{ url, copy: true, remoteCommand: 'x' }, /^copy cannot be combined with remoteCommand/],
    [{ url, cloxSkew: 3 }, /^unknown option 'cloxSkew'; did you mean 'clockSkew'\?/],
    [{ url, bodyFile: '/nowhere' }, /^body file '\/nowhere' cannot be read: no such file/],
    [{ scenario: {} }, /^scenario must be the path of a file with hosts/],
  ];
  for (const [options, message] of refused) {
    test(`is refused before a host is asked: ${JSON.stringify(options)}`, async () => {
      // A client of ssh that would be noticed.
      const run = loadOnHosts(['a', 'b', 'c'], { ssh: '/nowhere/ssh', ...options });
      await assert.rejects(run, { code: 'ERR_MILLRACE_USAGE', message });
    });
  }

  test('a client of ssh that does not exist is named', async () => {
    const run = loadOnHosts('a', { ssh: '/nowhere/ssh -F x', url });
    await assert.rejects(run, {
      code: 'ERR_MILLRACE_UNREACHABLE',
      message: /^a: '\/nowhere\/ssh' cannot be started: no such program; it is named by --ssh$/,
    });
  });
});
