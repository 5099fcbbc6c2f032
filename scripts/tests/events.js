// Joins the events of the parts of a run.
const TOTAL = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

/**
 * Joins the events of parts: tests are numbered throughout, and totals are of all. `parts` are functions that give the
 * events of one. The last events are those that `conclude` gives, then the totals.
 */
export async function* joined(parts, conclude) {
  const totals = new Map();
  let tests = 0;
  for (const part of parts) {
    const before = tests;
    for await (const { type, data } of part()) {
      const total = data.nesting === 0 && type === 'test:diagnostic' && TOTAL.exec(data.message);
      if (total) {
        totals.set(total[1], (totals.get(total[1]) ?? 0) + Number(total[2]));
      } else if (type === 'test:summary') {
        // Failures are reported once, with the totals.
      } else if (data.nesting !== 0) {
        yield { type, data };
      } else if (type === 'test:plan') {
        // The last one is the total of the part.
        tests = before + data.count;
      } else if (type === 'test:pass' || type === 'test:fail') {
        yield { type, data: { ...data, testNumber: before + data.testNumber } };
      } else {
        yield { type, data };
      }
    }
  }
  yield { type: 'test:plan', data: { nesting: 0, count: tests } };
  for (const line of conclude()) yield createDiagnostic(line);
  for (const [name, value] of totals) yield createDiagnostic(`${name} ${value}`);
}

/** Counts what a part has reported, for one that does not come to its end. */
export class Tally {
  #topLevel = 0;
  #pass = 0;
  #fail = 0;
  #hasTotals = false;

  see({ type, data }) {
    if (type === 'test:diagnostic' && data.nesting === 0 && TOTAL.test(data.message)) {
      this.#hasTotals = true;
    }
    if (type !== 'test:pass' && type !== 'test:fail') return;
    if (data.nesting === 0) this.#topLevel += 1;
    if (data.details.type === 'suite') return;
    if (type === 'test:pass') this.#pass += 1;
    else this.#fail += 1;
  }

  /** The events of one more test, that fails for this reason, and the totals. */
  *failing(name) {
    const error = Object.assign(new Error(name), { stack: '' });
    const data = { name, nesting: 0, testNumber: this.#topLevel + 1 };
    yield { type: 'test:start', data };
    yield { type: 'test:fail', data: { ...data, details: { duration_ms: 0, error } } };
    yield { type: 'test:plan', data: { nesting: 0, count: this.#topLevel + 1 } };
    const [pass, fail] = this.#hasTotals ? [0, 0] : [this.#pass, this.#fail];
    for (const line of [`tests ${pass + fail + 1}`, `pass ${pass}`, `fail ${fail + 1}`]) {
      yield createDiagnostic(line);
    }
  }
}

function createDiagnostic(message) {
  return { type: 'test:diagnostic', data: { nesting: 0, message } };
}
