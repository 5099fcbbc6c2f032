// Next with what was built in the folder `next`: a page that is rendered for each request.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import next from 'next';
import { announce } from '../../stack/apps/announce.js';

const dir = fileURLToPath(new URL('../next', import.meta.url));
const app = next({ dev: false, dir, hostname: '127.0.0.1', port: 0 });
await app.prepare();
const server = createServer(app.getRequestHandler());
await once(server.listen(0, '127.0.0.1'), 'listening');
announce(server);
