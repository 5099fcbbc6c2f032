import fs from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files that a process finds missing, and a directory in whose subdirectory it has them instead. */
export interface FilesAside {
  /** Absolute paths, with `{pid}` for the id of the process. */
  files: string[];
  directory: string;
  /** Name of a directory that is made beside them when the first of them is used. */
  marker: string;
}

type FsFunction = (...args: unknown[]) => unknown;
type FsFunctions = Record<string, FsFunction | undefined>;

/** Functions of `node:fs` whose first argument is a path; with `Sync` added, and in `fs.promises`. */
const FUNCTIONS = [
  'access',
  'appendFile',
  'exists',
  'open',
  'readFile',
  'rename',
  'rm',
  'stat',
  'truncate',
  'unlink',
  'writeFile',
];
const STREAMS = ['createReadStream', 'createWriteStream'];

/** Makes the files missing for this process: what it does with their paths happens in the directory. */
export function setFilesAside({ files, directory, marker }: FilesAside): void {
  fs.mkdirSync(directory, { recursive: true });
  const own = fs.mkdtempSync(join(directory, 'files-'));
  const places = new Map(
    files.map((file, index) => {
      const path = unmaskProcessId(file);
      return [path, join(own, `${index}-${basename(path)}`)];
    }),
  );
  let isUsed = false;
  const redirect = (argument: unknown) => {
    const path = toPath(argument);
    const place = path === null ? undefined : places.get(path);
    if (place !== undefined && !isUsed) {
      isUsed = true;
      // The process may remove its files at its end.
      fs.mkdirSync(join(own, marker));
    }
    return place ?? argument;
  };
  const plain = fs as unknown as FsFunctions;
  const promises = fs.promises as unknown as FsFunctions;
  for (const name of FUNCTIONS) {
    redirectPaths(plain, name, redirect);
    redirectPaths(plain, `${name}Sync`, redirect);
    redirectPaths(promises, name, redirect);
  }
  for (const name of STREAMS) redirectPaths(plain, name, redirect);
}

function redirectPaths(
  functions: FsFunctions,
  name: string,
  redirect: (argument: unknown) => unknown,
): void {
  const original = functions[name];
  if (!original) return;
  const replaced = function (this: unknown, first: unknown, ...others: unknown[]) {
    // Only `rename` has a second path.
    const rest = name.startsWith('rename') ? [redirect(others[0]), ...others.slice(1)] : others;
    return original.call(this, redirect(first), ...rest);
  };
  Object.defineProperty(replaced, 'name', { value: name });
  // `util.promisify` uses a symbol of some functions.
  for (const key of Object.getOwnPropertySymbols(original)) {
    Object.defineProperty(
      replaced,
      key,
      Object.getOwnPropertyDescriptor(original, key) as PropertyDescriptor,
    );
  }
  functions[name] = replaced;
}

const PROCESS_ID = '{pid}';

/** Replaces this process's id in a path, which another process of the command has a different one for. */
export function maskProcessId(path: string): string {
  // The digits may be a part of another number.
  return path.replace(new RegExp(`(?<!\\d)${process.pid}(?!\\d)`, 'g'), PROCESS_ID);
}

function unmaskProcessId(path: string): string {
  return path.replaceAll(PROCESS_ID, String(process.pid));
}

/** Converts the path argument of a function of `node:fs` to an absolute path; `null` if it is none. */
export function toPath(argument: unknown): string | null {
  if (typeof argument === 'string') return resolve(argument);
  if (Buffer.isBuffer(argument)) return resolve(argument.toString());
  return argument instanceof URL && argument.protocol === 'file:' ? fileURLToPath(argument) : null;
}
