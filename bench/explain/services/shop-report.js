// A shop with four routes, one of which compiles its template for each request. Express.
import express from 'express';
import Handlebars from 'handlebars';

const rows = Array.from({ length: 20 }, (_, id) => ({ id, isOdd: id % 2 === 1 }));
const text = `<table>${rows.map(({ id }) => `<tr><td>{{rows.${id}.id}}</td>{{#if rows.${id}.isOdd}}<td>odd</td>{{/if}}</tr>`).join('\n')}</table>`;
const once = Handlebars.compile(text);
once({ rows });
const pickTemplate = () => (process.env.REMEDY === '1' ? once : Handlebars.compile(text));

const app = express();
app.get('/', (_request, response) => response.send('home'));
app.get('/product/:id', ({ params }, response) => response.json({ id: params.id, price: 7 }));
app.get('/cart', (_request, response) => response.json({ items: [] }));
app.get('/report', (_request, response) => response.type('html').send(pickTemplate()({ rows })));
app.listen(process.env.PORT ?? 0, '127.0.0.1');
