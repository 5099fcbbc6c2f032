// The same bytes to the same application on Node's own server and on the stack: they must come to the same.
//
//   MILLRACE_FUZZ_SEED=7 MILLRACE_FUZZ_CASES=10000 node --test test/integration/stack/messages/differential.test.js
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Random } from '../../../fixtures/random.js';
import { isFull } from '../../../fixtures/size.js';
import { applications } from '../../../fixtures/stack/comparison/applications.js';
import { differences } from '../../../fixtures/stack/comparison/compare.js';
import { known } from '../../../fixtures/stack/comparison/intended-differences.js';
import { mutate } from '../../../fixtures/stack/comparison/mutated-requests.js';
import { seeds } from '../../../fixtures/stack/comparison/requests.js';
import { Pair } from '../../../fixtures/stack/comparison/two-processes.js';

const SEED = Number(process.env.MILLRACE_FUZZ_SEED ?? 1);
const CASES = Number(process.env.MILLRACE_FUZZ_CASES ?? (isFull ? 10_000 : 500));
/** Connections at once. */
const BATCH = 100;

let pair;
before(async () => {
  pair = await Pair.start();
});
after(() => pair.stop());

const whole = (bytes) => (bytes.length > 0 ? [bytes] : []);
const short = seeds.filter(([, bytes]) => bytes.length < 2_000);

describe('seeds in one piece', () => {
  const least = isFull ? 1 : 3;
  for (const [turn, application] of Object.keys(applications).entries()) {
    test(`one of ${least} whole seeds has the same result as with Node in "${application}"`, () =>
      same(
        application,
        seeds.filter((_, index) => (index + turn) % least === 0).map(([, bytes]) => whole(bytes)),
      ));
  }
});

describe('the position of an error', () => {
  test('the position of an error in the first request of a packet is reported as by Node', async () => {
    const results = await pair.run(
      'report',
      seeds.map(([, bytes]) => whole(bytes)),
    );
    const errors = ({ seen }) => seen.lines.filter((line) => line.startsWith('clientError'));
    const first = results.filter(({ plain }) => plain.seen.lines[0]?.startsWith('clientError'));
    assert.ok(first.length > 60, `${first.length} seeds are wrong`);
    assert.deepEqual(
      first.map(({ stack }) => errors(stack)),
      first.map(({ plain }) => errors(plain)),
    );
  });
});

describe('seeds in two pieces', () => {
  const brief = seeds.filter(([, bytes]) => bytes.length <= 120);
  // The one that tells most of what it saw has most of them.
  const least = isFull ? 1 : 8;
  for (const [application, times] of Object.entries({ report: 1, bare: 3, upgrade: 3 })) {
    const each = times * least;
    test(`one of ${each} cuts of each seed has the same result as with Node in "${application}"`, () =>
      same(
        application,
        brief.flatMap(([, bytes], index) =>
          inTwo(bytes).filter((_, cut) => (index + cut) % each === 0),
        ),
      ));
  }
});

describe(`mutations of seeds, MILLRACE_FUZZ_SEED=${SEED}`, () => {
  // A body that "piped" sends back depends on the packets that are left to Node's parser.
  const names = Object.keys(applications).filter((name) => !['lenient', 'piped'].includes(name));
  for (const [index, application] of names.entries()) {
    test(`mutated seeds have the same result as with Node in "${application}"`, () => {
      const random = new Random(SEED + index);
      const cases = Array.from({ length: Math.ceil(CASES / names.length) }, () => {
        const bytes = mutate(random, random.one(short)[1], random.one(short)[1]);
        return random.pieces(bytes);
      });
      return same(application, cases, true);
    });
  }
});

function inTwo(bytes) {
  const cuts = Array.from({ length: Math.max(0, bytes.length - 1) }, (_, index) => index + 1);
  return cuts.map((cut) => [bytes.subarray(0, cut), bytes.subarray(cut)]);
}

async function same(application, cases, mutated = false) {
  try {
    await compareAll(application, cases, mutated);
  } catch (error) {
    // What one test has broken is none of the next one's.
    await pair.stop();
    pair = await Pair.start();
    throw error;
  }
}

async function compareAll(application, cases, mutated) {
  for (let at = 0; at < cases.length; at += BATCH) {
    const different = await differences(pair, application, cases.slice(at, at + BATCH));
    const defects = different.filter((result) => !known(application, { ...result, mutated }));
    assert.deepEqual(defects.map(report), [], `${application}, MILLRACE_FUZZ_SEED=${SEED}`);
  }
}

function report({ pieces, plain, stack }) {
  return { sent: pieces.map((piece) => piece.toString('latin1')), plain, stack };
}
