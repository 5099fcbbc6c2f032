// Masking: no form of a secret is printed, text that is not secret stays, and the time is linear in the length.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secrets } from '#internal/masking/secrets.js';
import { maskArguments, maskText, maskUrl } from '#internal/masking/text.js';

const json = JSON.stringify;
/** Values that contain what could be taken for their end. */
const VALUES = [
  'hunter22',
  'hunter2,topsecret',
  'ab)cdefgh',
  "it's-secret",
  'se;cr#et}x',
  'p&q-secret',
];

const plain = (value) => !value.includes('&');
/** Forms of text with a secret, and the values that fit into them. */
const FORMS = {
  'a query': [(v) => `http://h/?a=1&password=${v}&b=2`, plain],
  'a query at the end of a message': [(v) => `URL 'http://h/?token=${v}' is not a URL`, plain],
  'a query in JSON': [(v) => json({ next: `/a?sig=${v}`, n: 5 }), plain],
  'a query in HTML': [(v) => `<a href="/a?sig=${v}">x</a>`, plain],
  'a query in a query': [(v) => `/login?next=%2Fa%3Ftoken%3D${encodeURIComponent(v)}`, plain],
  'a query in a query in a query': [
    (v) => `?u=%252Fa%253Fkey%253D${encodeURIComponent(encodeURIComponent(v))}`,
    plain,
  ],
  'a nested name': [(v) => `user[password]=${v}&x=1`, plain],
  'an encoded nested name': [(v) => `user%5Bpassword%5D=${v}`, plain],
  JSON: [(v) => json({ user: 'x', password: v, page: 2 })],
  'JSON with spaces': [(v) => json({ user: 'x', 'api-key': v }, null, 2)],
  'JSON that is cut': [(v) => json({ clientSecret: v }).slice(0, -2)],
  'JSON in JSON': [(v) => json({ log: json({ password: v }) })],
  'JSON in JSON in JSON': [(v) => json(json({ log: json({ password: v, a: 1 }) }))],
  'JSON in a query': [(v) => `?body=${encodeURIComponent(json({ password: v }))}`],
  'JSON in HTML': [(v) => json({ password: v }).replaceAll('"', '&quot;')],
  'a list in JSON': [(v) => json({ passwords: 1, password: ['x', v] })],
  'an object in JSON': [(v) => json({ credentials: { user: 'x', value: v } })],
  'a pair of name and value': [(v) => json([{ name: 'password', value: v }])],
  'a header in JSON': [(v) => json({ headers: { authorization: `Token ${v}`, cookie: `a=${v}` } })],
  'an object of JavaScript': [
    (v) => `{ password: ${json(v)}, apiKey: '${v.replaceAll("'", '')}' }`,
    (v) => !v.includes("'"),
  ],
  'a hash of Ruby': [(v) => `{:password=>${json(v)}}`],
  XML: [(v) => `<user><password>${v}</password><a>1</a></user>`],
  'XML with a namespace': [(v) => `<s:password type="x">${v}</s:password>`],
  'XML with CDATA': [(v) => `<token><![CDATA[${v}]]></token>`],
  'XML that is cut': [(v) => `<a/><password>${v}`],
  'an attribute': [(v) => `<user password="${v}"/>`],
  'settings in XML': [(v) => `<add key="Password" value="${v}"/>`],
  'an input': [(v) => `<input type="hidden" name="csrf_token" value="${v}">`],
  'an input, value first': [(v) => `<input value="${v}" name="password">`],
  'a multipart field': [
    (v) => `--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n${v}\r\n--x--`,
  ],
  'a multipart field in JSON': [
    (v) => json(`--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n${v}\r\n--x--`),
  ],
  'an assignment in quotes': [(v) => `DB_PASSWORD=${json(v)} node server.js`],
  'an assignment in a shell': [(v) => `DB_PASSWORD='${v.replaceAll("'", "'\\''")}' node server.js`],
  'an assignment with spaces': [
    (v) => `password = "${v}"\napi_key = '${v.replaceAll("'", '')}'`,
    (v) => !v.includes("'"),
  ],
  'a header': [(v) => `GET / HTTP/1.1\r\nX-Api-Key: ${v}\r\nAccept: */*`, plain],
  credentials: [
    (v) =>
      `Authorization: Token ${v}\r\nCookie: sid=${v}\nSet-Cookie: a=${v.replaceAll(';', '')}; Path=/`,
    (v) => !v.includes(';'),
  ],
  YAML: [(v) => `user: x\npassword: ${v}\n`, plain],
  userinfo: [(v) => `'http://admin:${v}@h:99999/' is not a URL`, (v) => !v.includes('#')],
  'userinfo with an @': [(v) => `http://admin:a@${v}@h/`, (v) => !v.includes('#')],
  'userinfo with a slash': [(v) => `'http://admin:a/${v}@h/' is not a URL`],
  'userinfo without a scheme': [
    (v) => `'user:${v}@127.0.0.1:99999/' is not a URL`,
    (v) => !v.includes('#'),
  ],
  'userinfo in a flag': [(v) => `--proxy=admin:${v}@h`, (v) => !v.includes('#')],
  'a scheme': [() => 'is Bearer hunter22 known?', (v) => v === 'hunter22'],
};
/** A part of each value that the masked text must not contain, as it is or encoded. */
const partsOf = (value) => value.split(/[^\w-]+/).filter((part) => part.length > 3);

for (const [form, [write, fits = () => true]] of Object.entries(FORMS)) {
  test(`a secret in ${form} is masked`, () => {
    for (const value of VALUES.filter(fits)) {
      const text = write(value);
      const masked = maskText(text);
      assert.ok(masked.includes('***'), `${text} -> ${masked}`);
      for (const part of partsOf(value)) {
        assert.ok(text.includes(part), text);
        assert.ok(!masked.includes(part), `${text} -> ${masked}`);
      }
      assert.equal(maskText(masked), masked, 'what is masked stays');
    }
  });
}

test('in the query of a URL only & and # end a value', () => {
  const url = "http://h/a?password=hunter2,topsecret&token=ab)cdefgh&sig=it's-secret&page=2#part";
  assert.equal(maskUrl(url), 'http://h/a?password=***&token=***&sig=***&page=2#part');
  assert.equal(maskUrl('/?token={{csv:a.csv:token}}&x=1'), '/?token={{csv:a.csv:token}}&x=1');
});

const ARGUMENTS = [
  [['node', '-e', 'x', '--password', 'hunter2'], 'node -e x --password ***'],
  [['node', 's.mjs', '--password=correct horse battery'], 'node s.mjs --password=***'],
  [["DB_PASSWORD='my secret' node s.mjs"], 'DB_PASSWORD=*** node s.mjs'],
  [['env', 'DB_PASSWORD=my secret', 'node'], 'env DB_PASSWORD=*** node'],
  [
    ['sh', '-c', 'API_KEY="quoted-key-1" exec node s.mjs --token abc'],
    'sh -c API_KEY=*** exec node s.mjs --token ***',
  ],
  [['sh', '-c', 'node s.mjs "$PORT"  && echo "a b"'], 'sh -c node s.mjs "$PORT"  && echo "a b"'],
  [['-H', 'X-Api-Key: a b', '-b', 'password=a,b&x=1'], '-H X-Api-Key: *** -b password=***&x=1'],
  [['--key', 'key.pem', '-H', 'Accept: x'], '--key key.pem -H Accept: x'],
];
for (const [words, masked] of ARGUMENTS) {
  test(`the command line is masked: ${masked}`, () => {
    assert.equal(maskArguments(words).join(' '), masked);
  });
}

const HARMLESS = [
  'https://localhost:8080/a?page=2&sort=name#part',
  "--fail-on 'p99<50ms' failed: it is 34.7 ms",
  "ca file 'trust.p12' is locked; its passphrase is given by --passphrase",
  'send mail to a@b.example or mailto:c@d.example',
  '{"url":"http://h","email":"x@y.example","tokens":5,"password":null}',
  'usage: login <password> <file>',
  'Invalid password: must be longer',
  'WWW-Authenticate: Basic realm="x"',
  'token={{csv:a.csv:token}}',
  'npm install left-pad@1.2.3 @scope/a:b',
];
for (const text of HARMLESS) {
  test(`nothing is masked in: ${text}`, () => assert.equal(maskText(text), text));
}

test('values that were sent are masked in all forms in which a server may repeat them', () => {
  const rows = [
    ['ann', 'row-secret-1'],
    ['bob', 'row-secret-2'],
  ];
  const secrets = new Secrets([{ name: 'u.csv', columns: ['user', 'token'], rows }]);
  secrets.addHeader('Authorization', 'Bearer {{csv:u.csv:token}}');
  secrets.addHeader('Authorization', `Basic ${Buffer.from('ann:basic-secret').toString('base64')}`);
  secrets.addTarget('/?token=query-secret,more&x=1');
  secrets.addBody(Buffer.from('{"password":"body \\"secret\\" <1>"}'));
  secrets.addBody(Buffer.from('pwd=form%20secret+1&x=2'));
  secrets.addBody(Buffer.from('<password>element-secret</password>'));
  const echoed = [
    ...['row-secret-1', 'row-secret-2', 'basic-secret', 'query-secret,more', 'element-secret'],
    ...['body "secret" <1>', 'body \\"secret\\" <1>', 'body &quot;secret&quot; &lt;1&gt;'],
    ...['body%20%22secret%22%20%3C1%3E', 'form secret 1', 'form%20secret+1', 'form+secret+1'],
  ];
  for (const text of echoed) assert.equal(secrets.mask(`not known: ${text}.`), 'not known: ***.');
  assert.equal(secrets.mask('ann and bob'), 'ann and bob');
});

/** Beginnings of all forms, repeated: whatever is searched for from each of them does not come. */
const REPEATED = [
  ...[
    'a',
    'A1',
    'a.',
    'a-',
    'password',
    'password=',
    'password="',
    "password='a",
    'password=\\"',
    'p=',
    '=',
    ':',
    '@',
  ],
  ...[
    '://',
    'a://',
    'a://b:c',
    'x://a:b/',
    'a:b@',
    'a:b,',
    'a:',
    '"a":',
    '"password":',
    '"password":[',
    '"password":{"',
  ],
  ...[
    '"password":"\\',
    '\\',
    '"',
    "'",
    'password={{',
    '{{',
    '%3D',
    '%25',
    '%3Dtoken',
    'token%3D%22',
    '<',
    '<a ',
    '<password>',
  ],
  ...[
    '<password>x',
    '<a name=token value=',
    'name=',
    'name="password"',
    'form-data; name="token"\\r\\n',
    '"name":"token",',
  ],
  ...[
    'bearer ',
    'basic      ',
    'eyJ',
    'eyJaaaaaaaa.',
    'eyJaaaaaaaa-',
    'eyJ.',
    'cookie: ',
    'set-cookie:a;',
    'set-cookie:a=b;',
  ],
  ...[
    'authorization: a',
    'X-Key: ',
    'password: x\n',
    'pwd :',
    '&quot;',
    'key&quot;:&quot;',
    ' ',
    '\n',
    'a=b&',
    '?a=',
    '[',
    '-',
  ],
];
test('masking takes time in proportion to the length', () => {
  const slow = REPEATED.flatMap((unit) => {
    const text = unit.repeat(30_000 / unit.length);
    const before = process.cpuUsage();
    maskText(text);
    maskUrl(`?${text}`);
    maskArguments([text, `-c`, text]);
    const { user, system } = process.cpuUsage(before);
    const tookMs = (user + system) / 1000;
    return tookMs > 1000 ? [`${unit}: ${tookMs.toFixed(0)} ms`] : [];
  });
  assert.deepEqual(slow, []);
});
