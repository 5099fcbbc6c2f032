// Names of fields are the head's own text, whichever of them are constants.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findName } from '#internal/http/request/field-names.js';

const NAMES = ['Host', 'User-Agent', 'Accept', 'TE', 'X-Request-ID', 'Sec-Fetch-Site', 'Cookie'];

test('a name that is found is what stands in the head, in any case and with any change', () => {
  const spellings = NAMES.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]);
  // One character changed at each place, by one that keeps the ends or does not.
  const changed = spellings.flatMap((name) =>
    [...name].flatMap((_, at) =>
      ['x', '!', 'é'].map((it) => name.slice(0, at) + it + name.slice(at + 1)),
    ),
  );
  for (const name of [...spellings, ...changed, 'a', 'Hos', 'Hostt']) {
    const head = `GET / HTTP/1.1\r\n${name}: value\r\n\r\n`;
    assert.equal(findName(head, 16, 16 + name.length) ?? name, name);
  }
});
