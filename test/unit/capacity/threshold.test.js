// Where trials of rates that pass and fail place the threshold.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseNextRate, estimateThreshold } from '#internal/capacity/threshold.js';
import { Noise } from '../../fixtures/noise.js';
import { isFull } from '../../fixtures/size.js';

const noise = new Noise(11);

describe('the threshold between passing and failing rates', () => {
  /** Trials as `nextRate` places them, of a server whose blocks hold below about `truth`. */
  const trialsOf = (count, { truth, spread, stalls }) => {
    const trials = [];
    let rate = truth * (0.3 + noise.uniform());
    for (let trial = 0; trial < count; trial += 1) {
      const chance = 1 / (1 + Math.exp(Math.log(rate / truth) / spread));
      trials.push({ rate, held: noise.uniform() < chance && noise.uniform() > stalls });
      rate = chooseNextRate(trials);
    }
    return trials;
  };

  for (const spread of [0.002, 0.03, 0.1]) {
    for (const stalls of [0, 0.05]) {
      test(`the interval covers the truth with spread ${spread} and ${100 * stalls} % stalls`, () => {
        const [runs, truth] = [isFull ? 120 : 40, 1000];
        let [covered, close] = [0, 0];
        for (let run = 0; run < runs; run += 1) {
          const { value, low, high } = estimateThreshold(trialsOf(12, { truth, spread, stalls }));
          covered += low <= truth && truth <= high ? 1 : 0;
          close += Math.abs(Math.log(value / truth)) < 0.2 ? 1 : 0;
        }
        assert.ok(covered >= 0.9 * runs, `${covered} of ${runs}`);
        assert.ok(close >= 0.9 * runs, `${close} of ${runs} within 20 %`);
      });
    }
  }

  test('more trials make the interval narrower, a contradiction wider', () => {
    const sharp = { truth: 1000, spread: 0.002, stalls: 0 };
    const width = (trials) => {
      const { low, high } = estimateThreshold(trials);
      return high / low;
    };
    assert.ok(width(trialsOf(24, sharp)) < width(trialsOf(10, sharp)));
    const rates = [500, 700, 900, 940, 1060, 1100, 1300];
    const clear = [...rates, ...rates].map((rate) => ({ rate, held: rate < 1000 }));
    const also = (rate, held) => width([...clear, { rate, held }]);
    assert.ok(also(850, false) > also(850, true));
    assert.ok(also(1150, true) > also(1150, false));
  });

  test('a block that failed far below one that held is repeated, and then the rates increase', () => {
    const trials = [
      { rate: 545, held: true },
      { rate: 818, held: false },
      { rate: 3201, held: true },
    ];
    assert.equal(chooseNextRate(trials), 818);
    assert.equal(chooseNextRate([...trials, { rate: 818, held: true }]), 3201 * 1.5);
    const failedAbove = { rate: 4801.5, held: false };
    assert.notEqual(chooseNextRate([...trials, failedAbove, { rate: 818, held: false }]), 818);
  });

  test('the rate increases while all hold, and decreases while none does', () => {
    assert.equal(chooseNextRate([{ rate: 100, held: true }]), 150);
    assert.equal(chooseNextRate([{ rate: 90, held: false }]), 60);
    const between = chooseNextRate([
      { rate: 100, held: true },
      { rate: 150, held: false },
    ]);
    assert.ok(between > 80 && between < 190, `${between}`);
  });
});
