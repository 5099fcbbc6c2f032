// Files of a run that are read on one machine, and used on another.
import { AsyncLocalStorage } from 'node:async_hooks';
import { resolve } from 'node:path';

/** The files that a run reads. */
export interface Inputs {
  /** Contents by the paths that options, targets and placeholders have for them. */
  contents: Map<string, Buffer>;
  /** Absolute paths of files that are opened by others, as .proto files are. */
  files: Set<string>;
}

const collecting = new AsyncLocalStorage<Inputs>();

let provided: ReadonlyMap<string, Buffer> = new Map();

/** Calls `use`, and returns the files that it reads. */
export async function collectInputs(use: () => Promise<unknown>): Promise<Inputs> {
  const inputs: Inputs = { contents: new Map(), files: new Set() };
  await collecting.run(inputs, use);
  return inputs;
}

/** Notes what was read under a path. */
export function noteInput(path: string, bytes: Buffer): void {
  collecting.getStore()?.contents.set(path, bytes);
}

/** Notes a file that another library has read. */
export function noteFile(path: string): void {
  collecting.getStore()?.files.add(resolve(path));
}

/** Takes the contents of these paths from now on from here, and not from the machine's files. */
export function provideInputs(contents: ReadonlyMap<string, Buffer>): void {
  provided = contents;
}

/** Returns the provided contents of a path; `undefined` without any. */
export function findProvided(path: string): Buffer | undefined {
  return provided.get(path);
}
