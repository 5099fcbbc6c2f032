import { AssertionError } from 'node:assert/strict';

const ATTEMPTS = 3;

/**
 * What `make` gives as soon as `check` asserts nothing against it, of at most three: the machine's other work spoils one
 * or two, a defect all of them. What `make` throws fails at once. It is told which attempt it is, from 1 on.
 */
export async function retried(make, check) {
  for (let attempt = 1; ; attempt += 1) {
    const made = await make(attempt);
    try {
      check(made);
      return made;
    } catch (error) {
      if (!(error instanceof AssertionError) || attempt === ATTEMPTS) throw error;
    }
  }
}
