// See busy.js: `node busy-client.js PORT one-and-more|compute|handshakes`. Says `"ready"`, and in the end, for each request, the status, the
// body, when it had arrived by the system's clock, and through TLS the name in the server's certificate.
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';

const [port, what] = process.argv.slice(2);
const MORE = 4;

const say = (value) => console.log(JSON.stringify(value));

/** A request on a connection of its own. */
async function ask(path, connect = plain) {
  const socket = connect();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`);
  let name;
  socket.on('secureConnect', () => {
    name = socket.getPeerCertificate().subject.CN;
  });
  const response = await text(socket);
  const at = Date.now();
  const [head, body] = response.split('\r\n\r\n');
  return { status: Number(head.slice(9, 12)), body, at, name };
}

function plain() {
  return net.connect(Number(port), '127.0.0.1');
}

function secure() {
  return tls.connect({
    port: Number(port),
    host: '127.0.0.1',
    servername: 'a.test',
    rejectUnauthorized: false,
  });
}

const work = {
  compute: () => Promise.all([ask('/compute')]),
  async 'one-and-more'() {
    const one = ask('/compute');
    await once(process.stdin, 'data');
    return Promise.all([one, ...Array.from({ length: MORE }, () => ask('/more'))]);
  },
  async handshakes() {
    await once(process.stdin, 'data');
    return Promise.all(Array.from({ length: MORE }, () => ask('/', secure)));
  },
};

say('ready');
say(await work[what]());
process.exit();
