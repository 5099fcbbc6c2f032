// Selects cases.
import { blindCases, cases } from './cases.js';

/** Selects the cases with these names, or with `blind` those of cases/blind.js; all without either. Throws on unknown names. */
export function selectCases({ names = [], blind = false }) {
  if (blind && names.length > 0) throw new Error('--blind: not with --case');
  if (blind) return blindCases;
  if (names.length === 0) return cases;
  return names.map((name) => {
    const found = cases.find((bench) => bench.name === name);
    if (found) return found;
    throw new Error(`--case ${name}: the cases are ${cases.map((one) => one.name).join(', ')}`);
  });
}

/** Names the folder of the results after the cases, if they are few. */
export function nameFolder({ names = [], blind = false }) {
  if (blind) return 'explain-blind';
  return names.length > 3 ? `explain-${names.length}-cases` : ['explain', ...names].join('-');
}
