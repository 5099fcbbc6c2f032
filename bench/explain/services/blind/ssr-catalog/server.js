// The catalogue as a page, rendered with React.
process.env.NODE_ENV ??= 'production';
const { fork } = require('node:child_process');
const express = require('express');
const React = require('react');
const { renderToString } = require('react-dom/server');
const h = React.createElement;

const Price = ({ cents }) => h('span', { className: 'price' }, '€ ', (cents / 100).toFixed(2));
const Tag = ({ name }) => h('em', { className: `tag tag-${name}` }, name);
const Row = ({ item }) =>
  h(
    'tr',
    { 'data-sku': item.sku },
    h('td', null, h('a', { href: `/p/${item.sku}` }, item.title)),
    h('td', null, h(Price, { cents: item.price })),
    h('td', null, item.stock > 0 ? `${item.stock} left` : h('strong', null, 'sold out')),
    h(
      'td',
      null,
      item.tags.map((t) => h(Tag, { key: t, name: t })),
    ),
  );
const Page = ({ items }) =>
  h(
    'html',
    null,
    h('head', null, h('title', null, 'Catalogue')),
    h(
      'body',
      null,
      h(
        'table',
        null,
        h(
          'tbody',
          null,
          items.map((item) => h(Row, { key: item.sku, item })),
        ),
      ),
    ),
  );

let base, cached, loading;
async function inventory() {
  if (cached && cached.until > Date.now()) return cached.items;
  loading ??= fetch(`${base}/items`)
    .then((r) => r.json())
    .then((items) => {
      cached = { items, until: Date.now() + 30_000 };
      loading = null;
      return items;
    });
  return loading;
}

const app = express();
app.get('/catalog', async (_req, res, next) => {
  try {
    const items = await inventory();
    res.type('html').send(`<!doctype html>${renderToString(h(Page, { items }))}`);
  } catch (err) {
    next(err);
  }
});

const dep = fork(`${__dirname}/inventory.js`);
dep.once('message', ({ port }) => {
  base = `http://127.0.0.1:${port}`;
  app.listen(process.env.PORT || 3000);
});
for (const s of ['SIGTERM', 'SIGINT'])
  process.on(s, () => {
    dep.kill();
    process.exit();
  });
