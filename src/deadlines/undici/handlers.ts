import { readInternal } from '../../outbound/undici-internals.js';
import { nodeHttp } from '../http/node-http.js';

/** The handler of a request, with what that copy of undici stores in it. */
export interface Handler {
  opaque?: unknown;
  res?: unknown;
}

/** The symbol under which copies before version 8 find the global dispatcher. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

const kHandler = Symbol('millrace.handler');
type WrappedHandler = Handler & { [kHandler]?: Handler };

interface WrapperClass {
  wrapHandler?: (handler: Handler) => WrappedHandler;
  [kHandler]?: true;
}

/**
 * Records from now on which handler a wrapper is for. From Node 26 on the global dispatcher is that of Node's own
 * undici, once that is loaded; it wraps the handlers of older copies and keeps them private.
 */
export function patchHandlerWrapper(): void {
  const dispatcher = Reflect.get(globalThis, GLOBAL_DISPATCHER) as object | undefined;
  const wrapper = dispatcher?.constructor as WrapperClass | undefined;
  const wrap = wrapper?.wrapHandler;
  if (wrapper === undefined || wrap === undefined || wrapper[kHandler]) return;
  wrapper[kHandler] = true;
  wrapper.wrapHandler = (handler) => {
    const wrapped = wrap.call(wrapper, handler);
    if (wrapped !== handler) wrapped[kHandler] = handler;
    return wrapped;
  };
}

/** Exports of `node:http` that load Node's own undici when they are first read: an import of the module reads all. */
const LAZY_EXPORTS = ['CloseEvent', 'MessageEvent', 'WebSocket'];

/**
 * Patches the wrapper as soon as an import of `node:http` loads Node's own undici, as it wraps the handler of the first
 * request, too. Global names that load it cannot be observed: it is enough to look at their descriptors.
 */
export function awaitOwnUndici(): void {
  patchHandlerWrapper();
  for (const name of LAZY_EXPORTS) afterGet(nodeHttp, name, patchHandlerWrapper);
}

/** Calls a function after each read of a property, if it has a getter. */
function afterGet(holder: object, name: string, call: () => void): void {
  const property = Object.getOwnPropertyDescriptor(holder, name);
  const get = property?.get;
  if (get === undefined || !property?.configurable) return;
  Object.defineProperty(holder, name, {
    ...property,
    get(this: unknown): unknown {
      const value = get.call(this);
      call();
      return value;
    },
  });
}

/** Returns the handler of a request. */
export function findHandler(request: object): Handler {
  const handler = readInternal(request, 'handler') as WrappedHandler | null | undefined;
  return handler?.[kHandler] ?? handler ?? {};
}
