import { usageError } from '../../errors/millrace-error.js';
import { mustBe } from '../../validation/shape.js';
import type { CommandFlags } from './command-flags.js';
import type { Flag } from './flag.js';
import { storeIn } from './kinds.js';

/** A parsed command line of `millrace cache`. */
export interface CacheInvocation {
  /** The only process to ask; without it all processes of this user are asked. */
  pid?: number;
  entries?: boolean;
  clear?: boolean;
  /** The path whose entries are removed, with its query. */
  path?: string;
  /** The prefix of the paths whose entries are removed. */
  prefix?: string;
  json?: boolean;
}

const { parsed, toggle } = storeIn((invocation: CacheInvocation) => invocation);

const FLAGS: Flag<CacheInvocation>[] = [
  toggle('entries', 'entries', true, { help: 'stored entries, most used first' }),
  parsed('delete', 'path', parsePath, {
    value: 'PATH',
    help: 'remove what is stored for this path, with its query',
  }),
  parsed('delete-prefix', 'prefix', parsePath, {
    value: 'PATH',
    help: 'remove what is stored for all paths that begin so',
  }),
  toggle('clear', 'clear', true, { help: 'remove everything' }),
  toggle('json', 'json', true, { help: 'print JSON' }),
];

/** The flags of `millrace cache`. */
export const CACHE: CommandFlags<CacheInvocation> = {
  groups: [{ title: 'millrace cache', flags: FLAGS }],
  create: () => ({}),
  setOperands(invocation, { positional, command }) {
    const [pid, second] = [...positional, ...(command ?? [])];
    if (second !== undefined) {
      throw usageError(`cache takes one process id (got '${second}' as well)`);
    }
    if (pid === undefined) return;
    if (!/^[1-9]\d*$/.test(pid)) throw usageError(`cache takes a process id (got '${pid}')`);
    invocation.pid = Number(pid);
  },
};

function parsePath(value: string, flag: string): string {
  if (value.startsWith('/')) return value;
  throw mustBe(flag, 'a path such as /news?page=2', value);
}
