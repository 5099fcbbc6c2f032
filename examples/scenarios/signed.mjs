import { createHmac } from 'node:crypto';
import { json, request, scenario } from 'millrace/scenario';

/** Logs in once, for all users: `token` and `key` are variables of every iteration. */
export async function setup({ url, env }) {
  const body = JSON.stringify({ user: 'Ada', password: "Ada's password" });
  const response = await fetch(`${url}/login`, { method: 'POST', body });
  if (!response.ok) throw new Error(`the login answered ${response.status}`);
  const { token } = await response.json();
  return { token, key: env.SIGNING_KEY ?? 'secret' };
}

export default scenario('signed', [
  request('buy', 'POST /orders', {
    headers: { authorization: 'Bearer {{token}}', 'x-signature': '{{signature}}' },
    json: { item: 8, quantity: '{{random:1-5}}' },
    save: { price: json('/price') },
    before({ variables }) {
      const { key, token } = variables;
      variables.signature = createHmac('sha256', String(key)).update(String(token)).digest('hex');
    },
    after(_response, { variables, metrics }) {
      metrics.add('basket', Number(variables.price));
      metrics.add('orders');
    },
  }),
]);

export async function teardown({ token }, { url }) {
  await fetch(`${url}/logout`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
}
