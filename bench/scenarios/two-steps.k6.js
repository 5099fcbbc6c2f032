// The flow of two steps for k6. What fails ends the run, as without a summary nothing counts it.
import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';

// biome-ignore lint/correctness/noUndeclaredVariables: a global of k6
const url = __ENV.URL;

export default function run() {
  const login = http.get(`${url}login`);
  if (login.status !== 200) exec.test.abort('the log-in failed');
  const authorization = `Bearer ${login.json('token')}`;
  const items = http.get(`${url}items`, { headers: { authorization } });
  if (items.status !== 200) exec.test.abort('the list failed');
  const isPaid = check(items, { paid: (response) => response.json('state') === 'paid' });
  if (!isPaid) exec.test.abort('the check failed');
}
