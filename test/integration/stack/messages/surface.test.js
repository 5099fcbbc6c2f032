// Every option of servers, every method and property of servers, sockets, requests and responses, with every kind of value: as
// with Node. What differs is listed here and in docs/reference/stack-differences.md.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retried } from '../../../fixtures/retry.js';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';
import { SURFACE } from '../../../fixtures/stack/messages/api-names.js';

/** By part of the table; `/^$/` is no name. */
const PARTS = {
  // Node fails in its parser, which answers 400, or in the making of a socket; a handshake may be over in a millisecond.
  createOptions:
    /^createServer (IncomingMessage|ServerResponse|highWaterMark): |^https.createServer (enableTrace: (0|NaN|'')|handshakeTimeout: (1|Infinity))$/,
  listenOptions: /^$/,
  // Properties that are not documented, and what Node 20 alone throws for.
  serverProperties:
    /^server\.(highWaterMark|pauseOnConnect) = |^server\.keepAliveTimeout = (Infinity|')/,
  serverMethods: /^$/,
  messages: new RegExp(
    [
      // A property of the prototype, which is found among the names.
      'names$',
      'request\\.(upgrade|rawHeaders) ',
      'socket\\.(push|unshift)\\(\\) ',
      'socket\\.(timeout|allowHalfOpen|bytesRead|closed|destroyed) ',
      'socket\\.(readable|readableEnded|readableFlowing) ',
      'socket\\.(writable|writableEnded|writableFinished) ',
    ]
      .map((known) => `^${known}`)
      .join('|'),
  ),
};

describe('properties of messages with every kind of value', { timeout: 300_000 }, () => {
  for (const [part, known] of Object.entries(PARTS)) {
    test(`${part} accepts and refuses the same values as with Node`, async () => {
      const { plain } = await retried(
        () => both('messages/api-surface.js', { args: [part] }),
        (seen) => assert.equal(differences(seen, known), ''),
      );
      for (const [what, names] of Object.entries(plain.names)) {
        const unknown = names.filter((name) => !SURFACE[what].includes(name));
        assert.deepEqual(unknown, [], `${what} that are new in this Node.js`);
      }
    });
  }
});
