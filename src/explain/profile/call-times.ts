import { buildKey, type CallFrame, type CallNode, walkFrames } from './call-tree.js';
import { isApplication, isMillraceCode } from './code-origin.js';

/** A call that the application makes, with the time of everything that it calls. */
export interface TimedCall {
  called: CallFrame;
  /** The function of the application that makes it. */
  caller: CallFrame;
  ms: number;
}

/** Minimum share of a function's time that a call of it takes if the time is that call's. */
const MIN_PASSED_SHARE = 0.8;

/** Maximum share of a function's time that is its own if it mainly calls others. */
const MAX_OWN_SHARE = 0.5;

/** The time of calls below the functions of the application that the loop calls: its handlers. */
export class CallTimes {
  readonly #root = new TimedNode(null);

  /** Adds a sample: the time that was spent in a call. */
  add(called: CallNode, ms: number): void {
    const path = [...walkFrames(called)].filter((frame) => !isMillraceCode(frame)).reverse();
    const first = path.findIndex(isApplication);
    if (first < 0) return;
    let at = this.#root;
    for (const frame of path.slice(first)) {
      at = at.child(frame);
      at.ms += ms;
    }
  }

  /**
   * Finds the call that takes most of the time: from the most expensive handler on it follows the calls that take nearly
   * all of their caller's time. Where that ends in a function of the application that calls several others, it is the
   * most expensive of these calls; where it ends within a package, the application's call of the package. `null` if
   * there is none: a call through which a framework continues with the application is none.
   */
  findDominant(): TimedCall | null {
    const path = this.#followMostExpensive();
    const last = path.at(-1);
    if (!last) return null;
    if (isOfApplication(last) && last.ownMs < MAX_OWN_SHARE * last.ms) {
      return last.mostExpensive && toTimedCall(last, last.mostExpensive);
    }
    for (const [caller, called] of listPairs(path).reverse()) {
      if (isOfApplication(caller)) return toTimedCall(caller, called);
      // Beyond a function of the application that a framework calls there are only its callers.
      if (isOfApplication(called)) return null;
    }
    return null;
  }

  #followMostExpensive(): TimedNode[] {
    const path: TimedNode[] = [];
    const seen = new Set<string>();
    let at = this.#root.mostExpensive;
    while (at?.frame) {
      const key = buildKey(at.frame);
      // A recursive function is called once, from outside.
      if (seen.has(key)) break;
      seen.add(key);
      path.push(at);
      const next: TimedNode | null = at.mostExpensive;
      at = next && next.ms >= MIN_PASSED_SHARE * at.ms ? next : null;
    }
    return path;
  }
}

/** A function at one place in the tree of calls, with the time of everything that it calls. */
class TimedNode {
  readonly frame: CallFrame | null;
  ms = 0;
  readonly #children = new Map<string, TimedNode>();

  constructor(frame: CallFrame | null) {
    this.frame = frame;
  }

  child(frame: CallFrame): TimedNode {
    const key = `${frame.functionName} ${buildKey(frame)}`;
    const known = this.#children.get(key);
    if (known) return known;
    const added = new TimedNode(frame);
    this.#children.set(key, added);
    return added;
  }

  /** Time of the function itself. */
  get ownMs(): number {
    return [...this.#children.values()].reduce((rest, { ms }) => rest - ms, this.ms);
  }

  get mostExpensive(): TimedNode | null {
    return [...this.#children.values()].reduce<TimedNode | null>(
      (most, child) => (most && most.ms >= child.ms ? most : child),
      null,
    );
  }
}

function listPairs(path: TimedNode[]): [TimedNode, TimedNode][] {
  return path.slice(1).map((called, index) => [path[index] ?? called, called]);
}

function isOfApplication({ frame }: TimedNode): boolean {
  return frame !== null && isApplication(frame);
}

function toTimedCall(caller: TimedNode, called: TimedNode): TimedCall | null {
  if (!caller.frame || !called.frame) return null;
  return { caller: caller.frame, called: called.frame, ms: called.ms };
}
