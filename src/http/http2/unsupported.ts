import type { Connection } from '../state/connection.js';
import type { FallbackReason } from '../state/fallback-reason.js';

/** A server whose later connections Node's own code may have to serve. */
interface Http2NativeServer {
  leaveToNode(reason: FallbackReason): void;
}

/** The first use of a member that only Node's own streams and sessions have. */
export class UnsupportedMemberError extends Error {
  readonly code = 'MILLRACE_HTTP2_MEMBER';

  constructor(member: string) {
    super(
      `${member} is not there where Millrace serves HTTP/2 natively; Node's own code serves this server's further connections. ` +
        'Without MILLRACE_HTTP2=on it serves all of them',
    );
  }
}

/** Throws for a member, and leaves the later connections of the server to Node's own code. */
export function throwUnsupported(connection: Connection, object: string, member: string): never {
  const server = connection.nativeServer as unknown as Http2NativeServer;
  server.leaveToNode(`http2-member:${object}.${member}`);
  throw new UnsupportedMemberError(`${object}.${member}`);
}

/** Lets the use of each of these members throw. */
export function trapMembers<T extends object>(
  prototype: T,
  object: string,
  members: readonly string[],
  connectionOf: (instance: T) => Connection,
): void {
  for (const member of members) {
    Object.defineProperty(prototype, member, {
      get(this: T) {
        return throwUnsupported(connectionOf(this), object, member);
      },
      configurable: true,
    });
  }
}
