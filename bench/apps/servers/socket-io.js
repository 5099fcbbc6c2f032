// Socket.IO by polling: the answer to a message is the acknowledgement with its text.
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { announce } from '../../stack/apps/announce.js';

const server = createServer();
const io = new Server(server, { transports: ['polling'] });
io.on('connection', (socket) => {
  socket.on('say', (text, answer) => answer(text));
});
announce(server.listen(0, '127.0.0.1'));
