import { EventEmitter } from 'node:events';
import net from 'node:net';
import { Readable } from 'node:stream';
import { nodeHttp } from './node-http.js';
import type { Incoming, Outgoing } from './node-internals.js';

/*
 * Node's own methods that the short paths go around. Tracers and middleware replace methods on a prototype or on one
 * object, before the stack is loaded or at any time later; a short path is taken only where the object still has
 * Node's own.
 */

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Stands for a method that was replaced before the stack was loaded. No object has it. */
const replaced: Method = () => undefined;

/** The method of a prototype if it is Node's own, which a word of Node's internals in its source shows. */
function own(prototype: object, name: string, word: string): Method {
  const method = (prototype as Record<string, unknown>)[name];
  if (typeof method !== 'function') return replaced;
  return Function.prototype.toString.call(method).includes(word) ? (method as Method) : replaced;
}

const { OutgoingMessage, ServerResponse, IncomingMessage } = nodeHttp;
const outgoing = OutgoingMessage.prototype;
const response = ServerResponse.prototype;
const incoming = IncomingMessage.prototype;
const readable = Readable.prototype;

export const emit = own(EventEmitter.prototype, 'emit', 'kErrorMonitor');
const on = own(EventEmitter.prototype, 'on', '_addListener(');
const once = own(EventEmitter.prototype, 'once', '_onceWrap(');
const prependListener = own(EventEmitter.prototype, 'prependListener', '_addListener(');
const removeListener = own(EventEmitter.prototype, 'removeListener', 'spliceOne');
const listenerCount = own(EventEmitter.prototype, 'listenerCount', 'evlistener');
const send = own(outgoing, '_send', '_writeRaw(');
const writeRaw = own(outgoing, '_writeRaw', '_flushOutput(');
const flush = own(outgoing, '_flush', '_flushOutput(');
const flushOutput = own(outgoing, '_flushOutput', 'outputData');
const cork = own(outgoing, 'cork', 'kCorked');
const uncork = own(outgoing, 'uncork', 'kCorked');
const assignSocket = own(response, 'assignSocket', 'onServerResponseClose');
const detachSocket = own(response, 'detachSocket', 'onServerResponseClose');
const dump = own(incoming, '_dump', '_dumped');
const addHeaderLines = own(incoming, '_addHeaderLines', 'kHeadersCount');
const addHeaderLine = own(incoming, '_addHeaderLine', 'matchKnownFields');
const incomingRead = own(incoming, '_read', '_consuming');
const incomingDestroy = own(incoming, '_destroy', 'readableEnded');
const push = own(readable, 'push', 'readableAddChunk');
const read = own(readable, 'read', 'endReadable(this');
const destroy = own(readable, 'destroy', 'kConstruct');
const resume = own(readable, 'resume', 'resume(this');
const pause = own(readable, 'pause', 'kPaused');
const readableRemoveAll = own(readable, 'removeAllListeners', 'updateReadableListening');
const readableRemove = own(readable, 'removeListener', 'updateReadableListening');
const readableOn = own(readable, 'on', 'readableListening');

/** Whether `assignSocket` is Node's own, as it was found. */
export const isAssignSocketUnpatched = assignSocket !== replaced;
/** Whether `end` and `write` are Node's own, as they were found. */
export const isEndUnpatched = own(outgoing, 'end', 'write_(') !== replaced;
export const isWriteUnpatched = own(outgoing, 'write', 'write_(') !== replaced;
export const isStoreHeaderUnpatched = own(outgoing, '_storeHeader', 'processHeader(') !== replaced;
export const isPipeUnpatched =
  own(incoming, 'pipe', 'ondrain') !== replaced &&
  own(incoming, 'unpipe', 'unpipeInfo') !== replaced;

/** Methods of sockets that the stack's own sockets have in another form, with words of their source. */
const ofSockets = (
  [
    ['write', '_write(this'],
    ['end', 'Duplex.prototype.end'],
    ['cork', 'kCorked'],
    ['uncork', 'kCorked'],
    ['destroy', 'kOnFinished'],
    ['destroySoon', 'writableFinished'],
    ['pause', 'kBuffer'],
    ['resume', 'tryReadStart'],
    ['read', 'tryReadStart'],
    ['on', 'kDataListening'],
    ['setNoDelay', 'kSetNoDelay'],
    ['setKeepAlive', 'kSetKeepAlive'],
  ] as const
).map(([name, word]) => [name, own(net.Socket.prototype, name, word)] as const);

/** Whether sockets have Node's own methods; where they have not, the stack's sockets would not call what is there. */
export function areSocketsUnpatched(): boolean {
  const prototype = net.Socket.prototype as unknown as Record<string, unknown>;
  return (
    prototype.emit === EventEmitter.prototype.emit &&
    ofSockets.every(([name, method]) => prototype[name] === method)
  );
}

type Emitter = { _eventsCount: number; emit: unknown };

/** Whether somebody may see what this object emits. */
export function isObserved(emitter: Emitter): boolean {
  return emitter._eventsCount > 0 || emitter.emit !== emit;
}

/** Whether the bytes of a response go out by Node's own methods. */
export function usesNodeSend(response: Outgoing): boolean {
  const methods = response as unknown as Record<string, unknown>;
  return (
    methods._send === send &&
    methods._writeRaw === writeRaw &&
    methods._flushOutput === flushOutput &&
    methods.uncork === uncork &&
    methods.cork === cork
  );
}

/** Whether a response gets its socket, and gives it back, by Node's own methods with nobody to see it. */
export function usesNodeAssignSocket(response: Outgoing): boolean {
  const methods = response as unknown as Record<string, unknown>;
  return (
    methods.emit === emit &&
    methods.on === on &&
    methods.assignSocket === assignSocket &&
    methods.detachSocket === detachSocket &&
    methods._flush === flush &&
    methods._flushOutput === flushOutput
  );
}

/** Whether a request's fields come by Node's own method. */
export function usesNodeAddHeaderLines(request: Incoming): boolean {
  const methods = request as unknown as Record<string, unknown>;
  return methods._addHeaderLines === addHeaderLines && methods._addHeaderLine === addHeaderLine;
}

/** Whether a request that nobody reads ends by Node's own methods with nobody to see it. */
export function usesNodeRequestEnd(request: Incoming): boolean {
  const methods = request as unknown as Record<string, unknown>;
  return (
    request._eventsCount === 0 &&
    methods.emit === emit &&
    methods.on === readableOn &&
    methods.removeAllListeners === readableRemoveAll &&
    methods.push === push &&
    methods.read === read &&
    methods._read === incomingRead &&
    methods._dump === dump &&
    methods.resume === resume &&
    methods.destroy === destroy &&
    methods._destroy === incomingDestroy
  );
}

/** Whether a request's `pipe` would put its listeners on both by Node's own methods. */
export function usesNodePipe(request: Incoming, response: Outgoing): boolean {
  const source = request as unknown as Record<string, unknown>;
  const target = response as unknown as Record<string, unknown>;
  return (
    source.on === readableOn &&
    source.once === once &&
    source.removeListener === readableRemove &&
    source.listenerCount === listenerCount &&
    source.emit === emit &&
    source.pause === pause &&
    source.resume === resume &&
    target.on === on &&
    target.once === once &&
    target.prependListener === prependListener &&
    target.removeListener === removeListener &&
    target.emit === emit &&
    // Replaced where the stack's own do not see it, they end the response in another way.
    target.write === outgoing.write &&
    target.end === outgoing.end
  );
}
