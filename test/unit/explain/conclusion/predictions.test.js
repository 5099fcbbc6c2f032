// Sources of predictions other than experiments: profiles under load and at rest, and repeated remedies.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findRemedyToRepeat } from '#internal/explain/conclusion/prediction/remedy-experiment.js';
import { withProbePaused } from '#internal/explain/observe/probe/hub.js';
import { deriveProfiles, profileLoad } from '#internal/explain/profile/capture.js';
import { detect } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

/** A profile of a process in which these stacks of the application were seen, so many milliseconds each. */
function profileOf(stacks) {
  const callFrame = (functionName, url = 'file:///app.js') => ({
    functionName,
    url,
    lineNumber: functionName.length,
    columnNumber: 0,
  });
  const nodes = [{ id: 1, callFrame: callFrame('(root)', ''), children: [] }];
  const samples = [];
  for (const [names, count] of stacks) {
    let parent = nodes[0];
    for (const name of names) {
      const node = { id: nodes.length + 1, callFrame: callFrame(name), children: [] };
      parent.children.push(node.id);
      nodes.push(node);
      parent = node;
    }
    samples.push(...Array(count).fill(parent.id));
  }
  samples.push(1);
  return { nodes, samples, timeDeltas: samples.map(() => 1000) };
}
/** A subject whose profiles are these, under load and then at rest. */
function subjectOf(...profiles) {
  return {
    hub: { commandEach: async () => [{ pid: 7, profile: profileOf(profiles.shift()) }] },
    runBlock: async () => {},
    waitIdle: async () => {},
  };
}

/** The profile under load, and what limits need from it. */
async function takeProfiles(subject, limit) {
  return deriveProfiles(subject, limit, await profileLoad(subject));
}

describe('background work', () => {
  const underLoad = [
    [['tick', 'scan'], 30],
    [['handle', 'scan'], 20],
    [['handle'], 50],
  ];

  test('is what runs at rest, with its share under load, without calls from requests', async () => {
    const subject = subjectOf(underLoad, [[['tick', 'scan'], 10]]);
    const { loopTime, rootCause } = await takeProfiles(subject, 'idle-work');
    assert.ok(Math.abs(loopTime.background - 0.3) < 0.02, `${loopTime.background}`);
    assert.equal(rootCause.name, 'scan');
  });

  test('is not measured for other limits', async () => {
    const { loopTime } = await takeProfiles(subjectOf(underLoad), 'logging');
    assert.equal(loopTime.background, null);
  });
});
test('background work gives way to more connections, by at most its share', () => {
  const of = (idleShare, isFromProbe) => {
    const metrics = structuredClone(buildHealthyMetrics());
    Object.assign(metrics.loop, { busy: 1, isFromProbe });
    return detect('idle-work', { ...metrics, idleShare }).predictions['connections-x2'];
  };
  assert.deepEqual(of(0.5, true), { low: 0.85, high: 2 });
  assert.deepEqual(of(0.1, false), { low: 0.85, high: 1 / 0.9 });
  // A loop that is known to be busy may do once for more requests what it does once per turn.
  assert.deepEqual(of(0.1, true), { low: 0.85, high: 1.5 });
});
test('a paused probe resumes afterwards, whether the work succeeded or failed', async () => {
  const heard = [];
  const failed = [];
  const hub = (fails) => ({
    async command(name, { on }) {
      heard.push(`${name} ${on}`);
      if (on === fails) throw new Error('not told');
      return [null];
    },
  });
  const rest = (hub, work) => withProbePaused(hub, work, (why) => failed.push(why));
  const work = async () => heard.push('work');
  await rest(hub(), work);
  assert.deepEqual(heard.splice(0), ['subscribe false', 'work', 'subscribe true']);
  await assert.rejects(
    rest(hub(), async () => {
      throw new Error('did not start');
    }),
    /did not start/,
  );
  assert.deepEqual(heard.splice(0), ['subscribe false', 'subscribe true']);
  // Others may have been told.
  await rest(hub(false), work);
  assert.deepEqual(heard.splice(0), ['subscribe false', 'work', 'subscribe true']);
  assert.deepEqual(failed, []);
  await rest(hub(true), work);
  assert.match(failed[0], /not told/);
  assert.equal(await rest(null, async () => 1), 1);
});
test('an experiment is repeated if it applied the remedy itself and gained much', () => {
  const worth = (limit, name, ratio, metric = 'throughput') =>
    findRemedyToRepeat({
      finding: { chosen: limit && { limit } },
      experiments: [{ name, metric, measured: { ratio } }],
    });
  assert.equal(worth('connection-churn', 'keep-alive', 2.2), 'keep-alive');
  assert.equal(worth('connection-churn', 'keep-alive', 1.8), null);
  assert.equal(worth('connection-churn', 'output-discarded', 5), null);
  assert.equal(worth('slow-dependency', 'client-timeout', 5, 'finished-requests'), null);
  // A substitute is not the remedy.
  assert.equal(worth('nagle-delayed-ack', 'early-ack', 100), null);
  assert.equal(worth(null, 'keep-alive', 5), null);
});
