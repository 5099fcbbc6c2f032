// What the machine that began a run and the agents on its hosts say to each other: JSON, a line each.
import type { ErrorCode } from '../errors/millrace-error.js';
import type { LoadSnapshot } from '../load/result.js';

/** A file for the host. */
export interface SentFile {
  /** Relative to the folder of all files, with slashes. */
  path: string;
  /** Base64. */
  content: string;
}

/** Files that are opened by path on the host: they keep their places to each other. */
export interface SentTree {
  files: SentFile[];
  /** The folder that the run works in, relative to the folder of all files. */
  cwd: string;
  /** Packages that modules import, which the host must have. */
  packages: string[];
}

/** From the machine that began the run. */
export type ToAgent =
  | { type: 'ping'; id: number }
  | {
      type: 'prepare';
      /** Options of `load()`, see `encodeOptions()`. */
      options: unknown;
      /** Contents of files, base64, by the paths that options and placeholders have. */
      inputs: Record<string, string>;
      /** Absent if nothing is opened by path. */
      tree?: SentTree;
    }
  /** The start of the load on the host's clock, in milliseconds of Unix time. */
  | { type: 'start'; atMs: number }
  | { type: 'stop' };

/** From the agent; `FIELDS` has what must be there. */
export type FromAgent =
  /** The first line. */
  | { type: 'hello'; version: string; platform: string }
  /** The time of its clock, in milliseconds of Unix time. */
  | { type: 'pong'; id: number; atMs: number }
  /** All but the connections is prepared. */
  | { type: 'ready' }
  | { type: 'snapshot'; snapshot: LoadSnapshot }
  /** A `LoadResult` as JSON, compressed, base64. */
  | { type: 'result'; deflated: string }
  /** The run was stopped before a request was sent. */
  | { type: 'stopped' }
  | { type: 'error'; code: ErrorCode; message: string };

/** What the messages of an agent have, by their types. Of another version the version alone must be known. */
const FIELDS: { [Of in FromAgent['type']]: readonly [name: string, type: string][] } = {
  hello: [['version', 'string']],
  pong: [
    ['id', 'number'],
    ['atMs', 'number'],
  ],
  ready: [],
  snapshot: [['snapshot', 'object']],
  result: [['deflated', 'string']],
  stopped: [],
  error: [
    ['code', 'string'],
    ['message', 'string'],
  ],
};

/** Whether a message of an agent has all that it must have. */
export function isWhole(message: FromAgent): boolean {
  const fields = Object.hasOwn(FIELDS, message.type) ? FIELDS[message.type] : null;
  const values = message as unknown as Record<string, unknown>;
  return (
    fields?.every(([name, type]) => values[name] !== null && typeof values[name] === type) ?? false
  );
}
