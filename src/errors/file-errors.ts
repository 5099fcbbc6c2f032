export const REASONS: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'is a directory',
};

/** Why a file cannot be used, without what the message of Node repeats. */
export function fileErrorReason(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // As in `ENOSPC: no space left on device, write`.
  return REASONS[code] ?? /^[A-Z\d]+: ([^,]+), \w+/.exec(message)?.[1] ?? message;
}
