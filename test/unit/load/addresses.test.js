// Where requests go, in the ways in which people write it: hosts, IPv6, Unix sockets, other addresses for a host.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';
import { parseUrl } from '#internal/load/requests/url.js';

describe('URLs', () => {
  for (const [text, expected] of [
    ['unix:///run/a.sock', { unixPath: '/run/a.sock', target: '/' }],
    ['http://unix:/run/a.sock:/x?y', { unixPath: '/run/a.sock', target: '/x?y', tls: false }],
    ['https://unix:/run/a.sock:/x', { unixPath: '/run/a.sock', target: '/x', tls: true }],
    ['http+unix://%2Frun%2Fa.sock/x', { unixPath: '/run/a.sock', target: '/x' }],
    ['http+unix://%2frun%2fa.sock', { unixPath: '/run/a.sock', target: '/' }],
    ['http://unix:8080/', { host: 'unix', port: 8080 }],
    [':8080/x', { host: 'localhost', port: 8080, authority: 'localhost:8080', target: '/x' }],
    ['https://:8443', { host: 'localhost', port: 8443, tls: true }],
    [' http://a.example/ \n', { host: 'a.example', target: '/' }],
    ['HTTP://A.Example./', { host: 'a.example.', authority: 'a.example.' }],
    ['http://0x7f.1:80/', { host: '127.0.0.1' }],
    ['http://[::1]:8080/', { host: '::1', port: 8080, authority: '[::1]:8080' }],
    ['http://::1/', { host: '::1', port: 80, authority: '[::1]' }],
    ['http://2001:db8::1/x', { host: '2001:db8::1', port: 80 }],
    ['http://::1:18080/', { host: '::1', port: 18080 }],
    ['http://1:2:3:4:5:6:7:8:8080/', { host: '1:2:3:4:5:6:7:8', port: 8080 }],
    ['http://[fe80::1%eth0]:8080/', { host: 'fe80::1%eth0', authority: '[fe80::1]:8080' }],
    ['http://u:p@[fe80::1%25eth0]/', { host: 'fe80::1%eth0', authorization: 'Basic dTpw' }],
    ['http://fe80::1%eth0/', { host: 'fe80::1%eth0', authority: '[fe80::1]' }],
  ]) {
    test(JSON.stringify(text), () => {
      const location = parseUrl(text, 'URL');
      for (const [name, value] of Object.entries(expected)) {
        assert.equal(location[name], value, name);
      }
    });
  }

  for (const [text, message] of [
    ['http://::1:8080/', /IPv6 needs brackets, as in \[::1\]:8080 or \[::1:8080\]/],
    ['http:/a.example/', /'http:' is not a host/],
    ['http://{{seq}}.example/', /placeholders are supported after the host/],
    ['http://{{uuid}}:x@a.example/', /placeholders are supported after the host and in headers/],
    ['unix:', /names no socket/],
    [' ', /it is empty/],
  ]) {
    test(`a URL is refused: ${text}`, () => {
      assert.throws(() => parseUrl(text, 'URL'), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});

describe('other addresses', () => {
  const origin = async (options) => (await buildPlan(options)).native.origins[0];
  for (const [options, expected] of [
    [
      { url: 'http://a.test', resolve: ['a.test:80:::1'] },
      { host: '::1', port: 80 },
    ],
    [
      { url: 'https://A.test.', resolve: ['a.test:443:[::1],127.0.0.1'] },
      { host: '::1', otherHosts: ['127.0.0.1'], port: 443, serverName: 'a.test' },
    ],
    [
      {
        url: 'http://a.test',
        resolve: ['*:80:127.0.0.1', 'a.test:80:127.0.0.2', 'b.test:80:127.0.0.3'],
      },
      { host: '127.0.0.2', port: 80 },
    ],
    [
      { url: 'http://a.test', resolve: ['+a.test:80:127.0.0.1'] },
      { host: '127.0.0.1', port: 80 },
    ],
    [
      { url: 'http://a.test', connectTo: ['a.test:80:b.test:8080'] },
      { host: 'b.test', port: 8080 },
    ],
    [
      { url: 'http://a.test', connectTo: ['::b.test:'] },
      { host: 'b.test', port: 80 },
    ],
    [
      { url: 'http://[::1]', connectTo: ['[::1]:80::81'] },
      { host: '::1', port: 81 },
    ],
    [
      { url: 'http://a.test', connectTo: ['::b.test:81'], resolve: ['b.test:81:127.0.0.1'] },
      { host: '127.0.0.1', port: 81 },
    ],
    [{ url: 'https://fe80::1%eth0' }, { host: 'fe80::1%eth0', port: 443, serverName: 'fe80::1' }],
  ]) {
    test(JSON.stringify(options), async () => {
      const { tls, ...found } = await origin(options);
      assert.deepEqual(found, expected);
      assert.equal(tls, options.url.startsWith('https'));
    });
  }

  for (const [options, message] of [
    [{ resolve: ['a.test:80'] }, /resolve must be HOST:PORT:ADDRESS.* \(got 'a.test:80'\)/],
    [{ resolve: ['a.test:80:b.test'] }, /must be HOST:PORT:ADDRESS/],
    [{ resolve: ['a.test:0:127.0.0.1'] }, /must be from 1 to 65535 \(got 0\)/],
    [{ connectTo: ['a.test:80'] }, /must be HOST1:PORT1:HOST2:PORT2/],
    [{ resolve: ['a.test:443:127.0.0.1'] }, /'a.test:443:127.0.0.1' matches no target/],
  ]) {
    test(`options of other addresses are refused: ${JSON.stringify(options)}`, async () => {
      const plan = buildPlan({ url: 'http://a.test', ...options });
      await assert.rejects(plan, { code: 'ERR_MILLRACE_USAGE', message });
    });
  }
});
