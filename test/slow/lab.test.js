// The studies as a whole: what they claim of this machine.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { lab } from '#internal/index.js';
import { millrace } from '../fixtures/lab/command.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-lab-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The claims of a study that held in none of its runs, by their text; what explain predicts within so short a budget is told, and not held to. */
function broken(runs) {
  const never = (place) => runs.every(({ claims }) => claims[place].held === false);
  const texts = runs.at(-1).claims.map(({ text }) => text);
  return texts.filter((text, place) => never(place) && !text.includes('explain'));
}

/** A quick run is no longer. */
const QUICK_MS = 60_000;

/** A study that is made up to three times, as long as it is spoiled by what else the machine does; the result is the last. */
function repeated(study, { repeat = () => lab({ study, quick: true }), wanted = () => true } = {}) {
  const found = { result: null, runs: [], leastMs: Number.POSITIVE_INFINITY };
  before(async () => {
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      found.result = await repeat();
      const [run] = found.result.studies;
      found.runs.push(run);
      found.leastMs = Math.min(found.leastMs, found.result.durationMs);
      if (broken(found.runs).length === 0 && wanted(run) && found.leastMs < QUICK_MS) return;
    }
  });
  test('its claims hold here', () => {
    assert.deepEqual(broken(found.runs), []);
    assert.ok(found.result.studies[0].claims.some(({ held }) => held === true));
  });
  test('its tables have a cell for each column, of then and of now', () => {
    for (const { columns, rows } of found.result.studies[0].tables) {
      assert.ok(rows.length > 0);
      for (const { cells } of rows) assert.equal(cells.length, columns.length);
    }
    const columns = found.result.studies[0].tables.flatMap((table) => table.columns);
    assert.deepEqual(new Set(columns.map(({ from }) => from)), new Set(['then', 'now']));
  });
  test('a quick run takes less than a minute', () => {
    assert.ok(found.leastMs < QUICK_MS, `${found.leastMs} ms`);
  });
  return found;
}

describe('connections', () => {
  const found = repeated('connections', {
    wanted: ({ causes: [{ limit, status }] }) =>
      limit === 'too-few-connections' && status === 'confirmed',
  });

  test('the knee is where both bounds meet, and explain knows it from 20 connections', () => {
    const [{ figures, causes }] = found.result.studies;
    const [{ series, marks }] = figures;
    const [{ points }] = series;
    const most = Math.max(...points.map(([, rate]) => rate));
    const [[, alone]] = points;
    const knee = most / alone;
    assert.ok(Math.abs(marks[0].x / knee - 1) < 0.05, `${marks[0].x}, not ${knee}`);
    assert.equal(causes[0].limit, 'too-few-connections', causes[0].sentence);
    assert.equal(causes[0].status, 'confirmed');
  });
});

describe('pipelining, by the command line', () => {
  const page = join(folder, 'page.html');
  const found = repeated('pipelining', {
    async repeat() {
      const args = ['lab', 'pipelining', '--quick', '--json', '--html', page];
      const { code, stdout, stderr } = await millrace(args);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    },
  });

  test('--json is the result, --html a page with its figures, without a script', () => {
    const { schemaVersion, studies, quick, machine } = found.result;
    assert.deepEqual([schemaVersion, quick, machine.node], [2, true, process.version]);
    const html = readFileSync(page, 'utf8');
    assert.doesNotMatch(html, /<script(?! type="application\/json")/);
    for (const { title } of studies[0].figures) assert.ok(html.includes(`<h3>${title}</h3>`));
  });

  test('node:http has thousands in progress, Millrace as many as its bound', () => {
    const [{ tables }] = found.result.studies;
    const column = tables[0].columns.findIndex(
      ({ name, from }) => name.startsWith('in progress') && from === 'now',
    );
    const [node, native] = tables[0].rows.map(({ cells }) => cells[column]);
    assert.ok(node > 4 * native, `${node} and ${native}`);
    assert.ok(native > 200 && native <= 256, `${native}`);
  });
});

describe('timeouts', () => {
  const found = repeated('timeouts', {
    wanted: ({ causes: [{ limit }] }) => limit === 'slow-dependency',
  });

  test('explain finds the slow dependency, and what a limit gives', () => {
    const [{ causes }] = found.result.studies;
    assert.ok(['slow-dependency', 'noisy-machine'].includes(causes[0].limit), causes[0].sentence);
  });
});

describe('pipe against buffer', () => {
  repeated('pipe-vs-buffer');
});

describe('stacks', () => {
  repeated('stacks');
});
