/**
 * A note on each argument before `--` whose bytes are not UTF-8: the system hands such bytes on, and Node.js replaces them
 * by U+FFFD before this program sees them.
 */
export function noteUndecoded(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  return own
    .filter((word) => word.includes('\uFFFD'))
    .map((word) => {
      const start = word.length > 40 ? `${word.slice(0, 40)}...` : word;
      return `'${start}' contains U+FFFD, which stands for bytes that are not UTF-8 and is sent as it is: send bytes with --body @FILE`;
    });
}
