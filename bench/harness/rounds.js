// The order of the runs of a case.
import { runClient } from '../clients/client.js';
import { startServer } from '../servers/server.js';
import { repeatUntilUndisturbed, retry } from './quiet.js';
/** The tool of a row: its name, unless the row's load names another. */
export const toolOf = (bench, row) => bench.loads?.[row]?.tool ?? row;

/**
 * Calls `runOne(tool, load)` for the rows of a case in every round, forwards and backwards (A B C C B A, so
 * that drift affects every row equally) or, with `back: false`, forwards only. Returns
 * `{ runs, failures }`: the results with `row` and `round`, and the reasons of missing ones. A failing run
 * is tried once more, then its row is left out; a disturbed run is repeated.
 */
export async function runRounds(bench, context, runOne, { back = true } = {}) {
  const there = bench.tools.filter((row) => context.found.has(toolOf(bench, row)));
  const order = back ? [...there, ...there.toReversed()] : there;
  const failures = {};
  const runs = [];
  for (let round = 0; round < context.rounds; round++) {
    for (const row of order.filter((name) => !(name in failures))) {
      context.progress(`${bench.name} ${round + 1}/${context.rounds} ${row}`);
      const load = { seconds: context.seconds, ...bench.load, ...bench.loads?.[row] };
      const once = () => retry(() => runOne(toolOf(bench, row), load));
      try {
        runs.push({
          row,
          round,
          ...(await repeatUntilUndisturbed(once, context.attempts, bench.quiet)),
        });
      } catch (error) {
        failures[row] = error.message;
      }
    }
  }
  return { runs: runs.filter(({ row }) => !(row in failures)), failures };
}

/** Starts a case's server and calls `use(run, server)`, where `run` runs a tool against it; stops the server afterwards. */
export async function withServer(bench, { cores, directory }, use) {
  const own = bench.cores ?? cores;
  const server = await startServer(bench.server, { cores: own.server, directory });
  const where = { cores: own.client, directory, server };
  let used;
  let stopped;
  try {
    const { url, port, cert, root } = server;
    const run = (tool, load, options) =>
      runClient(tool, { ...load, url, port, cert, root }, { ...where, ...options });
    used = await use(run, server);
  } finally {
    stopped = await server.stop();
  }
  return { used, stopped };
}

/** Formats a line for each row that could not be measured. */
export function formatFailures(failures) {
  return Object.entries(failures).map(([row, why]) => `- ${row} failed: ${why}`);
}
