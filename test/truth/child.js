// A truth server in a process of its own, so that what the test does cannot delay it: see `fork.js`.
import { startTruthServer } from './server.js';

const [name, settings] = process.argv.slice(2);
const { args, options } = JSON.parse(settings);
const { [name]: script } = await import('./scripts.js');
const server = await startTruthServer(script(...args), options);

process.on('message', async (opened) => {
  await server.settled(opened);
  process.send({
    requests: server.requests.map(({ connection, at, answeredAt }) => ({
      connection,
      at,
      answeredAt,
    })),
    connections: server.connections.map(({ requests, received, sent }) => ({
      requests: requests.length,
      received,
      sent,
    })),
  });
});
process.on('disconnect', () => process.exit());
process.send({ url: server.url, port: server.port });
