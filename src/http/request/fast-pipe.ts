import { nodeHttp } from '../node/node-http.js';
import { type Incoming, kConnection, type Outgoing } from '../node/node-internals.js';
import { isObserved, isPipeUnpatched, usesNodePipe } from '../node/node-methods.js';
import { replaceMethod } from '../node/replace-method.js';
import type { Connection } from '../state/connection.js';

type Pipe = (this: unknown, destination: unknown, options?: unknown) => unknown;

type Listener = (...args: unknown[]) => void;

/** A request whose body goes to its own response. */
interface Piping {
  /** The response, as long as Node's pipe is not needed. */
  [kPiped]?: Outgoing | undefined;
  /** A part of the body has gone. */
  [kBegun]?: boolean;
  [kNode]?: NodePipe | undefined;
}

/** Node's own pipe, whose listeners are called in the place of those that were there before. */
interface NodePipe {
  response: Outgoing;
  data: Listener | undefined;
  end: Listener | undefined;
}

/** 'data' and 'end'. */
const OWN_EVENTS = 2;
const kPiped = Symbol('millrace.piped');
const kBegun = Symbol('millrace.begun');
const kNode = Symbol('millrace.node');
let nodePipe: Pipe;
let nodeUnpipe: Pipe;

/**
 * `pipe` for the usual case, a small request into its own response. Node's own puts five listeners on the response and
 * takes them away again, which costs as much as all else of such a request. Here the response says itself when it is
 * over (`unpipeFinished`). Whatever else happens before that (a second part of the body, a full connection, another
 * destination, `unpipe`) turns it into Node's own pipe.
 */
function pipe(this: Incoming & Piping, destination: unknown, options?: unknown): unknown {
  toNode(this);
  const response = destination as (Outgoing & { [kConnection]?: Connection }) | undefined;
  // Of any other stream, too.
  if (response?.[kConnection] === undefined || (response.req as unknown) !== this) {
    return nodePipe.call(this, destination, options);
  }
  const state = this._readableState;
  if (
    options !== undefined ||
    state.pipes.length > 0 ||
    state.endEmitted ||
    state.destroyed ||
    // In which order its listeners are called would differ.
    response._eventsCount > 0 ||
    // Node's own pipe calls it at the end.
    this.unpipe !== (unpipe as unknown) ||
    !usesNodePipe(this, response) ||
    (this._eventsCount > 0 && this.listenerCount('pause') > 0) ||
    response.finished ||
    response.destroyed ||
    response.writableNeedDrain
  ) {
    return nodePipe.call(this, destination, options);
  }
  this[kPiped] = response;
  state.pipes.push(response);
  this.on('end', endResponse);
  this.on('data', forward);
  if (!state.flowing) this.resume();
  return destination;
}

function unpipe(this: Incoming & Piping, destination?: unknown): unknown {
  toNode(this);
  const piped = this[kNode];
  if (piped && (destination === undefined || destination === piped.response)) {
    this[kNode] = undefined;
    this.removeListener('data', forward);
    this.removeListener('end', endResponse);
  }
  return nodeUnpipe.call(this, destination);
}

function forward(this: Incoming & Piping, chunk: unknown): void {
  const piped = this[kNode];
  if (piped) {
    piped.data?.(chunk);
    return;
  }
  const response = this[kPiped] as (Outgoing & { [kConnection]?: Connection }) | undefined;
  // No other code runs between a part of the body and its end: they are sent together.
  const connection = response?.[kConnection];
  if (connection !== undefined) connection.flushesAtTurnEnd = true;
  const more = response?.write(chunk as Buffer);
  if (more && !this[kBegun]) this[kBegun] = true;
  // Node's own pipe waits while the response is full.
  else toNode(this);
}

function endResponse(this: Incoming & Piping): void {
  const piped = this[kNode];
  if (piped) piped.end?.();
  else this[kPiped]?.end();
}

/** Replaces the short path by Node's own pipe, as if it had been there from the start; parts that were piped are not repeated. */
function toNode(request: Incoming & Piping): void {
  const response = request[kPiped];
  if (response === undefined) return;
  const { pipes, endEmitted } = request._readableState;
  request[kPiped] = undefined;
  pipes.splice(pipes.indexOf(response), 1);
  const listeners = response.rawListeners('pipe') as Listener[];
  for (const listener of listeners) response.removeListener('pipe', listener);
  nodePipe.call(request, response);
  for (const listener of listeners) response.on('pipe', listener);
  for (const name of ['unpipe', 'close', 'finish']) toFront(response, name);
  request[kNode] = {
    response,
    data: takeLast(request, 'data'),
    end: endEmitted ? undefined : takeLast(request, 'end'),
  };
}

/** Takes a listener away that was just added. */
function takeLast(request: Incoming, name: string): Listener | undefined {
  const last = request.rawListeners(name).at(-1) as
    | (Listener & { listener?: Listener })
    | undefined;
  if (last) request.removeListener(name, last);
  return last?.listener ?? last;
}

/** Calls the listener that was just added before the others. */
function toFront(response: Outgoing, name: string): void {
  const listeners = response.rawListeners(name) as Listener[];
  const last = listeners.at(-1);
  if (listeners.length < 2 || !last) return;
  response.removeListener(name, last);
  response.prependListener(name, last);
}

/** Stops the pipe into a response that has ended, as Node does; 'unpipe' reports it. */
export function unpipeFinished(request: Incoming & Piping, response: Outgoing): void {
  if (request[kPiped] !== response) return;
  const state = request._readableState;
  if (state.endEmitted && !isObserved(response) && request._eventsCount === OWN_EVENTS) {
    // There are no listeners, and no further data.
    request[kPiped] = undefined;
    state.pipes.length = 0;
  } else {
    request.unpipe(response as never);
  }
}

/**
 * Puts the fast path, for requests of native connections alone, where streams have `pipe`: what an application puts there later is
 * called as with Node.
 */
export function installPipe(): void {
  if (!isPipeUnpatched) return;
  const { prototype } = nodeHttp.IncomingMessage;
  replaceMethod<Pipe>(prototype, 'pipe', (original) => {
    nodePipe = original;
    return pipe as Pipe;
  });
  replaceMethod<Pipe>(prototype, 'unpipe', (original) => {
    nodeUnpipe = original;
    return unpipe as Pipe;
  });
}
