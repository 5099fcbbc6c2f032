// Options that load() refuses, and the one line for each of them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load, MillraceError } from 'millrace';

const folder = mkdtempSync(join(tmpdir(), 'millrace-options-'));
after(() => rmSync(folder, { recursive: true }));

const url = 'http://127.0.0.1:8080/';

test('a list without a status and a command with a zero byte are refused in one line', async () => {
  await assert.rejects(load({ url: 'h', expect: [] }), {
    code: 'ERR_MILLRACE_USAGE',
    message: /^expect must be statuses, .* \(got an empty list\)$/,
  });
  for (const command of [['a\0b'], ['A=\0', 'node'], ['node', '\0']]) {
    await assert.rejects(load({ command }), {
      code: 'ERR_MILLRACE_COMMAND',
      message: /^cannot start a command with a zero byte in '.*\\x00.*'$/,
    });
  }
});

const REFUSED = [
  [{}, /^url, targets, targetsFile or command is needed/],
  [{ url, conections: 5 }, /unknown option 'conections'; did you mean 'connections'\?/],
  [{ url: 'nope://x' }, /the scheme nope:\/\/ is not known/],
  [{ url, duration: 'long' }, /duration must be a duration such as .* \(got 'long'\)/],
  [{ url, duration: 0 }, /duration must be above 0 \(got 0\)/],
  [
    { url, duration: 0, warmup: '5s' },
    /duration must be above 0 \(got 0\): there is nothing to measure after the warm-up/,
  ],
  [{ url, connections: 0 }, /connections must be a whole number from 1.* \(got 0\)/],
  [{ url, connections: 2.5 }, /connections must be a whole number from 1 .* \(got 2.5\)/],
  [
    { url, connections: 2, threads: 4 },
    /connections must be at least 4, one for each of 4 threads \(got 2\)/,
  ],
  [
    { url: ['a', 'b'], connections: 1, rate: 10 },
    /connections must be at least 2, one for each of 1 thread and 2 servers \(got 1\)/,
  ],
  [{ url, requests: 0 }, /requests must be a whole number from 1 .* \(got 0\)/],
  [{ url, rate: 0 }, /rate must be above 0 \(got 0\)/],
  [{ url, rate: 'fast' }, /rate must be a rate from 0 .* \(got 'fast'\)/],
  [
    { url, stages: [{ duration: 'x', rate: 1 }] },
    /stages\[0\]\.duration must be a duration such as .* \(got 'x'\)/,
  ],
  [
    { url, pipelining: 4, connection: 'close' },
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    { url: 'https://h', pipelining: 4, connection: 'close', handshake: 'resume' },
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    { url, pipelining: 16, rate: 1, duration: '5s' },
    /pipelining must be at most 5 in a run of 5 arrivals \(got 16\)/,
  ],
  [
    { url, pipelining: 16, rate: 100, maxPending: 8 },
    /pipelining must be at most 8, the value of maxPending \(got 16\)/,
  ],
  [{ url, poisson: true }, /unknown option 'poisson'/],
  [{ url, amount: 5 }, /^unknown option 'amount'; it is called 'requests'$/],
  [{ url, requests: [{ path: '/' }] }, /^requests is a number; a list of them is 'targets'$/],
  [{ url, conditions: ['errors<1'] }, /^unknown option 'conditions'; it is called 'failOn'$/],
  [{ url, abortOnFail: 'errors<1' }, /^abortOnFail must be true or false \(got 'errors<1'\)$/],
  [{ url, abortOnFail: true }, /^abortOnFail needs failOn: /],
  [{ url, arrivals: 'poisson' }, /arrivals needs a rate or stages/],
  [{ url, rate: 5, arrivals: 'bursts' }, /arrivals must be constant or poisson.* \(got 'bursts'\)/],
  [{ url, rate: 5, thinkTime: '1s' }, /thinkTime cannot be combined with a rate/],
  [{ url, maxPending: 5 }, /maxPending needs a rate or stages/],
  [{ url, handshake: 'full' }, /^handshake needs an https:\/\/ URL/],
  [{ url, sni: 'x' }, /^sni needs an https:\/\/ URL/],
  [{ url: 'https://h', handshake: 'half' }, /handshake must be full or resume \(got 'half'\)/],
  [
    { url: 'https://h', tls: 'full' },
    /^unknown option 'tls'; it is handshake: 'full' or 'resume', with connection: 'close'/,
  ],
  [{ url: 'https://h', handshake: 'resume' }, /^handshake resume needs connection close: /],
  [{ url: 'https://h', certFile: 'c.pem' }, /cert file 'c.pem' cannot be read/],
  ...['ca', 'cert', 'key'].flatMap((name) => [
    ...[import.meta.filename, '', [], 1, [null]].map((value) => [
      { url: 'https://h', [name]: value },
      new RegExp(
        `^${name} must be PEM text or a Buffer, or a list of them; the option for a path is ${name}File$`,
      ),
    ]),
    [
      { url: 'https://h', [name]: '-----BEGIN ', [`${name}File`]: 'a' },
      new RegExp(`^${name} and ${name}File cannot be used together: remove one of them$`),
    ],
    [{ url: 'https://h', [`${name}File`]: 1 }, / must be the path of a file \(got 1\)$/],
    [
      { url, [`${name}File`]: 'a' },
      new RegExp(`^${name} needs an https:// URL, .* \\(got 'a'\\)$`),
    ],
    [{ url, [name]: Buffer.from('secret') }, / needs an https:.* \(got its contents\)$/],
  ]),
  [{ url, passphrase: 'x' }, /^passphrase needs an https:\/\/ URL/],
  [{ url: 'https://h', keyFile: 'k.pem' }, /key needs cert: /],
  [{ url: 'https://h', caFile: '/no/such/ca.pem' }, /ca file '.*' cannot be read: no such file/],
  [{ url, connection: 'often' }, /connection must be keep-alive or close \(got 'often'\)/],
  [{ url, body: 'a', bodyFile: 'b' }, /body cannot be combined with bodyFile/],
  [{ url, bodyFile: '/no/such/file' }, /body file '.*' cannot be read: no such file/],
  [{ url, bodyFile: folder }, /body file '.*' cannot be read: is a directory/],
  [{ url, method: 'GET IT' }, /method must be the name of a method .* \(got 'GET IT'\)/],
  [{ url, method: 'CONNECT' }, /method must be .* not CONNECT \(got 'CONNECT'\)/],
  [
    { url, headers: { ':method': 'PUT' } },
    /headers: :method cannot be set as a header: it comes from the method/,
  ],
  [{ url, headers: { 'a b': 'c' } }, /the name of a header must consist of .* \(got 'a b'\)/],
  [
    { url, headers: { a: 'b\r\nc: d' } },
    /the value of a contains a character that a header cannot/,
  ],
  [
    { url, headers: { 'Transfer-Encoding': 'chunked' } },
    /Transfer-Encoding is not supported \(got chunked\)/,
  ],
  [
    { url, body: 'abc', headers: { 'Content-Length': '5' } },
    /Content-Length must be 3, .* \(got 5\)/,
  ],
  [
    { url, headers: { Connection: 'upgrade' } },
    /Connection must be close or keep-alive \(got upgrade\)/,
  ],
  [
    {
      url,
      headers: [
        ['Host', 'a'],
        ['host', 'b'],
      ],
    },
    /the header Host must occur once/,
  ],
  [
    { url, connection: 'keep-alive', headers: { Connection: 'close' } },
    /keep-alive cannot be combined with a header/,
  ],
  [{ targets: [] }, /targets must contain at least one target/],
  [{ targets: [{ url: '/x' }] }, /targets\[0\]: '\/x' is not a URL to load: it names no host/],
  [{ targets: [{ url, weight: 0 }] }, /targets\[0\]: weight must be a number above 0 \(got 0\)/],
  [{ url, targets: [{ url }] }, /cannot be combined with these targets: one URL is the server/],
  [
    { url: 'localhost:3000/api', targets: [{ url: '/x' }] },
    /^URL 'localhost:3000\/api' must have no path, .*: http:\/\/localhost:3000\/ is the server, or put the path into the targets$/,
  ],
  [
    { url: '/api', targets: [{ url: '/x' }], command: ['node'] },
    /^URL '\/api' must have no path, .*: leave it out, or put the path into the targets$/,
  ],
  [{ targets: [{ url }], targetsFile: 'x' }, /targets cannot be combined with targetsFile/],
  [{ targetsFile: '/no/such/file' }, /targets file '.*' cannot be read/],
  [{ url: 'unix:/a', socketPath: '/b' }, /a unix: URL cannot be combined with socketPath/],
  [{ url, timeout: 0 }, /timeout must be above 0 \(got 0\)/],
  [{ url, timeout: 'soon' }, /timeout must be a duration such as .* \(got 'soon'\)/],
  [{ url, connectTimeout: 'soon' }, /connectTimeout must be a duration such as .* \(got 'soon'\)/],
  [{ command: [] }, /command must name a program/],
  [{ command: '' }, /^command must name a program \(got ''\)$/],
  [{ command: 5 }, /^command must be text for the shell, or a list, .* \(got 5\)$/],
  [
    { command: ['node'], cwd: '/no/such/folder' },
    /^cwd must be a directory \(got '\/no\/such\/folder'\)$/,
  ],
  [{ command: ['node'], env: { A: 1 } }, /^env\.A must be text \(got 1\)$/],
  [{ command: ['node'], env: 'A=1' }, /^env must be an object of text \(got 'A=1'\)$/],
  [{ url, env: { A: '1' } }, /^env needs a command: a server that runs already keeps its own$/],
  [{ url, cwd: '.' }, /^cwd needs a command: /],
  [{ command: ['node'], socketPath: '/tmp/s' }, /a command cannot be combined with a Unix socket/],
  [
    { url, stages: [{ duration: '1s', rate: 5 }], warmup: '1s' },
    /warmup needs a rate \(-R\) to warm up at/,
  ],
  [{ url, pid: 2 ** 30 }, /pid must be the id of a running process \(got 1073741824\)/],
  [
    { targets: [{ url }, { url, headers: { connection: 'close' } }] },
    /Connection: close must be in all targets or in none \(got 1 of 2\)/,
  ],
];

/** What a program without types may pass. */
const WRONG_SHAPES = [
  [undefined, /^options must be an object \(got undefined\)/],
  [[], /^options must be an object \(got \[\]\)/],
  [{ url: 5 }, /^url must be text or a URL, or a list of them \(got 5\)/],
  [{ url: ['a', null] }, /^url must be text .* \(got \[ 'a', null \]\)/],
  [{ url, method: 5 }, /^method must be text \(got 5\)/],
  [{ url, body: 5 }, /^body must be text or a Uint8Array \(got 5\)/],
  [
    { url, headers: 5 },
    /^headers must be an object, a Headers, or pairs of name and value \(got 5\)/,
  ],
  [{ url, headers: null }, /^headers must be an object, .* \(got null\)/],
  [{ url, headers: ['ab'] }, /^headers must be an object, .* \(got \[ 'ab' \]\)/],
  [{ url, headers: new Set(['a']) }, /^headers must be an object, .* \(got Set\(1\) .*\)/],
  [{ url, headers: { a: 5 } }, /^headers: a must be text \(got 5\)$/],
  // An iterator is empty when it has been read once.
  [
    { url, headers: new Map([['a', 'b']]).entries() },
    /^headers must be an object, .*, which can be read again: \[\.\.\.iterator\] \(got .*Map.*\)$/,
  ],
  [
    { url, targets: [{ url, headers: [['a', 'b']].values() }] },
    /^targets\[0\]\.headers must be .* \[\.\.\.iterator\]/,
  ],
  [
    { url, headers: [[Symbol('a'), 'b']] },
    /^headers: the name of a header must .* \(got Symbol\(a\)\)/,
  ],
  [{ url, connections: {} }, /^connections must be a number, or text such as '10k' \(got \{\}\)/],
  [{ url, connections: null }, /^connections must be a number, .* \(got null\)/],
  [
    { url, duration: true },
    /^duration must be milliseconds, or text with a unit such as '10s' \(got true\)/,
  ],
  [{ url, rate: [5] }, /^rate must be a number, .* \(got \[ 5 \]\)/],
  [{ url, placeholders: 'no' }, /^placeholders must be true or false \(got 'no'\)/],
  [{ url, signal: {} }, /^signal must be an AbortSignal \(got \{\}\)/],
  [{ url, pid: 'x' }, /^pid must be a process id, or false \(got 'x'\)/],
  [{ command: ['node', 5] }, /^command\[1\] must be text \(got 5\)/],
  [{ targets: url }, /^targets must be a list of targets \(got 'http.*'\)/],
  [{ url, targets: [{}] }, /^targets\[0\] must be an object with a url \(got \{\}\)/],
  [{ targets: [{ url }, 5] }, /^targets\[1\] must be an object with a url \(got 5\)/],
  [
    { targets: [{ url, methd: 'PUT' }] },
    /^targets\[0\]: unknown field 'methd'; did you mean 'method'\?$/,
  ],
  [{ targets: [{ url, method: 5 }] }, /^targets\[0\]\.method must be text \(got 5\)/],
  [{ targets: [{ url, weight: '5' }] }, /^targets\[0\]\.weight must be a number \(got '5'\)/],
  [{ url, stages: 5 }, /^stages must be a list of stages \(got 5\)/],
  [
    { url, stages: [{ duration: 5 }] },
    /^stages\[0\] must be an object with.* \(got \{ duration: 5 \}\)/,
  ],
  [{ url, stages: [{ duration: 5, rate: 5, ramp: 1 }] }, /^stages\[0\]: unknown field 'ramp'$/],
];

for (const [options, message] of [...REFUSED, ...WRONG_SHAPES]) {
  test(`options are refused: ${message.source}`, async () => {
    const error = await load(options).then(
      () => assert.fail('accepted'),
      (error) => error,
    );
    assert.ok(error instanceof MillraceError, String(error));
    assert.equal(error.code, 'ERR_MILLRACE_USAGE');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/, 'one line');
  });
}
