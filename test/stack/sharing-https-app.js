// An application over HTTPS on a shared port: `node sharing-https-app.js PREFIX OPTIONS`, the latter as JSON: `identity`, `ca`, `requestCert`,
// `rejectUnauthorized`, `cache`, `hears` (a listener for 'connection'), `name`. Answers with what it knows of the connection.
import { createServer } from 'millrace/https';

const [prefix, text] = process.argv.slice(2);
const { identity, hears, name, ...options } = JSON.parse(text);

const server = createServer(
  { ...identity, ALPNProtocols: ['http/1.1'], ...options },
  (request, response) => {
    const { socket, url, method } = request;
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      if (url.endsWith('/large')) return response.end(Buffer.alloc(5_000_000, name));
      response.end(
        JSON.stringify({
          ...{ name, pid: process.pid, url, method, bytes },
          ...{
            port: socket.remotePort,
            address: socket.remoteAddress,
            encrypted: socket.encrypted,
          },
          ...{ servername: socket.servername, alpn: socket.alpnProtocol },
          ...{ protocol: socket.getProtocol(), authorized: socket.authorized },
          client: socket.getPeerCertificate().subject?.CN,
          ...{
            moved: server.stats().connections.moved,
            relayed: server.stats().connections.relayed,
          },
        }),
      );
    });
  },
);
server.on('error', ({ code }) => {
  console.log(code);
  process.exit(1);
});
if (hears) server.on('connection', () => {});
server.listen(prefix, () => console.log('listening'));
