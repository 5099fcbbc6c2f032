// Server-side rendering of a result page.
'use strict';
// Fragments are flushed as they are rendered, for a good time to first byte, and the renderer
// yields to the loop in between so as not to block others.
const http = require('node:http');
const { setImmediate: yieldToLoop } = require('node:timers/promises');

const items = Array.from({ length: 100 }, (_, i) => ({
  title: `Item ${i}`,
  price: (i * 37) % 500,
}));
const cache = new Map(); // rendered fragments never change, so they are kept

function card(item) {
  let html = cache.get(item.title);
  if (!html) {
    html = `<article><h2>${item.title}</h2><p>${item.price} EUR</p></article>\n`;
    cache.set(item.title, html);
  }
  return html;
}

function* page() {
  yield '<!doctype html><title>Results</title><main>\n';
  for (const item of items) yield card(item);
  yield '</main>\n';
}

async function render(res) {
  for (const fragment of page()) {
    res.write(fragment);
    await yieldToLoop();
  }
  res.end();
}

async function renderBuffered(res) {
  let html = '';
  for (const fragment of page()) {
    html += fragment;
    await yieldToLoop();
  }
  res.end(html);
}

http
  .createServer((_req, res) => {
    res.setHeader('content-type', 'text/html; charset=utf-8');
    (process.env.FIX ? renderBuffered : render)(res).catch(() => res.destroy());
  })
  .listen(process.env.PORT || 3008);
