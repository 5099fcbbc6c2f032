/** A node of V8's CPU profile in the format of the DevTools protocol. Lines and columns count from 0. */
export interface ProfileNode {
  id: number;
  callFrame: CallFrame;
  children?: number[];
}

/** A function: its name and place. The URL is empty for V8's built-ins. */
export interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/** A function at one place in the call tree, with its caller. */
export interface CallNode {
  frame: CallFrame;
  parent: CallNode | null;
}

const PROBE = '/dist/probe/';
/** Folders of the native stack: installed as a package, and the one of this copy. */
const STACK = ['/millrace/dist/http/', new URL('../../http/', import.meta.url).pathname];
const PACKAGES = '/node_modules/';

/** Builds the call tree: the nodes of a profile by id. */
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

/** The frames of a call, innermost first. */
export function* walkFrames(called: CallNode | null): Generator<CallFrame> {
  for (let at = called; at; at = at.parent) yield at.frame;
}

/** Whether code belongs to the service itself: not to Node.js, a package, the probe or the native stack. */
export function isApplication({ url }: CallFrame): boolean {
  return isScript(url) && !url.includes(PACKAGES);
}

/** The package that code belongs to; `null` if none. */
export function findPackage({ url }: CallFrame): string | null {
  if (!isScript(url) || !url.includes(PACKAGES)) return null;
  const [, name = null] =
    /^((?:@[^/]+\/)?[^/]+)/.exec(url.slice(url.lastIndexOf(PACKAGES) + PACKAGES.length)) ?? [];
  return name;
}

/** A key that is equal for all frames of a function. */
export function buildKey({ url, lineNumber, columnNumber }: CallFrame): string {
  return `${url}:${lineNumber}:${columnNumber}`;
}

/** Whether a function belongs to the probe, optionally to its files whose path begins with `file`. */
export function isProbeCode({ url }: CallFrame, file = ''): boolean {
  return url.includes(PROBE + file);
}

/** Whether a function belongs to the native stack. */
export function isStackCode({ url }: CallFrame): boolean {
  return STACK.some((place) => url.includes(place));
}

function isScript(url: string): boolean {
  const isOwn = url.includes(PROBE) || STACK.some((place) => url.includes(place));
  return url !== '' && !url.startsWith('node:') && !isOwn;
}
