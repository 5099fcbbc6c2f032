// The tables of the documents, from the figures of the newest runs: of each case in order. Pure.
import { computeMedian } from '../harness/statistics.js';
import { formatTable } from './table.js';

/** Lists the major versions of Node.js of these cases, the newest first. */
export function listMajors(cases) {
  const all = Object.values(cases).flatMap(({ on }) => on.map(({ node }) => node));
  return [...new Set(all)].toSorted((one, other) => other - one);
}

const on = ({ on: measured }, major) => measured.find(({ node }) => node === major);

/** Lists the values of a field of the cases, each once. */
function listValues(cases, key) {
  return [...new Set(Object.values(cases).map((one) => one[key]))];
}

/**
 * Formats a table with a row for each case: its name, and the cells that `list` gives. The line below says where and when
 * it was measured, and from which commit; if there are several, a column says which.
 */
function formatCases(head, cases, list) {
  const [commit, ...others] = listValues(cases, 'commit');
  const isMixed = others.length > 0;
  const rows = Object.entries(cases).map(([name, one]) => [
    ...[`\`${name}\``, ...list(one)],
    ...(isMixed ? [one.commit.slice(0, 7)] : []),
  ]);
  const origin = ['date', 'cpu'].map((key) => listValues(cases, key).join('; ')).join(' on ');
  return [
    ...formatTable(isMixed ? [...head, 'commit'] : head, rows),
    ...['', `Measured ${origin}${isMixed ? '' : `, commit ${commit.slice(0, 7)}`}.`],
  ];
}

/** Splits the bars of cases into those that every case has with the same verdict, and the others of each case. */
function splitBars(all) {
  const [first = []] = all;
  const common =
    all.length > 1 ? first.filter((bar) => all.every((bars) => bars.includes(bar))) : [];
  return { common, own: (bars) => bars.filter((bar) => !common.includes(bar)).join('; ') };
}

/** Formats a suite of servers: a row for each case, a column for each Node.js, and the peers and bars on the newest. */
export function formatServers(cases) {
  const majors = listMajors(cases);
  const peers = ['Bun', 'nginx'].filter((peer) =>
    Object.values(cases).some((one) => on(one, majors[0])?.peers[peer.toLowerCase()]),
  );
  const titles = majors.map((major) => `Node ${major}`);
  const head = ['case', ...titles, ...peers, `bars on Node ${majors[0]}`];
  return formatCases(head, cases, (one) => {
    const newest = on(one, majors[0]);
    return [
      ...majors.map((major) => on(one, major)?.main ?? ''),
      ...peers.map((peer) => newest?.peers[peer.toLowerCase()] ?? ''),
      newest?.bars.join('; ') ?? '',
    ];
  });
}

/** Formats the load suite: a row for each case. */
export function formatLoad(cases) {
  return formatCases(['case', 'millrace ÷ peer', 'bars'], cases, ({ on: [{ main, bars }] }) => [
    main,
    bars.join('; '),
  ]);
}

/** Formats the suite of applications: a table for each Node.js. */
export function formatApps(cases) {
  return listMajors(cases).flatMap((major, index) => {
    const measured = Object.entries(cases).filter(([, one]) => on(one, major));
    const { common, own } = splitBars(measured.map(([, one]) => on(one, major).bars));
    const head = [
      `Node ${major}`,
      ...['CPU µs per request, plain → stack', 'plain ÷ stack', 'µs less', 'requests/s'],
      ...['memory', 'bars'],
    ];
    const table = formatCases(head, Object.fromEntries(measured), (one) => {
      const { cpuUs, main, savedUs, throughput, memory, bars } = on(one, major);
      // The interval of the memory is in all rows; the bar says whether it is met.
      const [medianMemory] = memory.split(' ');
      return [cpuUs, main, savedUs.toFixed(1), throughput, medianMemory, own(bars)];
    });
    const origin = [
      table.pop(),
      ...(common.length > 0 ? [`In every row ${common.join('; ')}.`] : []),
    ];
    return [...(index > 0 ? [''] : []), ...table, origin.join(' ')];
  });
}

/** Formats the line of README.md that says what to expect of an application, on the newest Node.js. */
export function formatExpectation(cases) {
  const [major] = listMajors(cases);
  const saved = Object.values(cases).flatMap((one) => on(one, major)?.savedUs ?? []);
  return [
    `What to expect: on Node ${major} the stack takes ${computeMedian(saved).toFixed(0)} µs of CPU time off each request of an application, as the`,
    `median of ${saved.length} ([each of them](bench/results/apps.md), with its interval).`,
  ];
}

/**
 * Selects the measured cases of a suite, in its order and without cases that no longer exist: `{ cases, missing }`.
 * `cases` is `null` if one of `needs`, or every case, has not been measured.
 */
export function selectMeasured(names, measured, needs = []) {
  const present = names.filter((name) => name in measured);
  const missing = names.filter((name) => !(name in measured));
  const isEnough = present.length > 0 && needs.every((name) => name in measured);
  const cases = isEnough ? Object.fromEntries(present.map((name) => [name, measured[name]])) : null;
  return { cases, missing };
}

/** Formats which cases of a suite a table does not have; no lines if it has all. */
export function formatMissing(missing) {
  if (missing.length === 0) return [];
  return [
    '',
    `Not in this table, as not measured: ${missing.map((name) => `\`${name}\``).join(', ')}.`,
  ];
}

/**
 * Replaces the lines between the comments that name a block in a document. Throws an error if the document has no such
 * block.
 */
export function replaceBlock(text, name, lines) {
  const [begin, end] = [`<!-- figures: ${name} -->\n`, `<!-- end of figures -->`];
  const [before, rest] = split(text, begin);
  const [, after] = split(rest, end);
  if (after === undefined) throw new Error(`has no block of figures "${name}"`);
  return `${before}${begin}${lines.join('\n')}\n${end}${after}`;
}

function split(text = '', separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
