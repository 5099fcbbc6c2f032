import { closeSync, openSync, readSync } from 'node:fs';

/** Large enough for all files read here; a longer file is truncated. */
const buffer = Buffer.allocUnsafe(64 * 1024);

/** A file under `/proc` or `/sys` that is read repeatedly. It stays open, so a reading costs 2 µs instead of 12. */
export class ProcFile {
  #descriptor: number | null;

  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, 'r');
    } catch {
      this.#descriptor = null;
    }
  }

  /** Reads the current text; `null` once it cannot be read, or its subject no longer exists. */
  read(): string | null {
    if (this.#descriptor === null) return null;
    try {
      const length = readSync(this.#descriptor, buffer, 0, buffer.length, 0);
      if (length > 0) return buffer.toString('latin1', 0, length);
    } catch {
      // ESRCH: the thread or process has ended.
    }
    this.close();
    return null;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}
