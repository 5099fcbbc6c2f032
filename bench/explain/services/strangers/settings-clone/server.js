// Settings of a tenant: the defaults, and what the tenant changed. The defaults are copied deeply for each request, so that
// nobody changes them.
'use strict';
const express = require('express');
const _ = require('lodash');

const defaults = {
  features: Object.fromEntries(
    Array.from({ length: 400 }, (_unused, id) => [
      `feature-${id}`,
      { enabled: id % 3 === 0, groups: ['staff', 'beta'], limits: { daily: id, monthly: id * 20 } },
    ]),
  ),
};
const ofTenant = { features: { 'feature-7': { enabled: true } } };

function settingsOf(tenant) {
  const settings = _.cloneDeep(defaults);
  return _.merge(settings, tenant);
}

const merged = settingsOf(ofTenant);
const app = express();
app.get('/feature', (_request, response) => {
  const settings = process.env.FIX === '1' ? merged : settingsOf(ofTenant);
  response.json(settings.features['feature-7']);
});
app.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
