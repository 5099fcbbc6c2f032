import type { Handle } from '../connection/handle/handle.js';
import { hasRemovedDataListener } from '../connection/replaced-listeners.js';
import { nodeHttp } from '../node/node-http.js';
import type { HttpServer } from '../node/node-internals.js';
import { batch } from '../reactor/event-batch.js';
import { REASON_BODY, REASON_CLOSED, REASON_UPGRADE } from '../reactor/events.js';
import { native } from '../reactor/native.js';
import { eofError } from '../request/error-responses.js';
import type { Connection } from '../state/connection.js';
import { UPGRADE } from './node-handoff.js';
import { NodeParserBody, parseWithNode } from './node-parser.js';

/** A head after which Node's parser accepts no further bytes. */
const CLOSING_HEAD = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** The source of the default `shouldUpgradeCallback` of Node's servers. */
const DEFAULT_CALLBACK = String((nodeHttp.createServer() as HttpServer).shouldUpgradeCallback);

/** Bytes that bring Node's parser to the state of the reactor's within a body, by their length. */
const PRELUDES = new Map([
  [0, ''],
  [4, '1\r\nx'],
  [3, '0\r\n'],
]);

/** Handles bytes that only Node's parser can read; `packet` is what was read last, which ends with them. */
export function onUnparsed(
  connection: Connection,
  bytes: Buffer,
  packet: Buffer,
  reason: number,
  prelude: number,
): void {
  const { nativeServer } = connection;
  const { server } = nativeServer;
  switch (reason) {
    case REASON_UPGRADE:
      onUpgrade(connection, bytes, packet);
      break;
    case REASON_BODY:
      connection.fallbackParser = new NodeParserBody(
        server,
        connection,
        PRELUDES.get(prelude) ?? '',
      );
      onRaw(connection, bytes, packet);
      break;
    case REASON_CLOSED: {
      native.stackProceedRaw(connection.id);
      const { error } = parseWithNode(server, bytes, packet, CLOSING_HEAD);
      nativeServer.onError(connection, error ?? eofError());
      break;
    }
    default:
      onUnusual(connection, bytes, packet);
  }
}

function onUpgrade(connection: Connection, bytes: Buffer, packet: Buffer): void {
  const { nativeServer, incoming } = connection;
  const { server } = nativeServer;
  const fallBack = () => nativeServer.fallBack(connection, { bytes, packet }, UPGRADE);
  if (incoming.length > 0 && mayRefuseUpgrade(server)) {
    // If it is refused, its response comes after those to earlier requests.
    connection.afterResponses = fallBack;
  } else if (wantsUpgrade(server)) {
    // At once, as Node does, even if earlier requests are unanswered.
    fallBack();
  } else native.stackProceed(connection.id);
}

function wantsUpgrade(server: HttpServer): boolean {
  return Boolean(server.shouldUpgradeCallback) || server.listenerCount('upgrade') > 0;
}

/**
 * Whether `shouldUpgradeCallback` may refuse an upgrade: Node's default accepts all if there is a listener for
 * 'upgrade'.
 */
function mayRefuseUpgrade(server: HttpServer): boolean {
  const { shouldUpgradeCallback } = server;
  if (!shouldUpgradeCallback) return false;
  return (
    String(shouldUpgradeCallback) !== DEFAULT_CALLBACK || server.listenerCount('upgrade') === 0
  );
}

/** Handles unusual bytes. Node reports an error at once, a request when those before it are answered. */
function onUnusual(connection: Connection, bytes: Buffer, packet: Buffer): void {
  const { nativeServer, incoming } = connection;
  const isBehind = incoming.length > 0 || packet.length > bytes.length;
  const error = isBehind ? findFirstError(nativeServer.server, bytes, packet) : null;
  if (error) {
    native.stackProceedRaw(connection.id);
    nativeServer.onError(connection, error);
    return;
  }
  const fallBack = () =>
    nativeServer.fallBack(connection, { bytes, packet }, 'unsupported-request');
  if (incoming.length === 0) fallBack();
  else connection.afterResponses = fallBack;
}

/** Finds an error in bytes that start a request. One behind a complete head is found again when the application has that request. */
function findFirstError(server: HttpServer, bytes: Buffer, packet: Buffer): Error | null {
  const { error, requests } = parseWithNode(server, bytes, packet);
  return requests === 0 ? error : null;
}

/** Handles further bytes of a body that Node's parser reads. */
export function onRaw(connection: Connection, bytes: Buffer, packet = bytes): void {
  if (connection.isRaw) {
    pushRaw(connection, bytes);
    return;
  }
  const end = parseRaw(connection, bytes, packet);
  if (connection.id < 0) return;
  if (end === null) {
    native.stackProceedRaw(connection.id);
    return;
  }
  connection.fallbackParser = null;
  const { nativeServer } = connection;
  const rest = bytes.subarray(end);
  // As with Node, an error behind the body is reported without a tick in between.
  const error = rest.length > 0 ? findFirstError(nativeServer.server, rest, packet) : null;
  if (error) {
    native.stackProceedRaw(connection.id);
    nativeServer.onError(connection, error);
  } else {
    native.stackProceedBehind(connection.id, end);
  }
}

function parseRaw(connection: Connection, bytes: Buffer, packet: Buffer): number | null {
  const parser = connection.fallbackParser;
  try {
    return parser?.parse(bytes, packet) ?? null;
  } catch (error) {
    // A listener for 'clientError' has thrown: the end of the connection is still to be read.
    if (!parser?.expectsMore && connection.id >= 0) native.stackProceedRaw(connection.id);
    throw error;
  }
}

/** Gives the stream bytes that Node's own code parses; as Node's handle does, a full stream stops the reading. */
function pushRaw(connection: Connection, bytes: Buffer): void {
  const { socket } = connection;
  connection.refreshTimer();
  const handle = socket._handle as Handle | null;
  if (!socket.destroyed && !socket.push(bytes) && handle !== null) {
    handle.reading = false;
    handle.readStop();
  }
  if (connection.id >= 0) native.stackProceedRaw(connection.id);
}

/** What applications have put into sockets while requests were unanswered, in order. */
const injectedBefore = new WeakMap<Connection, Buffer[]>();

/**
 * Falls back because the application listens for the connection's bytes, or pushes some (`injected`). During a request this
 * happens only if the application has removed Node's listener for them; otherwise when the request is answered. Returns whether
 * Node's own code has the connection now.
 */
export function fallBackForRawData(connection: Connection, injected?: Buffer): boolean {
  if (connection.id < 0 || connection.isFallback) return false;
  const isWithinRequest = connection.incoming.length > 0 && !hasRemovedDataListener(connection);
  if (isWithinRequest || connection.receiving !== null) {
    if (injected) keepInjected(connection, injected);
    connection.afterResponses ??= () => void fallBackForRawData(connection);
    return false;
  }
  const kept = injectedBefore.get(connection);
  injectedBefore.delete(connection);
  const all = kept ? Buffer.concat(injected ? [...kept, injected] : kept) : injected;
  connection.nativeServer.fallBack(connection, null, 'raw-data-listener', all);
  // What `fallBack` has set.
  return (connection as { isFallback: boolean }).isFallback;
}

/**
 * Falls back with the event of a connection's first request, which is one of HTTP/1.1: the listener for bytes gets that request, too.
 * Returns whether Node's own code has the connection now.
 */
export function fallBackWithRequest(connection: Connection): boolean {
  connection.fallsBackAtRequest = false;
  // The event counts as one that is still to come.
  batch.cursor--;
  try {
    return fallBackForRawData(connection);
  } finally {
    batch.cursor++;
  }
}

/** Keeps a copy, as the memory is the application's. */
function keepInjected(connection: Connection, bytes: Buffer): void {
  const kept = injectedBefore.get(connection);
  if (kept) kept.push(Buffer.from(bytes));
  else injectedBefore.set(connection, [Buffer.from(bytes)]);
}
