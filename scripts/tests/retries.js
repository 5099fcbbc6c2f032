// Measurements that tests made again: `test/fixtures/retry.js` writes a line for each into the file that the environment names.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A run with more is not a good one: either the machine or a test is not fit for it. */
export const MAX_RETRIES = 5;

export class Retries {
  #folder = mkdtempSync(join(tmpdir(), 'millrace-retries-'));
  #file = join(this.#folder, 'retries');

  /** What the environment of the tests has to hold. */
  get env() {
    return { MILLRACE_TEST_RETRIES: this.#file };
  }

  /** A line for each so far, with the file and why. */
  lines() {
    try {
      return readFileSync(this.#file, 'utf8').trimEnd().split('\n');
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
      return [];
    }
  }

  close() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
