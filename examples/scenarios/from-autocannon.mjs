import { json, request, scenario } from 'millrace/scenario';

const headers = { authorization: 'Bearer {{token}}' };

export default scenario('checkout', [
  request('log in', 'POST /login', {
    json: { user: 'Ada', password: "Ada's password" },
    save: { token: json('/token') },
  }),
  request('list', 'GET /items', { headers, save: { first: json('/items/0/id') } }),
  request('buy', 'POST /orders', { headers, json: { item: '{{first}}', quantity: 1 } }),
]);
