// A price list of 60 articles for the customer's locale. A formatter is made for each price.
import Fastify from 'fastify';

const LOCALES = ['de-DE', 'fr-FR', 'en-IE', 'nl-NL'];
const articles = Array.from({ length: 60 }, (_, id) => ({ id, cents: 199 + ((id * 37) % 5000) }));

const createFormat = (locale) =>
  new Intl.NumberFormat(locale, { style: 'currency', currency: 'EUR' });
const formats = new Map(LOCALES.map((locale) => [locale, createFormat(locale)]));

function formatPrice(locale, cents) {
  const format = process.env.FIX === '1' ? formats.get(locale) : createFormat(locale);
  return format.format(cents / 100);
}

let next = 0;
const app = Fastify();
app.get('/prices', async () => {
  const locale = LOCALES[next++ % LOCALES.length];
  return articles.map(({ id, cents }) => ({ id, price: formatPrice(locale, cents) }));
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
