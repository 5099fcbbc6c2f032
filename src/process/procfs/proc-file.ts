import { closeSync, openSync, readSync } from 'node:fs';

/** Enough for all that is read here; of a longer file the beginning is told. */
const buffer = Buffer.allocUnsafe(64 * 1024);

/** A file under `/proc` or `/sys` that is read again and again: it stays open, which makes a reading cost 2 µs instead of 12. */
export class ProcFile {
  #descriptor: number | null;

  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, 'r');
    } catch {
      this.#descriptor = null;
    }
  }

  /** The text as it is now; `null` from the time on when it cannot be read, or what it tells of is gone. */
  read(): string | null {
    if (this.#descriptor === null) return null;
    try {
      const length = readSync(this.#descriptor, buffer, 0, buffer.length, 0);
      if (length > 0) return buffer.toString('latin1', 0, length);
    } catch {
      // A thread or process that ended: ESRCH.
    }
    this.close();
    return null;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}
