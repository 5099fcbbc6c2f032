// Product pages. "We are fast because the catalogue is in Redis": the importer writes it there every night, as one
// value, so that all pages see the same version of it.

import Redis from 'ioredis';
import Koa from 'koa';

const redis = new Redis(Number(process.env.DATABASE_PORT), '127.0.0.1');
const PRODUCTS = 2500;

const productOf = (id) => ({
  id,
  sku: `SKU-${String(id).padStart(6, '0')}`,
  name: `Product ${id}`,
  description: `The product ${id} comes in ${(id % 5) + 1} colours and is delivered within ${(id % 7) + 1} days.`,
  prices: { net: id * 3.1, gross: id * 3.689, currency: 'EUR' },
  tags: ['shop', `group-${id % 40}`, `brand-${id % 90}`],
  variants: Array.from({ length: 4 }, (_, size) => ({
    size,
    stock: (id * 7 + size) % 50,
    active: true,
  })),
});

// The job of the importer.
const products = Array.from({ length: PRODUCTS }, (_, id) => productOf(id));
await redis.set('catalog', JSON.stringify({ version: 1, products }));
const filling = redis.pipeline().del('catalog:products');
for (const product of products) {
  filling.hset('catalog:products', String(product.id), JSON.stringify(product));
}
await filling.exec();

async function productFromBlob(id) {
  const catalog = JSON.parse(await redis.get('catalog'));
  return catalog.products.find((product) => product.id === id);
}

async function productFromHash(id) {
  return JSON.parse(await redis.hget('catalog:products', String(id)));
}

const findProduct = process.env.REMEDY === '1' ? productFromHash : productFromBlob;

const app = new Koa();
app.use(async (context, next) => {
  await next();
  context.set('cache-control', 'public, max-age=60');
});
app.use(async (context) => {
  const product = await findProduct(Math.floor(Math.random() * PRODUCTS));
  context.body = { ...product, inStock: product.variants.some(({ stock }) => stock > 0) };
});
app.listen(process.env.PORT ?? 0, '127.0.0.1');
