// Peers that misbehave, each in its own way. Each gives its port, and is gone with the test `t`.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import net from 'node:net';

/** An HTTP server with this listener. */
export async function web(t, listener) {
  return ported(t, createServer(listener));
}

/** Accepts, and never says a word: no answer to a request, no TLS handshake. */
export async function mute(t) {
  return ported(
    t,
    net.createServer((socket) => socket.resume()),
  );
}

/** Answers `body` byte by byte, one each `ms`, without an end. */
export function dripping(t, ms) {
  return web(t, (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), ms);
    response.on('close', () => clearInterval(timer));
  });
}

/** Begins an answer and stops in the middle of its body. */
export function stopping(t) {
  return web(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 100 });
    response.write('part');
  });
}

async function ported(t, server) {
  const sockets = new Set();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: server.address().port, sockets, server };
}

/** A port that drops whatever comes: its queue of connections is full, and nobody takes any. */
export async function dropping(t) {
  const script = `
    import socket, sys
    s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(0)
    full = [socket.socket() for _ in range(3)]
    for c in full:
        c.setblocking(False)
        c.connect_ex(s.getsockname())
    print(s.getsockname()[1], flush=True)
    sys.stdin.read()`.replace(/^ {4}/gm, '');
  const { spawn } = await import('node:child_process');
  const child = spawn('python3', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [port] = await once(child.stdout, 'data');
  return { port: Number(port) };
}

/** Whether the program is there. */
export function has(program) {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
