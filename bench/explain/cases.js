// Services with a known limit. The verdicts of explain are compared with them; no service is adapted to the abilities of explain.
// A case is data:
//   name       the name of the case
//   service    the file of services/ (default: the name; in cases/blind.js: blind/NAME/server, in cases/strangers.js:
//              strangers/NAME/server), or `bare`, the native server of BENCHMARKING.md
//   typescript  whether the service is in TypeScript: services/strangers/NAME/src, which is compiled to dist, see compile.js
//   flags      the flags of the load; paths: the requested paths, in turn (default `/`)
//   env, node  the environment and the flags of the service's Node
//   shell      a script that a shell runs before it becomes the service
//   output     'file': the service's standard output is a file
//   database   a database that runs meanwhile, see databases.js; the service finds it at DATABASE_PORT
//   surroundings  restrictions of the machine, see surroundings.js
//   expected   the limits each of which is a right verdict; 'no-limit' if nothing limits at this load
//   partly     limits that are true as well, but are less specific or a consequence
//   because    the arithmetic of the limit
//   remedy     the changes of the case; `change` in words; `of`: the limits that it removes (default: the expected ones).
//              `promise`: a word of the alternative that is compared, if explain predicts several changes.
//              Only for these the predicted throughput is compared with the measured one. `connections: 'knee'` uses the
//              number of connections that explain recommends. Absent if throughput does not show the effect
//   where      where the time, the waits or the bytes are, by construction: `{ cpu, waits, allocations, growth }`, each absent
//              or one place or a list of them. A place is `{ place, share }`: `place` is the name of a function, `file:line` or
//              `file:from-to`; `share` is the share of the graph's total that this place has with all that it calls. In
//              `allocations` it may be `bytes` per request instead. In `growth` it is `{ place, retainer, bytes }`: `place`
//              allocates what grows, `retainer` is a word of what retains it, `bytes` grow per request (absent if not known)
import { blind } from './cases/blind.js';
import { connections } from './cases/connections.js';
import { cpu } from './cases/cpu.js';
import { everyday } from './cases/everyday.js';
import { graphs } from './cases/graphs.js';
import { incidents } from './cases/incidents.js';
import { shape } from './cases/shape.js';
import { strangers } from './cases/strangers.js';
import { waiting } from './cases/waiting.js';

const whole = (one) => ({
  service: one.name,
  paths: ['/'],
  env: {},
  node: [],
  partly: [],
  ...one,
});

/** Cases by authors who did not know how explain works. */
export const blindCases = blind.map(whole);
const seenCases = [...shape, ...cpu, ...waiting, ...connections].map(whole);
const everydayCases = everyday.map(whole);
const incidentCases = incidents.map(whole);
const strangerCases = strangers.map((one) =>
  whole({ ...one, service: `strangers/${one.name}/${one.typescript ? 'dist/' : ''}server` }),
);
const graphCases = graphs.map(whole);
export const cases = [
  ...seenCases,
  ...everydayCases,
  ...incidentCases,
  ...blindCases,
  ...strangerCases,
  ...graphCases,
];

/** The cases of each table of the suite's file, by title. */
export const tables = {
  Services: seenCases,
  'Everyday services': everydayCases,
  Incidents: incidentCases,
  'Blind services': blindCases,
  Strangers: strangerCases,
  Graphs: graphCases,
};

/** Limits without a service, with the reasons. */
export const notMade = {
  'disk, by fsync':
    'on the machine of the results fsync returns at once; slow files are in write-pool and write-sync',
  'slow-reader': 'millrace reads as fast as it can, and has no flag to read slowly',
  'packet-loss': 'takes netem, which many kernels lack',
};
