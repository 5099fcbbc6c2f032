import { readInternal } from '../../outbound/undici-internals.js';

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

/** Returns the handler of a request. */
export function findHandler(request: object): Handler {
  const handler = readInternal(request, 'handler') as WrappedHandler | null | undefined;
  return handler?.[kHandler] ?? handler ?? {};
}
