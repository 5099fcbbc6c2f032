import type { Declarations } from './declarations.js';
import type { HeapSnapshot } from './heap-snapshot.js';
import {
  findEdge,
  findEdgeType,
  findName,
  findType,
  isNamed,
  isNumbered,
  listTargets,
} from './nodes.js';
import { Scripts } from './scripts.js';

/** Maximum number of steps of a path that is told. */
const MAX_STEPS = 8;
/** References at which variables of calls that have not ended count as a root too: those of modules are understood better. */
const OUTER_LEAD = 3;

/** V8's names of the objects that hold variables: of a function that is running or kept, and of the whole program. */
const CONTEXT = 'system / Context';
const NATIVE_CONTEXT = 'system / NativeContext';
/** V8's names of an ECMAScript module, and of what holds one of its exported variables. */
const MODULE = 'system / SourceTextModule';
const CELL = 'system / Cell';

/** Types of objects through which nothing is retained that a developer would look for: compiled code and its data. */
const PASSED_OVER = new Set(['code', 'object shape', 'synthetic']);
/** Properties that lead from an object to what all of its class share. */
const SHARED = ['__proto__', 'constructor'];

/**
 * What retains the objects of a snapshot: for each the shortest path to a variable of a module of the service or a
 * package, or to the global object; or else to one of V8's own roots.
 */
export class Retainers {
  readonly #snapshot: HeapSnapshot;
  readonly #isNew: (node: number) => boolean;
  readonly #scripts: Scripts;
  readonly #declarations: Declarations;
  /** By node: the node that retains it, plus 1; and its edge. */
  readonly #ownerOf: Uint32Array;
  readonly #edgeOf: Uint32Array;
  readonly #globals = new Set<number>();
  /** ECMAScript modules, each with the context that holds its other variables. */
  readonly #modules = new Map<number, number>();

  constructor(
    snapshot: HeapSnapshot,
    isNew: (node: number) => boolean,
    declarations: Declarations,
  ) {
    this.#snapshot = snapshot;
    this.#isNew = isNew;
    this.#declarations = declarations;
    this.#scripts = new Scripts(snapshot);
    this.#ownerOf = new Uint32Array(snapshot.nodeCount);
    this.#edgeOf = new Uint32Array(snapshot.nodeCount);
    this.#findPaths();
  }

  /** Tells the path from an object to its root. */
  describePath(node: number): string[] {
    const steps: string[] = [];
    const snapshot = this.#snapshot;
    let at = node;
    let cell = node;
    while (steps.length < MAX_STEPS) {
      const owner = (this.#ownerOf[at] ?? 0) - 1;
      if (owner < 0) break;
      if (isNamed(snapshot, owner, CELL)) cell = owner;
      if (isNamed(snapshot, owner, MODULE)) {
        steps.push(this.#describeExport(cell));
        break;
      }
      const step = this.#describeStep(owner, this.#edgeOf[at] ?? 0);
      if (step !== null && step !== steps.at(-1)) steps.push(step);
      if (this.#isRoot(owner)) break;
      const module = this.#findModule(owner);
      if (module !== null) {
        steps.push(module);
        break;
      }
      if (owner === 0 || findType(snapshot, owner) === 'synthetic') break;
      at = owner;
    }
    return steps;
  }

  #isRoot(node: number): boolean {
    return (this.#ownerOf[node] ?? 0) === 0;
  }

  /** Describes how an object retains the one before; `null` if that is one step with the next. */
  #describeStep(owner: number, edge: number): string | null {
    const snapshot = this.#snapshot;
    const type = findType(snapshot, owner);
    const edgeType = findEdgeType(snapshot, edge);
    // The memory of a Map or an array, and the parts of a string.
    if (type === 'array' || type.includes('string') || isNamed(snapshot, owner, CELL)) return null;
    if (type === 'synthetic') return findName(snapshot, owner) || null;
    const name = isNumbered(edgeType) ? null : snapshot.strings.get(snapshot.edgeNameOf[edge] ?? 0);
    if (edgeType === 'context') return this.#describeVariable(owner, name ?? '');
    if (name === 'previous' || (type === 'closure' && name === 'context')) return null;
    if (this.#globals.has(owner)) return `global.${name ?? '[]'}`;
    const of = nameOwner(snapshot, owner);
    if (name === null || name === 'elements' || /^\d+$/.test(name)) return `${of}[]`;
    return `${of}.${name}`;
  }

  #describeVariable(context: number, name: string): string {
    const file = this.#scripts.findFileOfContext(context);
    return file === null ? name : `${name} in ${this.#declarations.locate(file, name)}`;
  }

  /** Describes an exported variable of an ECMAScript module; modules that import it have the same cell. */
  #describeExport(cell: number): string {
    for (const [module, context] of this.#modules) {
      const name = findExportName(this.#snapshot, module, cell);
      if (name !== null) return this.#describeVariable(context, name);
    }
    return 'a variable of a module';
  }

  /** Describes an object that stands for a module; `null` if it does not. */
  #findModule(node: number): string | null {
    const snapshot = this.#snapshot;
    if (!isNamed(snapshot, node, 'Module')) return null;
    const file = findEdge(snapshot, node, 'filename');
    if (file === null || findType(snapshot, file) !== 'string') return null;
    return `exports of ${this.#declarations.shorten(findName(snapshot, file))}`;
  }

  #findPaths(): void {
    const { nodeCount } = this.#snapshot;
    const reached = new Uint8Array(nodeCount);
    const { modules, calls } = this.#findVariables();
    this.#listGlobals();
    this.#search([...this.#globals, ...modules], calls, reached, (edge) => this.#isTold(edge));
    this.#search([0], [], reached, () => true);
  }

  /** Finds the variables of files of the service and its packages that existed before: of modules, and of calls. */
  #findVariables(): { modules: number[]; calls: number[] } {
    const snapshot = this.#snapshot;
    const modules: number[] = [];
    const calls: number[] = [];
    const context = snapshot.strings.indexOf(CONTEXT);
    for (let node = 0; node < snapshot.nodeCount; node++) {
      if (snapshot.nameOf[node] !== context || this.#isNew(node)) continue;
      const file = this.#scripts.findFileOfContext(node);
      if (file === null || !this.#declarations.isOutsideNode(file)) continue;
      const module = findEdge(snapshot, node, 'extension');
      if (module !== null && isNamed(snapshot, module, MODULE)) this.#modules.set(module, node);
      const outer = findEdge(snapshot, node, 'previous');
      const isModule = outer !== null && !isNamed(snapshot, outer, CONTEXT);
      (isModule ? modules : calls).push(node);
    }
    return { modules, calls };
  }

  /** The global objects are what V8's root leads to directly; newer versions have a proxy in between. */
  #listGlobals(): void {
    const { firstEdge, targetOf } = this.#snapshot;
    for (let edge = firstEdge[0] ?? 0; edge < (firstEdge[1] ?? 0); edge++) {
      if (findEdgeType(this.#snapshot, edge) !== 'shortcut') continue;
      const target = targetOf[edge] ?? 0;
      this.#globals.add(target);
      const behind = findEdge(this.#snapshot, target, 'global_object');
      if (behind !== null) this.#globals.add(behind);
    }
  }

  /** Whether a reference is one that a developer would look for. */
  #isTold(edge: number): boolean {
    const snapshot = this.#snapshot;
    const target = snapshot.targetOf[edge] ?? 0;
    if (PASSED_OVER.has(findType(snapshot, target))) return false;
    if (isNamed(snapshot, target, NATIVE_CONTEXT)) return false;
    if (isNumbered(findEdgeType(snapshot, edge))) return true;
    const name = snapshot.edgeNameOf[edge];
    return !SHARED.some((shared) => snapshot.strings.indexOf(shared) === name);
  }

  /** Searches from some nodes, nearest first, and from others when it is some references away. */
  #search(
    from: number[],
    later: number[],
    reached: Uint8Array,
    isFollowed: (edge: number) => boolean,
  ): void {
    const { firstEdge, targetOf, nodeCount } = this.#snapshot;
    const queue = new Uint32Array(nodeCount);
    let length = 0;
    const add = (node: number) => {
      if (reached[node] === 1) return false;
      reached[node] = 1;
      queue[length++] = node;
      return true;
    };
    for (const node of from) add(node);
    let at = 0;
    for (let lead = 0; at < length || lead <= OUTER_LEAD; lead++) {
      if (lead === OUTER_LEAD) for (const node of later) add(node);
      for (const end = length; at < end; at++) {
        const node = queue[at] ?? 0;
        for (let edge = firstEdge[node] ?? 0; edge < (firstEdge[node + 1] ?? 0); edge++) {
          if (findEdgeType(this.#snapshot, edge) === 'weak' || !isFollowed(edge)) continue;
          const target = targetOf[edge] ?? 0;
          if (!add(target)) continue;
          this.#ownerOf[target] = node + 1;
          this.#edgeOf[target] = edge;
        }
      }
    }
  }
}

/** Finds the name of an export: in V8's table it comes before the cell of the variable. */
function findExportName(snapshot: HeapSnapshot, module: number, cell: number): string | null {
  for (const table of listTargets(snapshot, module)) {
    if (findType(snapshot, table) !== 'array') continue;
    const entries = listTargets(snapshot, table);
    const name = entries[entries.indexOf(cell) - 1];
    if (name !== undefined && findType(snapshot, name) === 'string')
      return findName(snapshot, name);
  }
  return null;
}

function nameOwner(snapshot: HeapSnapshot, node: number): string {
  const name = findName(snapshot, node);
  if (findType(snapshot, node) === 'closure') return name || '(anonymous function)';
  return name.replace(/^system \/ /, '') || 'Object';
}
