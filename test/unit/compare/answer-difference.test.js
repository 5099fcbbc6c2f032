import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeAnswerDifference } from '#internal/compare/differences/answer-difference.js';

/** An answer of JSON, changed. */
function answer(text, changes = {}) {
  return {
    status: 200,
    error: null,
    contentType: 'application/json',
    contentEncoding: null,
    contentBytes: text === null ? 100 : text.length,
    isAbout: false,
    text,
    isWhole: true,
    ...changes,
  };
}

const twice = (text, changes) => [answer(text, changes), answer(text, changes)];

test('answers that are the same do not differ', () => {
  assert.equal(describeAnswerDifference(twice('{"a":1}'), twice('{"a":1}')), null);
});

test('a difference of status, type, encoding, content or length is named, with both values', () => {
  const plain = twice('{"a":1}');
  const long = (contentBytes) => twice('{"a":1', { contentBytes, isWhole: false });
  const gzip = (contentBytes) => twice(null, { contentBytes, contentEncoding: 'gzip' });
  const broken = { status: null, error: 'reset', contentType: null };
  for (const [a, b, expected] of [
    [plain, twice('{"a":1}', { status: 404 }), 'status 200 of A, status 404 of B'],
    [plain, twice('', broken), 'status 200 of A, no response (reset) of B'],
    [
      plain,
      twice('{"a":1}', { error: 'closed-early' }),
      'status 200 of A, status 200, broken off (closed-early) of B',
    ],
    [
      plain,
      twice('{"a":1}', { contentType: 'text/html' }),
      'content type application/json of A, content type text/html of B',
    ],
    [
      plain,
      twice('{"a":1}', { contentEncoding: 'br' }),
      'content encoding none of A, content encoding br of B',
    ],
    [plain, twice('{"a":2}'), `content '{"a":1}' of A, '{"a":2}' of B`],
    [plain, twice(''), `content '{"a":1}' of A, empty of B`],
    [plain, twice('{"a":1}x'), `content '{"a":1}' of A, '{"a":1}x' of B`],
    [long(5000), long(5001), '5000 bytes of content of A, 5001 of B'],
    [gzip(5000), gzip(6000), '6000'],
  ]) {
    assert.ok(describeAnswerDifference(a, b)?.includes(expected), describeAnswerDifference(a, b));
  }
});

test('what differs within a side is not compared, wherever it stands', () => {
  const a = [answer('{"id":1,"name":"x"}'), answer('{"id":22,"name":"x"}')];
  const b = [answer('{"id":333,"name":"x"}'), answer('{"id":4,"name":"x"}')];
  assert.equal(describeAnswerDifference(a, b), null);
  assert.equal(describeAnswerDifference(a, twice('{"id":5,"name":"x"}')), null);
  assert.equal(describeAnswerDifference(twice('{"id":5,"name":"x"}'), b), null);
  const other = [answer('{"id":7,"name":"y"}'), answer('{"id":8,"name":"y"}')];
  assert.match(describeAnswerDifference(a, other), /"name":"x"\}' of A, .*"name":"y"\}' of B$/);
});

test('a status that varies within a side is not compared', () => {
  const limited = [answer('{}'), answer('{}', { status: 429 })];
  assert.equal(describeAnswerDifference(limited, twice('{}')), null);
});

test('content whose shape varies within a side is not compared', () => {
  const list = [answer('[1,2,3]'), answer('[1]')];
  assert.equal(describeAnswerDifference(list, twice('[5,6]')), null);
});

test('the lengths of long content that varies, or is compressed, may differ a little', () => {
  const beginning = (id, contentBytes) => answer(`{"id":${id},`, { contentBytes, isWhole: false });
  const a = [beginning(1, 5000), beginning(2, 5000)];
  assert.equal(describeAnswerDifference(a, [beginning(10, 5001), beginning(11, 5001)]), null);
  assert.match(
    describeAnswerDifference(a, [beginning(1, 9000), beginning(2, 9000)]),
    /^5000 bytes of content of A, 9000 of B$/,
  );
  const gzip = (contentBytes) => twice(null, { contentBytes, contentEncoding: 'gzip' });
  assert.equal(describeAnswerDifference(gzip(5000), gzip(5020)), null);
});

test('a length that includes the framing of chunks may differ by a hundredth', () => {
  const chunked = (contentBytes) => twice('x', { contentBytes, isAbout: true, isWhole: false });
  assert.equal(describeAnswerDifference(chunked(50_000), chunked(50_100)), null);
  assert.notEqual(describeAnswerDifference(chunked(50_000), chunked(52_000)), null);
});
