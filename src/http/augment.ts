/**
 * Declares for TypeScript what servers and responses of `node:http` have in addition if the native stack is in effect
 * (`millrace/register`, `install()`). All of it is optional, as servers are Node's own with `MILLRACE_STACK=node`. There is no
 * code.
 *
 * @module millrace/http/augment
 */
import type { StackOptions } from './install/options.js';
import type { StackMembers, StackResponseMembers } from './server/stack-members.js';

declare module 'node:http' {
  /** The version of Millrace if `millrace/register` or `install()` is in effect. */
  const millraceVersion: string | undefined;
  interface Server extends Partial<StackMembers> {}
  interface ServerOptions extends StackOptions {}
  interface ServerResponse extends StackResponseMembers {}
}
