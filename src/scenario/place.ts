import { dirname, isAbsolute, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this package's code, which is no place in a file of scenarios. */
const OWN = `${dirname(dirname(fileURLToPath(import.meta.url)))}${sep}`;

/** Finds the first place of a stack that is not of this package, as in `checkout.mjs:7`: here, the one that calls it. */
export function findPlace(stack = new Error().stack ?? ''): string | null {
  for (const line of stack.split('\n').slice(1)) {
    const [, file, number] = /\(?((?:file:\/\/|\/|[A-Za-z]:\\).*):(\d+):\d+\)?$/.exec(line) ?? [];
    if (file === undefined) continue;
    const path = toPath(file);
    if (path !== null && !path.startsWith(OWN)) return `${shortenPath(path)}:${number}`;
  }
  return null;
}

/** Shortens a path within the working directory. */
export function shortenPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

function toPath(file: string): string | null {
  const [, path = ''] = /^(?:.*[ (])?((?:file:\/\/|\/|[A-Za-z]:\\).*)$/.exec(file) ?? [];
  try {
    return path.startsWith('file:') ? fileURLToPath(path.replace(/\?.*$/, '')) : path;
  } catch {
    return null;
  }
}
