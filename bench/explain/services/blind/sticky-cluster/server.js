// Reports by a cluster, one worker for each client.
const cluster = require('node:cluster');
const net = require('node:net');
const os = require('node:os');

if (cluster.isPrimary) {
  const workers = [];
  const spawn = (i) => {
    workers[i] = cluster.fork();
    workers[i].on('exit', (_code, _signal) => {
      if (!stopping) spawn(i);
    });
  };
  let stopping = false;
  for (let i = 0; i < Math.max(2, os.availableParallelism()); i++) spawn(i);

  const hash = (s) => {
    let h = 0;
    for (const c of s) h = (h * 31 + c.charCodeAt(0)) >>> 0;
    return h;
  };
  // same client, same worker: sessions live in memory
  let turn = 0;
  const pick = process.env.FIX ? () => turn++ : (socket) => hash(socket.remoteAddress ?? '');
  net
    .createServer({ pauseOnConnect: true }, (socket) => {
      workers[pick(socket) % workers.length].send('sticky:connection', socket);
    })
    .listen(process.env.PORT || 3008);

  for (const s of ['SIGTERM', 'SIGINT'])
    process.on(s, () => {
      stopping = true;
      for (const w of workers) w.kill();
      process.exit();
    });
} else {
  const app = require('./app');
  process.on('message', (msg, socket) => {
    if (msg !== 'sticky:connection' || !socket) return;
    app.emit('connection', socket);
    socket.resume();
  });
}
