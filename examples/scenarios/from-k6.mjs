import { json, pause, request, scenario } from 'millrace/scenario';

const headers = { authorization: 'Bearer {{token}}' };

export default scenario('checkout', [
  request('log in', 'POST /login', {
    json: { user: 'Ada', password: "Ada's password" },
    expect: { status: 200 },
    save: { token: json('/token') },
  }),
  pause('50-100ms'),
  request('list', 'GET /items?page={{random:1-20}}', {
    headers,
    expect: { status: 200 },
    save: { first: json('/items/0/id') },
  }),
  request('buy', 'POST /orders', {
    headers,
    json: { item: '{{first}}', quantity: 1 },
    expect: { status: 201, json: { '/state': 'paid' } },
    save: { price: json('/price') },
    after: (_response, { variables, metrics }) => metrics.add('basket', Number(variables.price)),
  }),
]);
