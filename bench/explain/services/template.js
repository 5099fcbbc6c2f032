// Renders a page of 1000 rows for each request, every cell escaped, in Fastify.
import fastify from 'fastify';

const rows = Array.from({ length: 1000 }, (_, i) => ({
  name: `<b>${i}</b>`,
  city: `"Town" & ${i}`,
}));
const ESCAPES = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
const escaped = (text) => text.replace(/[<>&"]/g, (char) => ESCAPES[char]);
const rendered = ({ name, city }) => `<tr><td>${escaped(name)}</td><td>${escaped(city)}</td></tr>`;
const page = () => `<table>${rows.map(rendered).join('\n')}</table>`;

const cached = process.env.REMEDY === '1' ? page() : null;

const app = fastify();
app.get('/', (_request, reply) => {
  reply.type('text/html').send(cached ?? page());
});
await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' });
