// Express with what most of its applications have.
import { once } from 'node:events';
import compression from 'compression';
import cookieParser from 'cookie-parser';
import express from 'express';
import session from 'express-session';
import morgan from 'morgan';
import multer from 'multer';
import { WebSocketServer } from 'ws';
import { announce, endless, page } from './announce.mjs';

const app = express();
let sessions = 0;
app.use(morgan(':method :url :status :res[content-length] HTTP/:http-version'));
app.use(compression());
app.use(cookieParser('a secret'));
app.use('/static', express.static('public', { maxAge: '1h' }));
app.use(
  session({
    ...{ secret: 'a secret', resave: false, saveUninitialized: false },
    genid: () => `session-${sessions++}`,
  }),
);
app.use(express.json({ limit: '100kb' }), express.urlencoded({ extended: true }), express.text());

app.get('/', (req, res) => res.json({ ip: req.ip, host: req.host, fresh: req.fresh }));
app.get('/page', (_req, res) => res.type('text').send(page));
app.get('/stream', (_req, res) => {
  res.type('text').write('first\n');
  res.flush();
  setTimeout(() => res.end('last\n'), 20);
});
app.get('/endless', (_req, res) => {
  res.type('event-stream').flushHeaders();
  endless(res);
});
app.get('/slow', (_req, res) => {
  console.log('slow');
  setTimeout(() => res.send('slow'), 500);
});
app.get('/fail', () => {
  throw new Error('on purpose');
});
app.get('/count', (req, res) => {
  req.session.count = (req.session.count ?? 0) + 1;
  res.cookie('plain', 'a b').cookie('signed', 'c', { signed: true });
  res.json({ count: req.session.count, cookies: req.cookies, signed: req.signedCookies });
});
app.get('/file', (_req, res) => {
  res.sendFile('large.txt', { root: 'public' }, (error) => console.log(`sent ${error?.code}`));
});
app.all('/echo', (req, res) => res.json({ method: req.method, body: req.body ?? null }));
app.post('/upload', multer().single('file'), (req, res) => {
  res.json({ size: req.file.size, title: req.body.title });
});
app.use((error, _req, res, _next) => {
  console.log(`error ${error.status} ${error.type ?? error.code} ${error.message}`);
  res.status(error.status ?? 500).json({ error: error.message });
});

const server = app.listen(0, '127.0.0.1');
const sockets = new WebSocketServer({ server, path: '/socket' });
sockets.on('connection', (socket) => {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
  socket.on('close', (code) => console.log(`socket closed ${code}`));
});
await once(server, 'listening');
announce(server, () => new Promise((resolve) => server.close(resolve)));
