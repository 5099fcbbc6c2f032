import fs from 'node:fs';
import { nextTick, now } from './clock.cjs';

type Write = NodeJS.WriteStream['write'];
type StreamName = 'stdout' | 'stderr';
type FileCall = 'writeSync' | 'appendFileSync' | 'writeFileSync';
type Replacement = { undo(): void };

/**
 * Measures synchronous writes to standard output, standard error and files. Node.js creates the two streams on first
 * access, and applications keep references to them. So the properties of `process` are replaced, and `write` once a
 * stream exists.
 */
export class SynchronousWrites {
  readonly counters = { writes: 0, writtenBytes: 0, writeMs: 0 };
  isMuted = false;
  isObserving = false;
  /** One write may call another; only the outer one counts. */
  #isWithinWrite = false;
  #replacements: Replacement[] = [];

  /**
   * Patches the streams' properties and the file functions; with `patchStreams` also the streams themselves, which
   * creates them.
   */
  install(patchStreams: boolean): void {
    for (const name of ['stdout', 'stderr'] as const) {
      this.#patchStream(name);
      if (patchStreams) void process[name];
    }
    for (const name of ['writeSync', 'appendFileSync', 'writeFileSync'] as const) {
      this.#patchFileCall(name);
    }
  }

  uninstall(): void {
    this.isObserving = false;
    this.isMuted = false;
    for (const { undo } of this.#replacements) undo();
    this.#replacements = [];
  }

  #patchStream(name: StreamName): void {
    const property = Object.getOwnPropertyDescriptor(process, name);
    const get = property?.get;
    if (!get || !property.configurable) return;
    const seen = new WeakSet<object>();
    const replaced = () => {
      const stream: unknown = get.call(process);
      if (typeof stream === 'object' && stream !== null && !seen.has(stream)) {
        seen.add(stream);
        this.#patchWrite(stream as NodeJS.WriteStream);
      }
      return stream;
    };
    Object.defineProperty(process, name, { ...property, get: replaced });
    this.#replacements.push({
      undo: () => {
        if (Object.getOwnPropertyDescriptor(process, name)?.get !== replaced) return;
        Object.defineProperty(process, name, property);
      },
    });
  }

  #patchWrite(stream: NodeJS.WriteStream): void {
    const write: Write = stream.write;
    if (typeof write !== 'function') return;
    const output = this;
    const replaced = function (this: NodeJS.WriteStream, ...args: Parameters<Write>) {
      if (output.isMuted) return dropWrite(args);
      return output.#measure(args[0], () => write.apply(this, args));
    } as Write;
    const own = Object.getOwnPropertyDescriptor(stream, 'write');
    Object.defineProperty(stream, 'write', { value: replaced, configurable: true, writable: true });
    this.#replacements.push({
      undo: () => {
        if (stream.write !== replaced) return;
        if (own) Object.defineProperty(stream, 'write', own);
        else Reflect.deleteProperty(stream, 'write');
      },
    });
  }

  #patchFileCall(name: FileCall): void {
    const original = fs[name] as (...args: unknown[]) => unknown;
    const output = this;
    const replaced = function (this: unknown, ...args: unknown[]) {
      const content = args[1];
      if (name === 'writeSync' && output.isMuted && (args[0] === 1 || args[0] === 2)) {
        return computeWriteLength(content, args);
      }
      return output.#measure(content, () => original.apply(this, args));
    };
    Object.defineProperty(replaced, 'name', { value: name });
    const files = fs as unknown as Record<FileCall, typeof original>;
    files[name] = replaced;
    this.#replacements.push({
      undo: () => {
        if (files[name] === replaced) files[name] = original;
      },
    });
  }

  #measure<T>(content: unknown, write: () => T): T {
    if (!this.isObserving || this.#isWithinWrite) return write();
    this.#isWithinWrite = true;
    const from = now();
    try {
      return write();
    } finally {
      this.#isWithinWrite = false;
      this.counters.writes++;
      this.counters.writtenBytes += countBytes(content);
      this.counters.writeMs += now() - from;
    }
  }
}

/** Reports success without writing. */
function dropWrite(args: unknown[]): boolean {
  const callback = args.find((argument) => typeof argument === 'function');
  if (callback) nextTick(callback as () => void);
  return true;
}

/** Computes what `fs.writeSync` would have returned if everything was written. */
function computeWriteLength(content: unknown, [, , second, third]: unknown[]): number {
  if (!ArrayBuffer.isView(content)) return countBytes(content);
  const { offset = second ?? 0, length = third } = (second ?? {}) as Record<string, unknown>;
  return typeof length === 'number' ? length : content.byteLength - Number(offset);
}

function countBytes(content: unknown): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return ArrayBuffer.isView(content) ? content.byteLength : 0;
}
