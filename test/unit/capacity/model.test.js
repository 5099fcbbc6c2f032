import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fitModel } from '#internal/capacity/model/model.js';
import { Noise } from '../../fixtures/noise.js';

const noise = new Noise(7);
const doubling = (most) => Array.from({ length: Math.log2(most) + 1 }, (_, i) => 2 ** i);
const levels = (curve, most, blocks, scatter = 0.03) =>
  doubling(most).map((connections) => ({
    connections,
    throughput: Array.from(
      { length: blocks },
      () => curve(connections) * Math.exp(noise.normal(scatter)),
    ),
  }));

/** Mean value analysis, written out. */
const delayAndServer = (delay, service) => (connections) => {
  let [queue, throughput] = [0, 0];
  for (let n = 1; n <= connections; n += 1) {
    const response = service * (1 + queue);
    throughput = n / (delay + response);
    queue = throughput * response;
  }
  return throughput;
};
const bounds = (single, most) => (n) => Math.min(n / single, most);
const law = (rate, serial, exchange) => (n) =>
  (rate * n) / (1 + serial * (n - 1) + exchange * n * (n - 1));

const covers = ({ low, high }, truth) => low <= truth && truth <= high;
const near = (share, value, truth, what) =>
  assert.ok(Math.abs(value / truth - 1) <= share, `${what}: ${value} instead of ${truth}`);

const cases = [
  {
    name: 'a long delay and a server',
    curve: delayAndServer(0.05, 80e-6),
    most: 4096,
    single: 50.08,
    plateau: 12_500,
  },
  {
    name: 'a short delay and a server',
    curve: delayAndServer(1e-3, 200e-6),
    most: 256,
    single: 1.2,
    plateau: 5000,
  },
  { name: 'a server alone', curve: delayAndServer(0, 1e-3), most: 128, single: 1, plateau: 1000 },
  {
    name: 'bounds that nothing rounds',
    curve: bounds(0.0514, 12_558),
    most: 4096,
    single: 51.4,
    plateau: 12_558,
  },
  { name: 'a pool of five', curve: bounds(0.052, 96), most: 64, single: 52, plateau: 96 },
  { name: 'a serial share', curve: law(1000, 0.05, 0), most: 256, single: 1, plateau: 20_000 },
];

describe('models of throughput over connections', () => {
  for (const { name, curve, most, single, plateau } of cases) {
    test(`the intervals of ${name} cover the truth`, () => {
      const runs = 300;
      const counts = { single: 0, plateau: 0, knee: 0, further: 0 };
      for (let run = 0; run < runs; run += 1) {
        const model = fitModel(levels(curve, most, 2));
        counts.single += covers(model.singleMs, single);
        counts.plateau += covers(model.maxThroughput, plateau);
        counts.knee += covers(model.knee, (plateau * single) / 1000);
        const further = Math.round(1.6 * most);
        counts.further += covers(
          model.predict(further),
          curve(further) * Math.exp(noise.normal(0.03)),
        );
      }
      for (const [quantity, count] of Object.entries(counts)) {
        assert.ok(count / runs >= 0.92, `${quantity}: ${count} of ${runs}`);
      }
    });

    test(`the estimates of ${name} are near the truth, and no peak is claimed`, () => {
      let peaks = 0;
      for (let run = 0; run < 50; run += 1) {
        const model = fitModel(levels(curve, most, 3));
        near(0.1, model.singleMs.value, single, 'single');
        near(0.1, model.maxThroughput.value, plateau, 'plateau');
        peaks += model.peak ? 1 : 0;
      }
      assert.ok(peaks <= 2, `${peaks} of 50`);
    });
  }

  test('a measured decline is a peak', () => {
    const curve = law(1000, 0.05, 0.0005);
    const [runs, covered] = [200, { peak: 0, plateau: 0 }];
    for (let run = 0; run < runs; run += 1) {
      const model = fitModel(levels(curve, 256, 2));
      assert.equal(model.curve, 'usl');
      covered.peak += covers(model.peak, Math.sqrt(0.95 / 0.0005));
      covered.plateau += covers(model.maxThroughput, curve(Math.sqrt(0.95 / 0.0005)));
    }
    assert.ok(
      covered.peak >= 0.92 * runs && covered.plateau >= 0.92 * runs,
      JSON.stringify(covered),
    );
  });

  test('the same law measured below its peak has no peak', () => {
    assert.equal(fitModel(levels(law(1000, 0.05, 0.0005), 32, 3, 0.003)).peak, null);
  });

  test('a straight line has no plateau', () => {
    const models = Array.from({ length: 200 }, () =>
      fitModel(levels(bounds(0.05, Number.POSITIVE_INFINITY), 64, 3)),
    );
    const right = models.filter(
      (model) =>
        !model.maxThroughput && !model.knee && model.predict(128).high > 0.9 * (128 / 0.05),
    );
    assert.ok(right.length >= 0.97 * models.length, `${right.length}`);
    for (const { singleMs } of models) near(0.05, singleMs.value, 50, 'single');
  });

  test('nothing is claimed beyond twice the largest level, nor below 1', () => {
    const model = fitModel(levels(cases[1].curve, 64, 3));
    assert.equal(model.reach, 128);
    assert.ok(model.predict(128).low > 0);
    for (const connections of [129, 0, -1, Number.NaN])
      assert.equal(model.predict(connections), null);
  });

  test('a curve of the wrong form has wide intervals', () => {
    const stairs = (n) => 1000 * (n < 8 ? 1 : n < 32 ? 3 : 2);
    const wrong = fitModel(levels(stairs, 128, 3, 0.01));
    const right = fitModel(levels(cases[2].curve, 128, 3, 0.01));
    const width = (range) => (range ? range.high / range.low : Number.POSITIVE_INFINITY);
    assert.ok(width(wrong.predict(100)) > 2 * width(right.predict(100)));
  });

  test('two levels give an answer, and one gives none', () => {
    const two = fitModel([
      { connections: 1, throughput: [20, 20.4, 19.8] },
      { connections: 20, throughput: [395, 402, 399] },
    ]);
    near(0.05, two.singleMs.value, 50, 'single');
    assert.equal(two.maxThroughput, null);
    assert.equal(fitModel([{ connections: 10, throughput: [5, 5] }]), null);
    assert.equal(fitModel([]), null);
    assert.equal(
      fitModel([
        { connections: 1, throughput: [0] },
        { connections: 2, throughput: [0] },
      ]),
      null,
    );
  });

  test('the order and the grouping of the blocks have no effect', () => {
    const given = levels(cases[1].curve, 128, 3);
    const apart = given.flatMap(({ connections, throughput }) =>
      throughput.map((value) => ({ connections, throughput: [value] })),
    );
    const digest = (model) =>
      JSON.stringify([model, model.predict(50)], (_, value) =>
        typeof value === 'number' ? Number(value.toPrecision(6)) : value,
      );
    assert.equal(digest(fitModel(noise.shuffled(apart))), digest(fitModel(given)));
  });

  test('twice the throughput at all levels has the same knee', () => {
    const given = levels(cases[0].curve, 2048, 3);
    const faster = given.map(({ connections, throughput }) => ({
      connections,
      throughput: throughput.map((value) => 2 * value),
    }));
    const [model, twice] = [fitModel(given), fitModel(faster)];
    near(1e-3, twice.knee.value, model.knee.value, 'knee');
    near(1e-3, twice.maxThroughput.value, 2 * model.maxThroughput.value, 'throughput');
    near(1e-3, 2 * twice.singleMs.value, model.singleMs.value, 'single');
  });
});
