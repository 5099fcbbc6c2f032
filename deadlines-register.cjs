// `node --require millrace/deadlines/register app.js`
try {
  module.exports = require('./dist/deadlines/register.js');
} catch (error) {
  if (error.code !== 'ERR_REQUIRE_ESM') throw error;
  throw new Error(
    'millrace/deadlines/register: --require needs Node.js 20.19, 22.12 or later; on this version use: node --import millrace/deadlines/register',
  );
}
