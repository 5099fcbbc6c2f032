// Regular expressions of JavaScript in the engine's syntax: random ones find in random texts what JavaScript finds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { regex, request, scenario } from 'millrace/scenario';
import { dryRun } from '#internal/load/engine/dry-run.js';
import { Random } from '../../../fixtures/random.js';
import { scenarioServer } from '../../../fixtures/scenario/server.js';
import { isFull } from '../../../fixtures/size.js';

const TEXTS = isFull ? 200 : 40;
const PATTERNS_PER_TEXT = isFull ? 50 : 25;

const CHARACTERS = [
  ...'aabbcABC019_ -./:,;=+*?$^|()[]{}"\'\\#&~<>@!%\n\r\t\v\f\b\0\u00a0éÉßλ\u2003\ufeff',
  '{"a":',
];

/** Characters and classes of one character, with and without the flag u. */
const ATOMS = split(String.raw`
  a b c A 0 1 _ - / : , ; = " ' # & ~ < > @ % !
  . \. \d \D \w \W \s \S \/ \[ \] \{ \} \( \) \* \$ \^ \\ \n \r \t \v \f \0 \x41 \u0062 \cJ é λ \xe9
  [abc] [^abc] [a-c0-9] [\w-] [^\s] [\d.,-] [\]\\] [^"] [^\]] [\b] [.] [$^] [^\W_] [#&~] [a&&b] [!--] [\-a] [a\-c] [-a]
  [^-a] [[] [\D] [(){}] [\s\S] [^] [\x41-\x43] [a~~b] [\d\-a]`);
const ONLY_WITHOUT_U = split(String.raw`
  { } ] \< \> \" \- \_ \a \@ {a [\a] [\d-z] [a-\d] \c [\1] \07 \u{2} \8 \p \k {,2}`);
const ONLY_WITH_U = split(String.raw`\u{e9} \p{L} \P{L} [\p{Lu}_] \p{Script=Greek} [^\u{e9}]`);
const QUANTIFIERS = [
  '',
  '',
  '',
  '',
  '*',
  '+',
  '?',
  '{2}',
  '{1,3}',
  '{0,2}',
  '{1,}',
  '*?',
  '+?',
  '??',
  '{1,2}?',
];
const ASSERTIONS = ['^', '$', '\\b', '\\B'];

function split(text) {
  return text.trim().split(/\s+/);
}

/** A random regular expression, whose groups are not repeated: a repeated one keeps another value in JavaScript. */
function randomPattern(random) {
  const flags = [...'imsu'].filter(() => random.below(3) === 0).join('');
  const atoms = [...ATOMS, ...(flags.includes('u') ? ONLY_WITH_U : ONLY_WITHOUT_U)];
  const piece = () => random.one(atoms) + random.one(QUANTIFIERS);
  const sequence = () =>
    Array.from({ length: 1 + random.below(3) }, () =>
      random.below(8) === 0 ? random.one(ASSERTIONS) : piece(),
    ).join('');
  const group = () => {
    const inner = random.below(3) === 0 ? `${sequence()}|${sequence()}` : sequence();
    switch (random.below(4)) {
      case 0:
        return `(${inner})`;
      case 1:
        return `(?<n${random.below(1e6)}$>${inner})`;
      case 2:
        return `(?:${random.one(atoms)}${sequence()})${random.one(QUANTIFIERS)}`;
      default:
        return `(?:${inner})`;
    }
  };
  for (;;) {
    const parts = Array.from({ length: 1 + random.below(3) }, () =>
      random.below(2) === 0 ? group() : sequence(),
    );
    try {
      return new RegExp(parts.join(random.below(6) === 0 ? '|' : ''), flags);
    } catch {
      // Not every composition is an expression.
    }
  }
}

test('random regular expressions find what JavaScript finds', { timeout: 60_000 }, async (t) => {
  const seed = Number(process.env.SEED ?? 1);
  const random = new Random(seed);
  const texts = Array.from({ length: TEXTS }, () =>
    Array.from({ length: random.below(40) }, () => random.one(CHARACTERS)).join(''),
  );
  const server = await scenarioServer(t, ({ url }) => ({ body: texts[Number(url.slice(1))] }));
  const patterns = texts.map(() =>
    Array.from({ length: PATTERNS_PER_TEXT }, () => randomPattern(random)),
  );
  const steps = texts.flatMap((_, at) => [
    request(`check ${at}`, `GET /${at}`, { onError: 'continue', expect: { body: patterns[at] } }),
    request(`save ${at}`, `GET /${at}`, {
      save: Object.fromEntries(
        patterns[at].map((pattern, index) => [`v${index}`, regex(pattern, { optional: true })]),
      ),
    }),
  ]);
  const done = await dryRun({ url: server.url, scenario: scenario('texts', steps), seed: 1 });
  assert.equal(done.steps.length, 2 * TEXTS);
  const differences = [];
  let matches = 0;
  for (const at of texts.keys()) {
    const [{ checks }, { saved }] = done.steps.slice(2 * at);
    for (const [index, pattern] of patterns[at].entries()) {
      // Between CR and LF only JavaScript sees an empty line.
      if (pattern.multiline && texts[at].includes('\r\n')) continue;
      const match = pattern.exec(texts[at]);
      const expected = match?.[Math.min(match.length - 1, 1)] ?? null;
      const found = saved.find(({ variable }) => variable === `v${index}`)?.json ?? null;
      const actual = found === null ? null : JSON.parse(found);
      matches += match ? 1 : 0;
      if (actual === expected && (checks[index].found === null) === (match !== null)) continue;
      const shown = [texts[at], expected, actual].map((it) => JSON.stringify(it)).join(' ');
      differences.push(`${pattern} ${shown} ${checks[index].found}`);
    }
  }
  assert.deepEqual(differences.slice(0, 10), [], `seed ${seed}: ${differences.length} differences`);
  assert.ok(matches > 0.2 * TEXTS * PATTERNS_PER_TEXT, `${matches} matched`);
});

test('lines end with LF, CR and both', async (t) => {
  const server = await scenarioServer(t, () => ({ body: 'id: 1\r\nname: x\nlast: z\rend' }));
  const save = {
    ...{ lf: regex(/^name: (.*)$/m), both: regex(/^id: (.*)$/m), cr: regex(/^last: (.*)$/m) },
    end: regex(/(...)$/),
  };
  const done = await dryRun({
    ...{ url: server.url, seed: 1 },
    scenario: scenario('lines', [request('one', 'GET /', { save }), request('two', 'GET /')]),
  });
  assert.deepEqual(
    done.steps[0].saved.map(({ json }) => JSON.parse(json)),
    ['x', '1', 'z', 'end'],
  );
});
