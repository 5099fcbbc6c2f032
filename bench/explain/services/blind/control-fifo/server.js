// Logins, with named pipes for the operators.
const fs = require('node:fs');
const os = require('node:os');
const net = require('node:net');
const path = require('node:path');
const http = require('node:http');
const crypto = require('node:crypto');
const { promisify } = require('node:util');
const { execFileSync } = require('node:child_process');
const scrypt = promisify(crypto.scrypt);

// operators write to these: echo debug > $DIR/loglevel
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'login-ctl-'));
const state = { loglevel: 'info', drain: '', reload: '' };
function openControl(name) {
  const file = path.join(dir, name);
  execFileSync('mkfifo', [file]);
  const stream = process.env.FIX
    ? new net.Socket({
        fd: fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK),
        writable: false,
      })
    : fs.createReadStream(file);
  stream.setEncoding('utf8').on('data', (s) => {
    state[name] = s.trim();
  });
  return file;
}
const fifos = ['loglevel', 'drain', 'reload'].map(openControl);

const users = new Map();
for (let i = 0; i < 50; i++) {
  const salt = Buffer.from(`salt-of-user-${i}`);
  users.set(`user${i}`, { salt, hash: crypto.scryptSync('hunter2', salt, 32, { N: 4096 }) });
}

http
  .createServer(async (req, res) => {
    const user = users.get(new URL(req.url, 'http://x').searchParams.get('user'));
    if (!user) return res.writeHead(404).end();
    const hash = await scrypt('hunter2', user.salt, 32, { N: 4096 });
    const ok = crypto.timingSafeEqual(hash, user.hash);
    res.writeHead(ok ? 200 : 401, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ ok, loglevel: state.loglevel }));
  })
  .listen(process.env.PORT || 3007);

process.on('exit', () => {
  for (const f of fifos)
    try {
      fs.openSync(f, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);
      fs.unlinkSync(f);
    } catch {}
  try {
    fs.rmdirSync(dir);
  } catch {}
});
for (const s of ['SIGTERM', 'SIGINT']) process.on(s, () => process.exit());
