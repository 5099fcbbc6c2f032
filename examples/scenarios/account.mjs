import { json, pause, regex, repeat, request, scenario, status, when } from 'millrace/scenario';

const headers = { authorization: 'Bearer {{token}}' };

// Cookies and redirections: the form sets a cookie and leads to the page of the account.
export const browse = scenario(
  'browse',
  [
    request('open session', 'POST /session', {
      form: { user: 'user {{seq}}' },
      expect: { status: 200, body: 'Hello user {{seq}}' },
      save: { csrf: regex(/name="csrf" value="([\w-]+)"/) },
    }),
    pause('50-100ms'),
    request('account', 'GET /account?csrf={{csrf}}', {
      expect: { body: /^<h1>Hello user \d+<\/h1>/ },
    }),
  ],
  { follow: 1, weight: 3 },
);

// Repetitions and conditions.
export const collect = scenario('collect', [
  request('log in', 'POST /login', {
    json: { user: 'Ada', password: "Ada's password" },
    save: { token: json('/token'), visits: json('/user/visits') },
  }),
  repeat(3, [
    request('list', 'GET /items', { headers, save: { total: json('/total') } }),
    pause('20ms'),
  ]),
  when('{{total}}', '>', 0, [
    request('buy', 'POST /orders', {
      headers,
      json: { item: 7, quantity: '{{total}}', note: 'visit {{visits}}' },
      save: { code: status(), order: json('/id') },
    }),
    when('{{code}}', '=', 201, [request('order', 'GET /orders?id={{order}}')]),
  ]),
]);
