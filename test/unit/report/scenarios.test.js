// Reports of a run of scenarios: as text, Markdown, CSV and on the page.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatCsv, formatMarkdown } from 'millrace/report';
import { renderLoadPage } from '#internal/report/load/html.js';
import { formatLoadText } from '#internal/report/load/text.js';
import { fixture } from '../../fixtures/report/results.js';

const print = (result, width = 80) => formatLoadText(result, { color: false, width, notes: [] });

/** The recorded run with its first scenario alone. */
function ofOneScenario() {
  const result = fixture('scenarios');
  result.scenarios.pop();
  result.plan.flows.scenarios.pop();
  result.steps = result.steps.filter(({ scenario }) => scenario === 'checkout');
  return result;
}

describe('the text', () => {
  test('begins with the users and what they do', () => {
    const [first] = print(fixture('scenarios'), 120).split('\n');
    assert.equal(
      first,
      'closed: 20 users, 1 thread, 3 s, 2 scenarios by weight: checkout (weight 4), browse (weight 1)',
    );
    const [one] = print(ofOneScenario(), 100).split('\n');
    assert.equal(
      one,
      'closed: 20 users, 1 thread, 3 s, scenario checkout: log in, list items, buy',
    );
    const open = ofOneScenario();
    Object.assign(open.plan, { model: 'open', rate: 50, arrivals: 'constant', requests: 100 });
    Object.assign(open.plan.flows, { ownConnections: false, users: 9 });
    assert.match(
      print(open, 200),
      /^open: 50 iterations\/s total \(constant\), up to 9 users at a time, sharing up to 20 connections, 1 thread, 100 iterations or at most 3 s, /,
    );
  });

  test('accounts for iterations and checks', () => {
    const text = print(fixture('scenarios'), 100);
    assert.match(
      text,
      /^iterations {3}385\/s, 1,240 started = 1,156 completed \+ 64 failed \+ 20 in progress$/m,
    );
    assert.match(text, /^checks {7}98 % passed, 3,775 of 3,857$/m);
    assert.doesNotMatch(text, /NOT STARTED/);
    const late = fixture('scenarios');
    late.iterations.notStarted = 7;
    assert.match(print(late), /^NOT STARTED {2}7 due, and no user was free$/m);
  });

  test('shows the durations of iterations with and without pauses', () => {
    const text = print(fixture('scenarios'));
    assert.match(text, /^ +iteration +active +up to {2}share of iterations, by duration$/m);
    assert.match(text, /^p50 +56\.0 ms +19\.7 ms /m);
    assert.match(text, /^active: the iteration without its pauses and hooks\.$/m);
    const same = fixture('scenarios');
    same.iterations.activeMs = same.iterations.durationMs;
    assert.match(print(same), /^ +iteration +up to {2}share/m);
  });

  test('shows at a glance which step takes the time', () => {
    const text = print(ofOneScenario());
    const rows = text.split('\n');
    const head = rows.findIndex((line) => line.startsWith('step '));
    assert.match(rows[head + 1], /^log in {2,}█{13,}\S* +73 % +329 +15\.2 ms ~ 22\.4 ms +0$/);
    assert.match(rows[head + 2], /^list items {2,}█\S* +8 % .* 11$/);
    assert.match(rows[head + 3], /^buy {2,}█{3}\S* +17 % .* 53$/);
    assert.equal(rows[head + 4], '');
    assert.doesNotMatch(text, /by name/);
  });

  test('lists several scenarios with their iterations and steps', () => {
    const text = print(fixture('scenarios'));
    assert.match(text, /^checkout +904 +301 +62\.0 ms ~ 84\.3 ms +64$/m);
    assert.match(text, /\ncheckout\n {2}log in .*\n.*\n.*\nbrowse\n {2}browse items /);
    assert.doesNotMatch(text, /In several scenarios/);
    const shared = fixture('scenarios');
    shared.steps.at(-1).name = 'log in';
    assert.match(print(shared), /^In several scenarios, with their figures together: log in\.$/m);
  });

  test('says what failed in each step, with the first example', () => {
    const text = print(fixture('scenarios'), 120);
    assert.match(
      text,
      /^failed in steps\nlist items: save first from json \/items\/0\/id failed 11 of 968 times: nothing at '\/items\/0\/id' in: \{"items":\[\]\}$/m,
    );
    assert.match(text, /^buy: status 201 failed 28 of 957 times: status 409 in: /m);
    const refused = ofOneScenario();
    refused.steps[0].failures = [{ reason: 'transport', count: 2, example: 'no connection' }];
    assert.match(print(refused), /^log in: no response 2 times: no connection$/m);
  });

  test('has the metrics of hooks, and the time that hooks took', () => {
    const text = print(fixture('scenarios'));
    assert.match(text, /^basket +900 +11,250 +12\.5 +16\.3 +25\.0$/m);
    assert.match(text, /^hooks {8}1,200 calls, JavaScript busy 1\.8 %, 45\.0 µs each,$/m);
  });

  test('says so where no iteration was completed', () => {
    const none = fixture('scenarios');
    Object.assign(none.iterations, { completed: 0 });
    assert.match(print(none), /^No iteration was completed: there is no duration to show\.$/m);
  });

  test('cuts names and examples, which control nothing', () => {
    const result = fixture('scenarios');
    const name = `\u001b[31m${'long '.repeat(40)}`;
    for (const step of result.steps) step.name = name;
    result.byName[0].name = name;
    result.scenarios[0].name = name;
    result.steps[0].checks[0] = { check: name, passed: 0, failed: 1, example: name };
    result.metrics = { [name]: result.metrics.basket };
    for (const width of [60, 80, 133]) {
      for (const line of print(result, width).split('\n')) {
        assert.ok(line.length <= width, `${width}: ${line}`);
        assert.ok(!line.includes('\u001b'));
      }
    }
  });
});

describe('the other formats', () => {
  test('Markdown has iterations, steps and what failed', () => {
    const text = formatMarkdown(fixture('scenarios'));
    assert.match(text, /^### Load 385 iterations\/s, iteration p99 ~ 83\.9 ms$/m);
    assert.match(text, /^\| `checkout` \| 904 \| 301 \| .* \| 64 \(6\.\d %\) \|$/m);
    assert.match(text, /^Checks: 98 % passed, 82 of 3,857 failed\.$/m);
    assert.match(text, /^\| `log in` \| 73 % \| 329 \| /m);
    assert.match(text, /^- `buy`: status 201 failed 28 of 957 times: /m);
    assert.match(text, /^\| `basket` \| 900 \| 11,250 \| /m);
    assert.match(text, /^\| all requests \| 1,054 \| /m);
  });

  test('CSV has a row for each scenario, and columns only where a run has some', () => {
    const [head, ...rows] = formatCsv(fixture('scenarios'))
      .trim()
      .split('\n')
      .map((line) => line.split(','));
    const read = (row, name) => row[head.indexOf(name)];
    assert.equal(rows.length, 1 + 2 + 4);
    const [all, checkout, browse, named] = rows;
    assert.equal(read(all, 'iterations_completed'), '1156');
    assert.equal(read(checkout, 'scenario'), 'checkout');
    assert.equal(read(checkout, 'checks_failed'), '82');
    assert.equal(read(checkout, 'sent'), '');
    assert.equal(read(browse, 'iterations_failed'), '0');
    assert.match(read(browse, 'iteration_p50_ms'), /^1\.4\d+$/);
    assert.equal(read(browse, 'checks_failed'), '');
    assert.equal(read(named, 'iterations_completed'), '');
    assert.doesNotMatch(formatCsv(fixture('closed')).split('\n')[0], /scenario|iteration/);
  });

  test('the page has tiles, tables and plots of them', () => {
    const page = renderLoadPage(fixture('scenarios'));
    for (const tile of ['Iterations', 'Iteration p99', 'Failed iterations', 'Checks passed']) {
      assert.ok(page.includes(`<dt>${tile}</dt>`), tile);
    }
    const headings = [...page.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, text]) => text);
    const own = ['Iterations', 'Steps', 'Failed in steps'];
    assert.deepEqual(headings.slice(0, 3), own);
    assert.ok(headings.includes('Latency by step'));
    assert.ok(!headings.includes('By request name'));
    assert.match(page, /<svg class="share"[^>]*><rect width="73\.3" height="10"\/><\/svg>/);
    assert.match(page, /<h3>Duration of iterations by percentile<\/h3>/);
    assert.match(page, /<th scope="row">JavaScript busy with hooks<\/th><td>1\.8 %<\/td>/);
    assert.match(page, /<dt>not started<\/dt>/);
    const other = renderLoadPage(fixture('closed'));
    assert.doesNotMatch(other, /Iterations|<dt>not started<\/dt>/);
  });
});
