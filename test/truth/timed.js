import { test } from 'node:test';

/** A time that is not as it should be: the fault of the engine, or of whatever else ran on this machine meanwhile. */
class Untimely extends Error {}

const ATTEMPTS = 3;

/**
 * A test that is given another try if a time was wrong: a machine's other work disturbs one or two, an engine's defect
 * all of them. What must hold at any time is asserted by `assert`, and fails at once.
 */
export function timed(name, body) {
  test(name, async (t) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await body(t);
      } catch (error) {
        if (!(error instanceof Untimely) || attempt === ATTEMPTS) throw error;
        t.diagnostic(`attempt ${attempt}: ${error.message}`);
      }
    }
  });
}

/** That a time, or what follows from times, lies within a tolerance of what is wanted. */
export function assertNear(value, wanted, tolerance, what) {
  assertBetween(value, wanted - tolerance, wanted + tolerance, what);
}

/** That it lies between two bounds. */
export function assertBetween(value, least, most, what) {
  if (value >= least && value <= most) return;
  throw new Untimely(`${what}: ${value}, not ${least} to ${most}`);
}

/** That it does not exceed a bound. */
export function assertAtMost(value, most, what) {
  assertBetween(value, Number.NEGATIVE_INFINITY, most, what);
}
