import { nodeHttp } from '../install/node-http.js';
import type { Incoming, Outgoing } from '../install/node-internals.js';

type MakeRequest = new (socket: unknown) => Incoming;
type MakeResponse = new (request: unknown, options: object) => Outgoing;

/**
 * The classes of a server's requests and responses.
 *
 * An application of Express is a listener with the objects `request` and `response`, and the first thing that it does
 * with a request and its response is to make these their prototypes. That costs V8 what it knows of the objects,
 * and all that touches them later runs slower. For such a listener they are made with those prototypes, and
 * giving them once more changes nothing. On Node 20 and 22 that saves up to four fifths of the CPU time of such a request; from
 * Node 24 on, V8 changes prototypes at less cost than it takes to make objects of several kinds
 * (`npm run bench -- stack --case express` and `express-mounted`).
 */
export class MessageClasses {
  Request: MakeRequest;
  Response: MakeResponse;
  readonly #Request: MakeRequest;
  readonly #Response: MakeResponse;
  /** The listener that the classes are for; several in an array, as in `EventEmitter`. */
  #listener: unknown;

  constructor(
    Request: MakeRequest = nodeHttp.IncomingMessage as never,
    Response: MakeResponse = nodeHttp.ServerResponse as never,
  ) {
    this.Request = this.#Request = Request;
    this.Response = this.#Response = Response;
  }

  /** Adapts the classes to the server's listener. */
  fit(listener: unknown): void {
    if (listener === this.#listener || !PAYS) return;
    this.#listener = listener;
    const prototypes = typeof listener === 'function' ? (listener as Application) : NONE;
    this.Request = on(prototypes.request, this.#Request);
    this.Response = on(prototypes.response, this.#Response);
  }
}

const PAYS = Number.parseInt(process.versions.node, 10) < 24;

interface Application {
  readonly request?: unknown;
  readonly response?: unknown;
}

const NONE: Application = {};

/** Derives a class from `Base` whose objects have this prototype, if the prototype is derived from that of the base. */
function on<Make extends MakeRequest | MakeResponse>(prototype: unknown, Base: Make): Make {
  if (!(prototype instanceof Base) || !isCallable(Base)) return Base;
  const construct = Base as unknown as (this: unknown, first: unknown, second: unknown) => void;
  function Message(this: unknown, first: unknown, second: unknown) {
    construct.call(this, first, second);
  }
  Message.prototype = prototype;
  return Message as never;
}

/** A constructor in the old style can be called for an object that is there; Node's own are, an application's may not be. */
function isCallable(Base: unknown): boolean {
  return Base === nodeHttp.IncomingMessage || Base === nodeHttp.ServerResponse;
}
