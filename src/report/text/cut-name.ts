/** Cuts a name to a width; its control characters must not reach the terminal. */
export function cutName(name: string, width: number): string {
  const text = hideControls(name);
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Cuts a name to a width in its middle, as names of machines may differ at either end. */
export function cutMiddle(name: string, width: number): string {
  const text = hideControls(name);
  if (text.length <= width) return text;
  const begin = Math.max(0, Math.floor((width - 1) / 2));
  return `${text.slice(0, begin)}…${text.slice(text.length - Math.max(0, width - 1 - begin))}`;
}

function hideControls(name: string): string {
  return name.replace(/\p{Cc}/gu, '\u{fffd}');
}
