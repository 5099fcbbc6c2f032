// Makes calls when its parent asks for some, so many at once, and tells what one of them cost in CPU time.
//
//   fork: [--import millrace/deadlines] client.js (http | fetch) PORT AT_ONCE
import http from 'node:http';
import { make } from './calls.js';

const [kind, port, atOnce] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}/`;
const agent = new http.Agent({ keepAlive: true });

const kinds = {
  http: () =>
    new Promise((resolve, reject) => {
      const call = http.get({ host: '127.0.0.1', port, agent }, (response) => {
        response.on('end', resolve).resume();
      });
      call.on('error', reject);
    }),
  fetch: async () => void (await (await fetch(url)).text()),
};

const call = kinds[kind];

process.on('message', async (calls) => {
  const before = process.cpuUsage();
  await make(call, calls, atOnce);
  const { user, system } = process.cpuUsage(before);
  process.send((user + system) / calls);
});
