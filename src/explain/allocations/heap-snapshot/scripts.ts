import type { HeapSnapshot } from './heap-snapshot.js';
import { findEdge, findName, findType, isNamed } from './nodes.js';

/** Which files functions and the variables of functions belong to. */
export class Scripts {
  readonly #snapshot: HeapSnapshot;
  /** By context, which holds the variables of a call: a function that uses it, plus 1. */
  readonly #functionOf: Uint32Array;

  constructor(snapshot: HeapSnapshot) {
    this.#snapshot = snapshot;
    this.#functionOf = new Uint32Array(snapshot.nodeCount);
    const closure = snapshot.nodeTypes.indexOf('closure');
    for (let node = 0; node < snapshot.nodeCount; node++) {
      if (snapshot.typeOf[node] !== closure) continue;
      const context = findEdge(snapshot, node, 'context');
      if (context !== null && this.#functionOf[context] === 0) this.#functionOf[context] = node + 1;
    }
  }

  /** Returns the file of a function, as V8 names it; `null` if unknown. */
  findFile(closure: number): string | null {
    const snapshot = this.#snapshot;
    const shared = findEdge(snapshot, closure, 'shared');
    const script = shared === null ? null : findScript(snapshot, shared);
    const name = script === null ? null : findEdge(snapshot, script, 'name');
    if (name === null || findType(snapshot, name) !== 'string') return null;
    return findName(snapshot, name);
  }

  /** Returns the file whose code uses a context; `null` if unknown. */
  findFileOfContext(context: number): string | null {
    const closure = this.#functionOf[context] ?? 0;
    return closure === 0 ? null : this.findFile(closure - 1);
  }
}

/** The name of the reference to a script depends on V8's version. */
function findScript(snapshot: HeapSnapshot, shared: number): number | null {
  for (const edge of ['script', 'script_or_debug_info']) {
    const target = findEdge(snapshot, shared, edge);
    if (target === null) continue;
    // While a debugger is used, its data are in between.
    return isNamed(snapshot, target, 'system / DebugInfo')
      ? findEdge(snapshot, target, 'script')
      : target;
  }
  return null;
}
