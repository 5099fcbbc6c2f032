// Invoices as HTML. Not cheap: 1000 lines (our customers are wholesalers), each formatted for the customer's locale.
// The peak of the first of the month is 90/s, which one process can do; the alert for "CPU > 50 %" is known, and is
// no incident.
import Fastify from 'fastify';
import Handlebars from 'handlebars';

const LINES = 1000;
const money = new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' });
const day = new Intl.DateTimeFormat('de-DE', { dateStyle: 'medium', timeZone: 'Europe/Berlin' });

Handlebars.registerHelper('money', (cents) => money.format(cents / 100));
Handlebars.registerHelper('day', (at) => day.format(at));
Handlebars.registerHelper('times', (pieces, cents) => money.format((pieces * cents) / 100));

const page = Handlebars.compile(`<!doctype html>
<title>Invoice {{number}}</title>
<h1>Invoice {{number}} of {{day at}}</h1>
<p>{{customer.name}}<br>{{customer.street}}<br>{{customer.city}}</p>
<table>
{{#each lines}}
  <tr class="{{#if reduced}}reduced{{else}}full{{/if}}">
    <td>{{@index}}</td><td>{{day at}}</td><td>{{text}}</td>
    <td>{{pieces}}</td><td>{{money cents}}</td><td>{{times pieces cents}}</td>
  </tr>
{{/each}}
</table>
<p>Total: {{money total}}</p>`);

const START = Date.UTC(2024, 0, 1);

function invoiceOf(number) {
  const lines = Array.from({ length: LINES }, (_, index) => ({
    at: new Date(START + ((number * 37 + index) % 700) * 86_400_000),
    text: `Article <${(number + index) % 900}> & accessories`,
    pieces: 1 + ((number + index) % 9),
    cents: 199 + ((number * 7 + index * 13) % 9000),
    reduced: index % 6 === 0,
  }));
  const total = lines.reduce((sum, { pieces, cents }) => sum + pieces * cents, 0);
  const customer = { name: `Customer ${number}`, street: 'Hafenstraße 12', city: '20457 Hamburg' };
  return { number, at: new Date(START), customer, lines, total };
}

const app = Fastify();
app.get('/', async (_request, reply) =>
  reply.type('text/html; charset=utf-8').send(page(invoiceOf(Math.floor(Math.random() * 50_000)))),
);
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
