const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is in use',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
  ENOTFOUND: 'no such host',
  ENOENT: 'no such folder',
};

/** Says why a server cannot listen, without what the message of Node repeats. */
export function listenErrorReason({ code = '', message }: NodeJS.ErrnoException): string {
  return REASONS[code] ?? message;
}
