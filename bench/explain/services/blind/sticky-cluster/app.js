// The sales report of a worker.
const Koa = require('koa');
const Handlebars = require('handlebars');
const tpl = Handlebars.compile(
  `<h1>{{title}}</h1><table>{{#each top}}<tr><td>{{region}}</td><td>{{sum}}</td><td>{{median}}</td></tr>{{/each}}</table>`,
);
const sales = Array.from({ length: 6000 }, (_, id) => ({
  id,
  region: `R${(id * 31) % 12}`,
  amount: ((id * 7919) % 10007) / 10,
}));
const sessions = new Map(); // in the worker's memory, hence the sticky balancing

function report() {
  const groups = new Map();
  for (const s of sales)
    groups.set(s.region, [...(groups.get(s.region)?.slice(-500) ?? []), s.amount].slice(-500));
  return [...groups]
    .map(([region, list]) => {
      list.sort((a, b) => a - b);
      return {
        region,
        sum: list.reduce((a, b) => a + b, 0).toFixed(1),
        median: list[list.length >> 1],
      };
    })
    .sort((a, b) => b.sum - a.sum);
}

const app = new Koa();
app.use(async (ctx) => {
  const sid = ctx.cookies.get('sid') ?? 'anonymous';
  sessions.set(sid, (sessions.get(sid) ?? 0) + 1);
  ctx.type = 'html';
  ctx.body = tpl({ title: `Report no. ${sessions.get(sid)}`, top: report() });
});
module.exports = require('node:http').createServer(app.callback());
