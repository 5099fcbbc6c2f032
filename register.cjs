// `node --require millrace/register app.js`
try {
  require('./dist/http/register.js');
} catch (error) {
  if (error.code !== 'ERR_REQUIRE_ESM') throw error;
  throw new Error(
    'millrace/register: --require needs Node.js 20.19 or 22.12 and later; with this one use: node --import millrace/register',
  );
}
