// How much a real server can take, whose capacity is known.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { renderCapacityPage } from '#internal/report/capacity/html.js';
import { formatCapacityText } from '#internal/report/capacity/text.js';
import { assertFits, millrace, near, started } from '../fixtures/capacity/command.js';
import { retried } from '../fixtures/retry.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-capacity-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('throughput over connections is found for a delay of 20 ms and 4 ms one after the other', async () => {
  const page = join(folder, 'page.html');
  const flags = ['--json', '--html', page, '--budget', '10s', ...started];
  const sweep = async () => {
    const { code, stdout, stderr } = await millrace(flags, { DELAY: '20', SERVICE: '4' }).ended;
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const report = await retried(sweep, ({ sweep: { levels, best } }) => {
    near(0.2, best.throughput.mean, 250, 'best');
    assert.ok(best.connections >= 4, `${best.connections} connections`);
    // Whatever this machine did meanwhile, more connections were no slower by far.
    const last = levels.at(-1);
    near(0.3, last.throughput.mean, 250, 'last');
    near(0.3, last.latencyMs.p50, last.connections * 4, 'wait of the last');
  });
  assertFits(report);
  assert.equal(readFileSync(page, 'utf8'), renderCapacityPage(report));
  assert.equal(report.schemaVersion, 2);
  assert.equal(report.search, null);
  assert.match(formatCapacityText(report, { color: false, width: 80, notes: [] }), /req\/s/);
});

test('a server that ends under load leaves the levels so far and exit code 3', async () => {
  const env = { DELAY: '5', ENDS_ABOVE: '12' };
  const sweep = () => millrace(['--json', '--budget', '10s', ...started], env).ended;
  // A busy machine may bound the generator before.
  await retried(sweep, ({ code, stdout }) => {
    const report = JSON.parse(stdout);
    assertFits(report);
    assert.equal(report.sweep.ended, 'server-ended');
    assert.equal(code, 3);
    assert.deepEqual(
      report.sweep.levels.map(({ connections }) => connections),
      [1, 2, 4, 8],
    );
  });
});
