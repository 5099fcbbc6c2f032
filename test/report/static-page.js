// What pages without scripts have in common: what they may hold, and where things stand on them.
import assert from 'node:assert/strict';

/** Runs no script, holds no number that is none, and has this as its result. */
export function assertHolds(page, result) {
  const [, policy] = /Content-Security-Policy" content="(.*?)"/.exec(page);
  assert.match(
    policy.replaceAll('&#39;', "'"),
    /^default-src 'none'; img-src data:; style-src 'sha256-\S+'; script-src 'none'$/,
  );
  assert.equal(page.match(/<script/g).length, 1);
  assert.doesNotMatch(page, /NaN|undefined|Infinity/);
  const [, held] = /<script type="application\/json" id="result">(.*?)<\/script>/.exec(page);
  assert.deepEqual(JSON.parse(held), result);
}

/** Nothing is loaded from elsewhere but an icon that is empty. */
export function assertRefersToNothing(page) {
  const references = page.matchAll(/(?:src|href|action)\s*=\s*["']?([^"'\s>]*)/g);
  assert.deepEqual(
    [...references].map(([, target]) => target),
    ['data:,'],
  );
}

/** Of a page with hostile text in it: that is text. */
export function assertStaysText(page) {
  assert.equal(page.match(/<\/script/g).length, 1);
  assert.ok(!page.includes('<img'));
  assert.ok(!page.includes('<!--'));
}

/** The box of each element, in pixels of the page. */
export function boxes(page, selector) {
  return page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return { left, right, top, bottom, x: (left + right) / 2, y: (top + bottom) / 2 };
    }),
  );
}
