import diagnostics from 'node:diagnostics_channel';
import { type HttpServer, internalKey } from '../node/node-internals.js';
import type { FallbackReason } from '../state/fallback-reason.js';

/** What an application has given to `createServer`, as Node keeps it. */
export interface SessionOptions {
  settings?: Record<string, unknown>;
  allowHTTP1?: boolean;
  [name: string]: unknown;
}

/** Settings that the native sessions follow; they never push. */
const SETTINGS = new Set(['enablePush', 'maxConcurrentStreams']);

/** Options that only Node's own sessions follow. */
const OF_NODE = [
  ...['maxDeflateDynamicTableSize', 'maxSettings', 'maxSessionMemory', 'maxHeaderListPairs'],
  ...['maxOutstandingPings', 'maxOutstandingSettings', 'maxReservedRemoteStreams'],
  ...['maxSendHeaderBlockLength', 'paddingStrategy', 'peerMaxConcurrentStreams'],
  ...['maxSessionInvalidFrames', 'maxSessionRejectedStreams', 'remoteCustomSettings'],
  ...['streamResetBurst', 'streamResetRate', 'strictFieldWhitespaceValidation'],
  ...['connectionWindowSize', 'origins'],
];

/** Events whose listeners get what only Node's own sessions have. */
const EVENTS = ['sessionError', 'connect', 'priority'] as const;

/** Channels that report what happens in Node's own sessions. */
const CHANNELS = ['created', 'start', 'error', 'finish', 'close'].map((name) =>
  diagnostics.channel(`http2.server.stream.${name}`),
);

/** The name of Node's listener for 'stream', which creates requests and responses for those of 'request'. */
const COMPATIBILITY = 'bound onServerStream';

/** The options of a server of `node:http2`; `undefined`: it is none. */
export function getSessionOptions(server: HttpServer): SessionOptions | undefined {
  const key = internalKey(server, 'options');
  const options = key && server[key];
  return typeof options === 'object' && options !== null ? (options as SessionOptions) : undefined;
}

/** Why Node's own code serves a server's connections, as its listeners and options are now. */
export function findNodeReason(server: HttpServer): FallbackReason | undefined {
  const [first, ...more] = server.listeners('stream');
  if (first === undefined) return 'http2-no-request-listener';
  if (more.length > 0 || first.name !== COMPATIBILITY) return 'http2-event:stream';
  const event = EVENTS.find((name) => server.listenerCount(name) > 0);
  if (event) return `http2-event:${event}`;
  const channel = CHANNELS.find(({ hasSubscribers }) => hasSubscribers);
  if (channel) return `http2-event:${String(channel.name)}`;
  const options = getSessionOptions(server) ?? {};
  const option = OF_NODE.find((name) => options[name] !== undefined);
  if (option) return `http2-option:${option}`;
  // What Node does by default, where it knows the option.
  if (options.strictSingleValueFields === false) return 'http2-option:strictSingleValueFields';
  const { settings = {} } = options;
  const setting = Object.keys(settings).find((name) => !SETTINGS.has(name));
  return setting === undefined ? undefined : `http2-option:settings.${setting}`;
}
