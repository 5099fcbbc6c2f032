/** Returns a note for each argument before `--` with bytes that are not UTF-8. Node.js has replaced them by U+FFFD. */
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
