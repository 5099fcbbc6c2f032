// What the judges say, for the tests of them.
import { judgeAll } from '../../dist/explain/judges.js';
import { factsOfHealthy } from './facts.js';

/** What is said of a limit, where facts differ from the healthy ones by what `change` does to them. */
export function judged(limit, change) {
  const facts = structuredClone(factsOfHealthy());
  const changed = change(facts) ?? facts;
  const { suspects, acquitted } = judgeAll(changed, {
    retained: null,
    history: [],
    besides: null,
    fresh: null,
    exhausted: [],
  });
  const suspect = suspects.find((one) => one.limit === limit);
  const why = acquitted.find((one) => one.limit === limit)?.why;
  return { suspect, why };
}
