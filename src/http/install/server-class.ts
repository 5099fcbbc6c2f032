import type http from 'node:http';
import { inherits } from 'node:util';
import type { StackListener } from '../server/stack-members.js';
import { applyOptions } from './installation.js';
import type { StackOptions } from './options.js';

/** `http.Server` or `https.Server` as Node has it: callable with and without `new`. */
export interface ServerClass<S, O> {
  new (options?: Options<O>, listener?: StackListener): S;
  (options?: Options<O>, listener?: StackListener): S;
  readonly prototype: S;
}

type Options<O> = (O & StackOptions) | StackListener;

/** Creates a class of servers like Node's `base` on the native stack; its options may contain those of the stack. */
export function serverClass<S extends object, O>(
  base: object,
  install: (prototype: object) => void,
): ServerClass<S, O> {
  const construct = base as unknown as (this: S, ...args: unknown[]) => void;
  function Server(this: S, options?: Options<O>, listener?: StackListener): S {
    if (!(this instanceof Server)) return new StackServer(options, listener);
    construct.call(this, options, listener);
    applyOptions(this as unknown as http.Server, options);
    return this;
  }
  const StackServer = Server as unknown as ServerClass<S, O>;
  inherits(Server, base as never);
  install(StackServer.prototype);
  return StackServer;
}
