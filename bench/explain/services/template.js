// Renders a page of 1000 rows for each request, every cell escaped, in Fastify.
import fastify from 'fastify';

const rows = Array.from({ length: 1000 }, (_, i) => ({
  name: `<b>${i}</b>`,
  city: `"Town" & ${i}`,
}));
const ESCAPES = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
const escaped = (text) => text.replace(/[<>&"]/g, (char) => ESCAPES[char]);
const cell = (text) => `<td>${escaped(text)}</td>`;
const rendered = ({ name, city }) => `<tr>${cell(name)}${cell(city)}</tr>`;
const page = () => `<table>${rows.map(rendered).join('\n')}</table>`;

const app = fastify();
app.get('/', (_request, reply) => {
  reply.type('text/html').send(page());
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
