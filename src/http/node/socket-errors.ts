import { getSystemErrorMap } from 'node:util';

/** An error as libuv's: `read ECONNRESET`. */
export function systemError(syscall: string, errno: number): Error {
  const code = getSystemErrorMap().get(errno)?.[0] ?? 'UNKNOWN';
  return Object.assign(new Error(`${syscall} ${code}`), { errno, code, syscall });
}

/** As a stream's that was destroyed. */
export function destroyedError(): Error {
  return Object.assign(new Error('Cannot call write after a stream was destroyed'), {
    code: 'ERR_STREAM_DESTROYED',
  });
}

/** As Node's, where the peer's end has ended the connection. */
export function endedByPeerError(): Error {
  return Object.assign(new Error('This socket has been ended by the other party'), {
    code: 'EPIPE',
  });
}

/** As a stream's that was ended. */
export function afterEndError(): Error {
  return Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
}
