// Where the files of a load lie in a pod: by the same relative paths as here.
import { isUtf8 } from 'node:buffer';
import { dirname, join, posix, relative, sep } from 'node:path';
import { usageError } from '../errors/millrace-error.js';
import { isSecretName } from '../masking/names.js';
import { maskText } from '../masking/text.js';

/** The folder of the files in a pod. */
const ROOT = '/load';

/** A file of a load on this machine, by its absolute path. */
export interface LocalFile {
  path: string;
  bytes: Buffer;
}

/** A file in a pod. */
export interface PodFile {
  /** Its path in `ROOT`. */
  path: string;
  /** The name of its content in a ConfigMap or Secret. */
  key: string;
  bytes: Buffer;
  /** Whether it has a key or a password. */
  isSecret: boolean;
}

/** The files of a pod. */
export interface PodFiles {
  folder: string;
  workingFolder: string;
  files: PodFile[];
  /** The arguments, with paths in the pod in place of absolute ones. */
  args: string[];
}

/** Most bytes in a ConfigMap and in a Secret. */
const MAX_BYTES = 1024 * 1024;

/**
 * Places the files in pods. Those that the arguments name by a relative path keep it, seen from the working folder; absolute
 * paths in the arguments are replaced. `secrets` are the paths of files whose contents are for a Secret, whatever they are.
 */
export function placeFiles(
  files: readonly LocalFile[],
  args: readonly string[],
  { cwd, secrets }: { cwd: string; secrets: readonly string[] },
): PodFiles {
  const isAbsolute = ({ path }: LocalFile) => args.some((word) => word.includes(path));
  refuseAbsoluteInside(files);
  const root = findCommonFolder([
    join(cwd, 'file'),
    ...files.filter((file) => !isAbsolute(file)).map(({ path }) => path),
  ]);
  const toPod = (path: string) => {
    const inside = relative(root, path);
    return toPosix(inside.startsWith('..') ? join('root', path) : inside);
  };
  const keys = new Set<string>();
  const placed = files.map(({ path, bytes }) => ({
    ...{ path: toPod(path), key: chooseKey(path, keys), bytes },
    isSecret: secrets.includes(path) || hasSecret(bytes, path),
  }));
  const workingFolder = posix.join(ROOT, toPosix(relative(root, cwd)));
  // A container does not start in a folder that is not there.
  if (!placed.some(({ path }) => posix.join(ROOT, path).startsWith(`${workingFolder}/`))) {
    const path = posix.relative(ROOT, posix.join(workingFolder, 'folder'));
    placed.push({ path, key: chooseKey('folder', keys), bytes: Buffer.alloc(0), isSecret: false });
  }
  refuseLarge(placed);
  return {
    ...{ folder: ROOT, workingFolder, files: placed },
    args: replacePaths(args, files, (path) => posix.join(ROOT, toPod(path))),
  };
}

/** Refuses absolute paths in the contents of files: they would not be found. */
function refuseAbsoluteInside(files: readonly LocalFile[]): void {
  for (const { path, bytes } of files) {
    for (const other of files) {
      if (other.path === path || !bytes.includes(other.path)) continue;
      throw usageError(
        `'${path}' names '${other.path}' by its absolute path, which pods do not have: use a relative one`,
      );
    }
  }
}

function findCommonFolder(paths: readonly string[]): string {
  const [first = sep, ...others] = paths.map((path) => dirname(path));
  let common = first;
  for (const folder of others) {
    while (common !== dirname(common) && !`${folder}${sep}`.startsWith(`${common}${sep}`)) {
      common = dirname(common);
    }
  }
  return common;
}

/** Writes a path with slashes, without the root and the drive that it may begin with. */
function toPosix(path: string): string {
  return path
    .split(sep)
    .join('/')
    .replace(/^(root\/)([A-Za-z]):/, '$1$2')
    .replace(/^\/+/, '');
}

/** Chooses the key of a file: its name, as far as a ConfigMap permits it, made unique. */
function chooseKey(path: string, keys: Set<string>): string {
  const name = (path.split(sep).at(-1) ?? '').replace(/[^\w.-]/g, '_').slice(-200);
  const safe = /^\.*$/.test(name) ? `file${name}` : name;
  let key = safe;
  for (let number = 2; keys.has(key); number += 1) key = `${number}-${safe}`;
  keys.add(key);
  return key;
}

function hasSecret(bytes: Buffer, path: string): boolean {
  if (!isUtf8(bytes)) return false;
  const text = bytes.toString('utf8');
  const [columns = ''] = text.split('\n', 1);
  if (/\.csv$/i.test(path) && columns.split(',').some(isSecretName)) return true;
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text) || maskText(text) !== text;
}

function refuseLarge(files: readonly PodFile[]): void {
  for (const [isSecret, kind] of [[false, 'ConfigMap'] as const, [true, 'Secret'] as const]) {
    const part = files.filter((file) => file.isSecret === isSecret);
    const total = part.reduce((sum, { bytes }) => sum + bytes.length, 0);
    if (total <= MAX_BYTES) continue;
    const [largest] = part.toSorted((one, other) => other.bytes.length - one.bytes.length);
    throw usageError(
      `the files of the load have ${formatMib(total)} MiB (${largest?.path}: ${formatMib(largest?.bytes.length ?? 0)}), and a ${kind} holds 1: copy them into the image, and add --files-in-image`,
    );
  }
}

function formatMib(bytes: number): string {
  return (bytes / MAX_BYTES).toFixed(2);
}

function replacePaths(
  args: readonly string[],
  files: readonly LocalFile[],
  toPod: (path: string) => string,
): string[] {
  // A path may be the beginning of another one.
  const paths = files.map(({ path }) => path).toSorted((one, other) => other.length - one.length);
  return args.map((word) => {
    const path = paths.find((one) => word.includes(one));
    return path === undefined ? word : word.replaceAll(path, toPod(path));
  });
}
