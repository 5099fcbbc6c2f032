// Socket.IO beside an application of node:http.
import { once } from 'node:events';
import http from 'node:http';
import { Server } from 'socket.io';
import { announce } from './announce.mjs';

const server = http.createServer((req, res) => {
  if (req.url !== '/slow') return res.end('beside');
  console.log('slow');
  setTimeout(() => res.end('slow'), 500);
});
const io = new Server(server, { cors: { origin: '*' }, perMessageDeflate: true });
io.on('connection', (socket) => {
  const { name } = socket.conn.transport;
  console.log(`connected by ${name}`);
  socket.join('room');
  socket.on('say', (text, answer) => {
    socket.to('room').emit('said', text);
    answer(text.length);
  });
  socket.conn.once('upgrade', () => console.log(`upgraded to ${socket.conn.transport.name}`));
  socket.on('disconnect', (reason) => console.log(`disconnected: ${reason}`));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
announce(server, () => io.close());
