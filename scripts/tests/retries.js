// Measurements that tests made again: `test/fixtures/retry.js` writes a line for each into the file that the environment names.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Maximum of a run that passes; with more, either the machine or a test is unsuitable. */
export const MAX_RETRIES = 5;

export class Retries {
  #folder = mkdtempSync(join(tmpdir(), 'millrace-retries-'));
  #file = join(this.#folder, 'retries');

  /** Environment variables for the tests. */
  get env() {
    return { MILLRACE_TEST_RETRIES: this.#file };
  }

  /** Formats a line for each retry, with its file and reason. */
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
