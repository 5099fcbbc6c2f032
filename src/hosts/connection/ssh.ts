import type { Host } from '../host.js';

/**
 * Flags of every connection; the user's own, which stand before them, win. Nothing is asked at a terminal, a dead connection
 * is noticed, and the configuration of a host takes part only in how it is reached.
 */
const FLAGS = [
  '-T',
  ...['-o', 'BatchMode=yes'],
  ...['-o', 'ConnectTimeout=10'],
  ...['-o', 'ServerAliveInterval=5'],
  ...['-o', 'ServerAliveCountMax=3'],
  // A connection that others share would outlive this process.
  ...['-o', 'ControlMaster=no'],
  ...['-o', 'ClearAllForwardings=yes'],
  ...['-o', 'RemoteCommand=none'],
];

/** The words that run a command on a host; `ssh` is the client, perhaps with flags. */
export function sshWords(ssh: string, { destination, port }: Host, command: string): string[] {
  const place = port === undefined ? [] : ['-p', String(port)];
  return [...splitWords(ssh), ...FLAGS, ...place, '--', destination, command];
}

/** Splits a line into its words; quotes keep spaces. */
export function splitWords(line: string): string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}
