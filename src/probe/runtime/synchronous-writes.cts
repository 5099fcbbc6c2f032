import fs from 'node:fs';
import { nextTick, now } from './clock.cjs';
import { maskProcessId, toPath } from './files-aside.cjs';

type Write = NodeJS.WriteStream['write'];
type StreamName = 'stdout' | 'stderr';
type FileCall = (typeof FILE_CALLS)[number];
type FsFunction = (...args: unknown[]) => unknown;
type Replacement = { undo(): void };

/** Calls that write to a file or flush it, and wait for that. */
const FILE_CALLS = [
  'writeSync',
  'writevSync',
  'appendFileSync',
  'writeFileSync',
  'fsyncSync',
  'fdatasyncSync',
] as const;
const FLUSHES = new Set<FileCall>(['fsyncSync', 'fdatasyncSync']);

const DESCRIPTORS: Record<StreamName, number> = { stdout: 1, stderr: 2 };
/** The flag of open(2) of a descriptor that does not block. */
const O_NONBLOCK = 0o4000;

/** Maximum number of written files that are remembered. */
const MAX_FILES = 100;

/**
 * Measures synchronous writes to standard output, standard error and files. Node.js creates the two streams on first
 * access, and applications keep references to them. So the properties of `process` are replaced, and `write` once a
 * stream exists.
 */
export class SynchronousWrites {
  readonly counters = {
    writes: 0,
    writtenBytes: 0,
    writeMs: 0,
    fileWrites: 0,
    fileWrittenBytes: 0,
    fileWriteMs: 0,
    flushes: 0,
  };
  /** Absolute paths of the files that were opened for writing, with `{pid}` in place of the process id. */
  readonly files = new Set<string>();
  isMuted = false;
  isObserving = false;
  /** One write may call another; only the outer one counts. */
  #isWithinWrite = false;
  #replacements: Replacement[] = [];

  /**
   * Patches the streams' properties and the file functions; with `patchStreams` also the streams themselves, unless they
   * would have to be created with an effect.
   */
  install(patchStreams: boolean): void {
    for (const name of ['stdout', 'stderr'] as const) {
      this.#patchStream(name);
      if (patchStreams && isCreatedWithoutEffect(DESCRIPTORS[name])) void process[name];
    }
    for (const name of FILE_CALLS) this.#patchFileCall(name);
    this.#patchOpen();
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
      return output.#measure(() => write.apply(this, args), output.#countOutput(args[0]));
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
    const output = this;
    this.#patch(name, (original) => {
      return function (this: unknown, ...args: unknown[]) {
        const [file, content] = args;
        const isStandard = file === 1 || file === 2;
        if (name === 'writeSync' && output.isMuted && isStandard) {
          return computeWriteLength(content, args);
        }
        if (typeof file !== 'number') output.#remember(file);
        const count = FLUSHES.has(name)
          ? output.#countFlush
          : isStandard
            ? output.#countOutput(content)
            : output.#countFile(content);
        return output.#measure(() => original.apply(this, args), count);
      };
    });
  }

  #patchOpen(): void {
    const output = this;
    this.#patch('openSync', (original) => {
      return function (this: unknown, ...args: unknown[]) {
        const [file, flags] = args;
        if (typeof flags === 'string' && /[aw+]/.test(flags)) output.#remember(file);
        return original.apply(this, args);
      };
    });
  }

  #patch(name: FileCall | 'openSync', replace: (original: FsFunction) => FsFunction): void {
    const files = fs as unknown as Record<typeof name, FsFunction>;
    const original = files[name];
    const replaced = replace(original);
    Object.defineProperty(replaced, 'name', { value: name });
    files[name] = replaced;
    this.#replacements.push({
      undo: () => {
        if (files[name] === replaced) files[name] = original;
      },
    });
  }

  #remember(file: unknown): void {
    const path = toPath(file);
    if (path !== null && this.files.size < MAX_FILES) this.files.add(maskProcessId(path));
  }

  #countOutput(content: unknown): (ms: number) => void {
    return (ms) => {
      this.counters.writes++;
      this.counters.writtenBytes += countBytes(content);
      this.counters.writeMs += ms;
    };
  }

  #countFile(content: unknown): (ms: number) => void {
    return (ms) => {
      this.counters.fileWrites++;
      this.counters.fileWrittenBytes += countBytes(content);
      this.counters.fileWriteMs += ms;
    };
  }

  readonly #countFlush = (ms: number): void => {
    this.counters.flushes++;
    this.counters.fileWriteMs += ms;
  };

  #measure<T>(write: () => T, count: (ms: number) => void): T {
    if (!this.isObserving || this.#isWithinWrite) return write();
    this.#isWithinWrite = true;
    const from = now();
    try {
      return write();
    } finally {
      this.#isWithinWrite = false;
      count(now() - from);
    }
  }
}

/**
 * Whether the stream of a descriptor exists, or can be created without an effect: Node.js makes a pipe or a socket
 * non-blocking for good, so that writes to its descriptor may fail with `EAGAIN`.
 */
function isCreatedWithoutEffect(descriptor: number): boolean {
  try {
    const stats = fs.fstatSync(descriptor);
    if (!stats.isFIFO() && !stats.isSocket()) return true;
    const [, flags = '0'] =
      /^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & O_NONBLOCK) !== 0;
  } catch {
    return false;
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
  if (Array.isArray(content)) return content.reduce((sum, part) => sum + countBytes(part), 0);
  return ArrayBuffer.isView(content) ? content.byteLength : 0;
}
