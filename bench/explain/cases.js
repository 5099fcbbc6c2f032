// The services whose limit is known. They are the truth by which explain is judged: none is fitted to what it can see.
// A case is data:
//   name       what it is called
//   service    the file of services/ (default the name; of cases/blind.js blind/NAME/server); or `bare`, the native
//              server of BENCHMARKING.md
//   flags      of the load; paths: what is asked for, in turn (default `/`)
//   env, node  environment and flags of the service's Node
//   shell      what a shell does before it becomes the service
//   output     'file': the service's standard output is a file
//   surroundings  what is special about the machine, see surroundings.js
//   expected   the limits that are right to name, each of them; 'no-limit' if nothing limits at this load
//   partly     limits that are true of it as well, but say less, or a consequence
//   because    the arithmetic: why that is its limit
//   remedy     what is changed of the case, `change` in words, `of`: the limits that it removes (default the expected
//              ones): only then the throughput that explain predicts is compared with the measured one.
//              `connections: 'knee'` takes the number that explain says. Absent where throughput does not tell
import { blind } from './cases/blind.js';
import { connections } from './cases/connections.js';
import { cpu } from './cases/cpu.js';
import { shape } from './cases/shape.js';
import { waiting } from './cases/waiting.js';

const whole = (one) => ({
  service: one.name,
  paths: ['/'],
  env: {},
  node: [],
  partly: [],
  ...one,
});

/** Those by people who had not seen how explain works. */
export const blindCases = blind.map(whole);
const seenCases = [...shape, ...cpu, ...waiting, ...connections].map(whole);
export const cases = [...seenCases, ...blindCases];

/** The tables of the suite's file by their titles. */
export const tables = { Services: seenCases, 'Blind services': blindCases };

/** Limits without a service here, and why. */
export const notMade = {
  'disk, by fsync':
    'on the machine of the results fsync returns at once; slow files are in write-pool and write-sync',
  'slow-reader': 'millrace reads as fast as it can, and has no flag to read slowly',
  'packet-loss': 'takes netem, which many kernels lack',
};
