/** Cuts a name to a width; its control characters must not reach the terminal. */
export function cutName(name: string, width: number): string {
  const text = name.replace(/\p{Cc}/gu, '\u{fffd}');
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
