import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FlameFrame, FrameOrigin } from '../result.js';
import { buildKey, type CallFrame } from './call-tree.js';
import { findPackage, isMillraceCode } from './code-origin.js';
import { type Place, SourceMaps } from './source-maps.js';

/** Resolves V8's frames to names, places and origins, by source maps from the folders of the profiled files. */
export class FrameResolver {
  readonly #maps = new SourceMaps();
  readonly #resolved = new Map<string, FlameFrame>();

  /** Resolves a frame. Its place is where the function begins. */
  resolve(frame: CallFrame): FlameFrame {
    const key = `${frame.functionName} ${buildKey(frame)}`;
    const known = this.#resolved.get(key);
    if (known) return known;
    const resolved = this.#resolve(frame);
    this.#resolved.set(key, resolved);
    return resolved;
  }

  /** Resolves a line of a function, which counts from 0; `null` if it is not told which line of the source that is. */
  resolveLine({ url, lineNumber, columnNumber }: CallFrame, line: number): string | null {
    const file = toPath(url);
    const start = this.#maps.findOriginal({ file, line: lineNumber, column: columnNumber });
    const found = this.#maps.findOriginalLine(file, line);
    // A line of a bundle may hold many functions.
    return found.file === start.file && found.line >= start.line ? formatPlace(found) : null;
  }

  #resolve(frame: CallFrame): FlameFrame {
    const { functionName, url, lineNumber: line, columnNumber: column } = frame;
    const generated = { file: toPath(url), line, column };
    const original = this.#maps.findOriginal(generated);
    const name = this.#maps.findOriginalName(generated, functionName) ?? functionName;
    return {
      name: shorten(name) || '(anonymous)',
      place: url === '' ? '' : formatPlace(original),
      origin: findOrigin(frame, original),
    };
  }
}

/** Maximum length of a function's name: an object literal may have any text as one. */
const MAX_NAME_LENGTH = 120;

function shorten(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH - 1)}…` : name;
}

function findOrigin(frame: CallFrame, original: Place): FrameOrigin {
  const { functionName, url } = frame;
  if (functionName === '(garbage collector)') return 'garbage-collection';
  // Built-ins of V8, native functions, and native code that no function called: `(program)`.
  if (url === '' || url.startsWith('wasm:')) return 'native';
  if (url.startsWith('node:')) return 'node';
  if (isMillraceCode(frame)) return 'millrace';
  // A bundle has packages beside the service's own code.
  const isPackage = [url, original.file].some((file) => findPackage({ ...frame, url: file }));
  return isPackage ? 'dependency' : 'application';
}

/** Converts the URL of a script to a path, if it is one of a file. */
export function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

/** Formats a place as `file:line`, with a path from the working directory if the file is below it. */
export function formatPlace({ file, line }: Place): string {
  const near = isAbsolute(file) ? relative(process.cwd(), file) : file;
  return `${near.startsWith('..') ? file : near}:${line + 1}`;
}
