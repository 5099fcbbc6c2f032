// The results of the suite as text.
import { sumParts } from './statistics.js';
import { CLASSES } from './tests.js';

/** Formats a row for each class: the tests that pass on plain Node.js, and those of them that pass with the stack. */
export function formatTable(tests, plain, stack) {
  const used = Object.keys(CLASSES).filter((id) => tests.some((test) => test.class === id));
  const rows = used.map((id) => {
    const members = tests.filter((test) => test.class === id);
    return formatRow(`${id}  ${CLASSES[id]}`, members, plain, stack);
  });
  const head = formatLine('class', ['tests', 'plain', 'stack', 'share']);
  return [head, ...rows, formatRow('all', tests, plain, stack)].join('\n');
}

function formatRow(name, tests, plain, stack) {
  const counted = tests.filter((test) => plain[test.name].outcome === 'pass');
  const passed = counted.filter((test) => stack[test.name].outcome === 'pass');
  const share = formatPercent(passed.length, counted.length);
  return formatLine(name, [tests.length, counted.length, passed.length, share]);
}

function formatLine(name, cells) {
  return name.padEnd(42) + cells.map((cell) => String(cell).padStart(8)).join('');
}

/** Rounds down, so that 100 % means all. */
function formatPercent(part, all) {
  return all === 0 ? '-' : `${(Math.floor((1000 * part) / all) / 10).toFixed(1)} %`;
}

/** Formats a title with the number of names, and each name with its text; empty without names. */
export function formatList(title, names, textOf) {
  if (names.length === 0) return undefined;
  const lines = names.map((name) => `  ${name}: ${textOf(name)}`);
  return [`${title}: ${names.length}`, ...lines].join('\n');
}

/** Formats how many requests the stack served itself, and why it did not serve the others. */
export function formatServed(results) {
  const total = sumParts(Object.values(results).map((result) => result.statistics));
  if (total.processes === 0) return 'served natively: unknown, no process wrote statistics';
  const fallbackReasons = Object.entries(total.fallbackReasons).sort(([, a], [, b]) => b - a);
  return [
    `served natively (processes: ${total.processes})`,
    ...['connections', 'requests'].map((what) => {
      const { native = 0, fallback = 0 } = total[what];
      const all = native + fallback;
      return `  ${what.padEnd(12)} ${native} of ${all}, ${formatPercent(native, all)}`;
    }),
    fallbackReasons.length > 0 && 'handed over to Node.js',
    ...fallbackReasons.map(([reason, count]) => `  ${String(count).padStart(8)}  ${reason}`),
  ]
    .filter(Boolean)
    .join('\n');
}
