// Tells the code of the service from that of packages, Node.js, the probe and the native stack.

import type { CallFrame } from './call-tree.js';

const PROBE = '/dist/probe/';
/** Folders of what the probe imports: those of this copy. */
const OF_PROBE = ['statistics', 'format'].map(
  (name) => new URL(`../../${name}/`, import.meta.url).pathname,
);
/** Folders of the native stack: installed as a package, and the one of this copy. */
const STACK = ['/millrace/dist/http/', new URL('../../http/', import.meta.url).pathname];
/** Folders of packages: the path of a source in a bundle may begin with one. */
const PACKAGES = /(?:^|\/)node_modules\//;

/** Whether code belongs to the service itself: not to Node.js, a package, the probe or the native stack. */
export function isApplication({ url }: CallFrame): boolean {
  return isScript(url) && !PACKAGES.test(url);
}

/** The package that code belongs to; `null` if none. */
export function findPackage({ url }: CallFrame): string | null {
  if (!isScript(url) || !PACKAGES.test(url)) return null;
  const [, name = null] = /^((?:@[^/]+\/)?[^/]+)/.exec(url.split(PACKAGES).at(-1) ?? '') ?? [];
  return name;
}

/** Whether a function belongs to the probe, optionally to its files whose path begins with `file`. */
export function isProbeCode({ url }: CallFrame, file = ''): boolean {
  return url.includes(PROBE + file);
}

/** Whether a function belongs to the native stack. */
export function isStackCode({ url }: CallFrame): boolean {
  return STACK.some((place) => url.includes(place));
}

/** Whether a function belongs to the probe or to the native stack, which call on behalf of the application. */
export function isMillraceCode(frame: CallFrame): boolean {
  return isProbeCode(frame) || isStackCode(frame) || isOfProbe(frame.url);
}

/**
 * Functions that run only while a profile is taken: the debugger receives each printed line, and its commands, of which the
 * one that starts the profiler takes half a second for each GB of heap.
 */
const PROFILER_FUNCTIONS: ReadonlySet<string> = new Set(['consoleCall', 'dispatch']);

/** Whether a frame is part of profiling. */
export function isProfilerFrame({ functionName, url }: CallFrame): boolean {
  return url === '' && PROFILER_FUNCTIONS.has(functionName);
}

function isOfProbe(url: string): boolean {
  return OF_PROBE.some((place) => url.includes(place));
}

function isScript(url: string): boolean {
  const isOwn = url.includes(PROBE) || isOfProbe(url) || STACK.some((place) => url.includes(place));
  return url !== '' && !url.startsWith('node:') && !isOwn;
}
