// The page of a history in a browser: nothing is loaded, nothing is cut.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { readHistory } from 'millrace';
import { formatHtml } from 'millrace/report';
import { skip, startBrowser } from '../../fixtures/report/browser.js';
import { testFits } from '../../fixtures/report/fits.js';
import { clientBound, fixture } from '../../fixtures/report/results.js';

describe('the page in a browser', { skip }, () => {
  let browser;
  const results = mkdtempSync(join(tmpdir(), 'millrace-history-'));
  before(async () => {
    browser = await startBrowser();
    for (let day = 1; day <= 28; day += 1) {
      const result = day % 9 === 0 ? clientBound(fixture('closed'), 'no core') : fixture('closed');
      result.startedAt = new Date(Date.UTC(2026, 1, day)).toISOString();
      result.throughput.mean *= 1 + Math.sin(day) / 20;
      if (day > 4) result.commit = String(day >> 1).padStart(40, 'a');
      writeFileSync(join(results, `${day}.json`), JSON.stringify(result));
    }
    writeFileSync(join(results, 'open.json'), JSON.stringify(fixture('open-freeze')));
    writeFileSync(join(results, `${'long-name-'.repeat(20)}.json`), '{}');
  });
  after(async () => {
    await browser?.close();
    rmSync(results, { recursive: true });
  });
  testFits([['history', () => formatHtml(readHistory(results))]], () => browser);
});
