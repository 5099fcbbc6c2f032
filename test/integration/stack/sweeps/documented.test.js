// Each documented event, option, method, property and error of servers, sockets, requests and responses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outdated, unlisted } from '../../../fixtures/stack/sweeps/differences.js';
import { triedFeatures } from '../../../fixtures/stack/sweeps/documented/groups.js';
import { NEVER_SHOWN } from '../../../fixtures/stack/sweeps/documented/never-shown.js';
import { documentedMembers } from '../../../fixtures/stack/sweeps/documented/types.js';
import { sweep } from '../../../fixtures/stack/sweeps/run.js';

/** How much of each group is tried where not all is, and in how many processes all is. */
const GROUPS = {
  events: { parts: 9, processes: 1 },
  options: { parts: 13, processes: 1 },
  properties: { parts: 41, processes: 2 },
  methods: { parts: 41, processes: 3 },
  errors: { parts: 9, processes: 1 },
};

for (const [group, size] of Object.entries(GROUPS)) {
  test(`documented ${group} do, give and throw what they do on plain Node`, async () => {
    const seen = await sweep('documented.js', { args: [group], ...size });
    assert.ok(Object.keys(seen.plain).length > 100);
    assert.equal(unlisted(group, seen), '');
    assert.equal(outdated(group, seen), '');
  });
}

test('each documented member has a scenario, or a reason to have none', () => {
  const members = documentedMembers();
  assert.ok(members.length > 200);
  const tried = triedFeatures();
  const untried = members.filter((name) => !tried.has(name));
  assert.deepEqual(untried, Object.keys(NEVER_SHOWN).sort());
});
