// Map tiles of features that live in memory.
'use strict';
// Each request paints into a fresh canvas and returns a small run-length coded tile.
const http = require('node:http');

const features = [];
for (let i = 0; i < 1_500_000; i++) {
  features.push({
    id: i,
    x: (i * 7919) % 4096,
    y: (i * 104729) % 4096,
    kind: i % 5,
    props: { name: `f${i}`, rank: i % 9 },
  });
}
const grid = new Map(); // 64x64 cells
for (const f of features) {
  const cell = (f.x >> 6) * 64 + (f.y >> 6);
  let list = grid.get(cell);
  if (!list) {
    list = [];
    grid.set(cell, list);
  }
  if (list.length < 50) list.push(f);
}

const SIDE = 1024;
const scratch = Buffer.alloc(SIDE * SIDE * 4);
const canvas = () => (process.env.FIX ? scratch : Buffer.allocUnsafe(SIDE * SIDE * 4)); // RGBA

function paint(px, cell) {
  let at = 0;
  for (const f of grid.get(cell) || []) {
    at = ((f.x & 63) * 16 * SIDE + (f.y & 63) * 16) * 4;
    px[at] = f.kind * 50;
    px[at + 3] = 255;
  }
  return at;
}

let n = 0;
http
  .createServer((req, res) => {
    if (req.url.startsWith('/feature/')) {
      return res.end(JSON.stringify(features[Number(req.url.slice(9))] ?? null));
    }
    const cell = n++ % 4096;
    const px = canvas();
    const last = paint(px, cell);
    res.setHeader('content-type', 'application/octet-stream');
    res.end(Buffer.from(px.subarray(last, last + 256)));
  })
  .listen(process.env.PORT || 3013, () => console.log('tiles ready'));
