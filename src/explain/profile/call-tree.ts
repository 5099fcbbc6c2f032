/** A node of V8's CPU profile, as the DevTools protocol has it. Lines and columns count from 0. */
export interface ProfileNode {
  id: number;
  callFrame: CallFrame;
  children?: number[];
}

/** A function: its name and place, which is empty of what V8 has built in. */
export interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/** A function where it was called, and by whom. */
export interface CallNode {
  frame: CallFrame;
  parent: CallNode | null;
}

const PROBE = '/dist/probe/';
/** The native stack's, as a package and where this one is. */
const STACK = ['/millrace/dist/http/', new URL('../../http/', import.meta.url).pathname];
const PACKAGES = '/node_modules/';

/** The nodes of a profile by their number. */
export function buildCallTree(nodes: ProfileNode[]): Map<number, CallNode> {
  const tree = new Map<number, CallNode>();
  for (const { id, callFrame } of nodes) tree.set(id, { frame: callFrame, parent: null });
  for (const { id, children = [] } of nodes) {
    const parent = tree.get(id) ?? null;
    for (const child of children) {
      const node = tree.get(child);
      if (node) node.parent = parent;
    }
  }
  return tree;
}

/** The frames of a call from the innermost to the outermost. */
export function* walkFrames(called: CallNode | null): Generator<CallFrame> {
  for (let at = called; at; at = at.parent) yield at.frame;
}

/** Code of the service itself: not Node's, no package's, not the probe's. */
export function isApplication({ url }: CallFrame): boolean {
  return isScript(url) && !url.includes(PACKAGES);
}

/** The package that code is of; `null`: of none. */
export function findPackage({ url }: CallFrame): string | null {
  if (!isScript(url) || !url.includes(PACKAGES)) return null;
  const [, name = null] =
    /^((?:@[^/]+\/)?[^/]+)/.exec(url.slice(url.lastIndexOf(PACKAGES) + PACKAGES.length)) ?? [];
  return name;
}

/** Whether a function is the same as another, wherever it was called. */
export function buildKey({ url, lineNumber, columnNumber }: CallFrame): string {
  return `${url}:${lineNumber}:${columnNumber}`;
}

/** Whether a function is the probe's, of a file of it whose name begins so. */
export function isProbeCode({ url }: CallFrame, file = ''): boolean {
  return url.includes(PROBE + file);
}

/** Whether a function is the native stack's. */
export function isStackCode({ url }: CallFrame): boolean {
  return STACK.some((place) => url.includes(place));
}

function isScript(url: string): boolean {
  const isOwn = url.includes(PROBE) || STACK.some((place) => url.includes(place));
  return url !== '' && !url.startsWith('node:') && !isOwn;
}
