// The tables of the documents, from the figures of the newest runs: of each case in order. Pure.
import { computeMedian } from './statistics.js';
import { formatTable } from './table.js';

/** Lists the major versions of Node.js of these cases, the newest first. */
export function listMajors(cases) {
  const all = Object.values(cases).flatMap(({ on }) => on.map(({ node }) => node));
  return [...new Set(all)].toSorted((one, other) => other - one);
}

const on = ({ on: measured }, major) => measured.find(({ node }) => node === major);

/** Formats where and from which commits the figures are: one, if all were measured by one command. */
function formatOrigin(cases) {
  const list = (key) => [...new Set(Object.values(cases).map((one) => one[key]))].join('; ');
  return `Measured ${list('date')} on ${list('cpu')}, commit ${list('commit')}.`;
}

/** Formats a suite of servers: a row for each case, a column for each Node.js, and the peers and bars on the newest. */
export function formatServers(cases) {
  const majors = listMajors(cases);
  const rows = Object.entries(cases).map(([name, one]) => {
    const { peers = {}, bars = [] } = on(one, majors[0]) ?? {};
    return [
      `\`${name}\``,
      ...majors.map((major) => on(one, major)?.main ?? ''),
      ...['bun', 'nginx'].map((peer) => peers[peer] ?? ''),
      bars.join('; '),
    ];
  });
  const titles = majors.map((major) => `Node ${major}`);
  const head = ['case', ...titles, 'Bun', 'nginx', `bars on Node ${majors[0]}`];
  return [...formatTable(head, rows), '', formatOrigin(cases)];
}

/** Formats the load suite: a row for each case. */
export function formatLoad(cases) {
  const rows = Object.entries(cases).map(([name, { on: measured }]) => {
    const [{ main, bars }] = measured;
    return [`\`${name}\``, main, bars.join('; ')];
  });
  return [...formatTable(['case', 'millrace ÷ peer', 'bars'], rows), '', formatOrigin(cases)];
}

/** Formats the suite of applications: a table for each Node.js. */
export function formatApps(cases) {
  const tables = listMajors(cases).map((major) => {
    const rows = Object.entries(cases).flatMap(([name, one]) => {
      const figures = on(one, major);
      if (!figures) return [];
      const { cpuUs, main, savedUs, throughput, memory, bars } = figures;
      const cells = [cpuUs, main, savedUs.toFixed(1), throughput, memory];
      return [[`\`${name}\``, ...cells, bars.join('; ')]];
    });
    const head = [
      `Node ${major}`,
      ...['CPU µs per request, plain → stack', 'plain ÷ stack', 'µs less', 'requests/s'],
      ...['memory', 'bars'],
    ];
    return [...formatTable(head, rows), ''];
  });
  return [...tables.flat(), formatOrigin(cases)];
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
