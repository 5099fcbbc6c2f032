import type { HeapSnapshot } from './heap-snapshot.js';
import { findName, findType } from './nodes.js';

/** V8's types of objects that are not data of an application: compiled code and what describes it. */
const WITHOUT_CLASS = new Set(['code', 'object shape', 'synthetic', 'hidden']);

/** V8's types whose names are contents, with the name of their class. */
const NAMELESS: Record<string, string> = {
  string: '(string)',
  'concatenated string': '(string)',
  'sliced string': '(string)',
  number: '(number)',
  bigint: '(bigint)',
  symbol: '(symbol)',
  regexp: 'RegExp',
};

/** V8's name of the memory of an ArrayBuffer. */
const BUFFER_DATA = 'system / JSArrayBufferData';

/** Returns the class of an object: its constructor, or the kind of object; `null` if it is no data of an application. */
export function findClass(snapshot: HeapSnapshot, node: number): string | null {
  const type = findType(snapshot, node);
  if (WITHOUT_CLASS.has(type)) return null;
  return NAMELESS[type] ?? nameClass(type, findName(snapshot, node));
}

function nameClass(type: string, name: string): string {
  if (type === 'closure') return `function ${name || '(anonymous)'}`;
  if (type === 'array') return /^\(/.test(name) ? name : '(array)';
  if (name === BUFFER_DATA) return '(memory of ArrayBuffers)';
  return name === 'system / Context' ? '(variables of functions)' : name || '(object)';
}

/** Objects and bytes of a class. */
export interface ClassSize {
  objects: number;
  bytes: number;
}

/** Sums objects and bytes by class. */
export function sumClasses(snapshot: HeapSnapshot): Map<string, ClassSize> {
  const classes = new Map<string, ClassSize>();
  const classOf = createClassFinder(snapshot);
  for (let node = 0; node < snapshot.nodeCount; node++) {
    const name = classOf(node);
    if (name === null) continue;
    const known = classes.get(name) ?? { objects: 0, bytes: 0 };
    known.objects++;
    known.bytes += snapshot.sizeOf[node] ?? 0;
    classes.set(name, known);
  }
  return classes;
}

/** Returns a function that finds the class of a node, and remembers those of its type and name. */
export function createClassFinder(snapshot: HeapSnapshot): (node: number) => string | null {
  const types = snapshot.nodeTypes.map((type) =>
    type in NAMELESS ? (NAMELESS[type] ?? '') : null,
  );
  const known = new Map<number, string | null>();
  return (node) => {
    const type = snapshot.typeOf[node] ?? 0;
    const nameless = types[type];
    if (nameless) return nameless;
    const key = type * 2 ** 32 + (snapshot.nameOf[node] ?? 0);
    const found = known.get(key);
    if (found !== undefined) return found;
    const name = findClass(snapshot, node);
    known.set(key, name);
    return name;
  };
}
