// Vendored @acme/geo-sdk 2.3.1.
'use strict';
const http = require('node:http');
const axios = require('axios');

class GeoClient {
  constructor({ endpoint, timeout = 2000, httpOptions = {} }) {
    const agent = new http.Agent({
      keepAlive: true,
      keepAliveMsecs: 1000,
      maxSockets: 3,
      scheduling: 'fifo',
      ...httpOptions,
    });
    this.http = axios.create({ baseURL: endpoint, timeout, httpAgent: agent, proxy: false });
  }
  async lookup(ip) {
    const { data } = await this.http.get(`/ip/${ip}`);
    return data;
  }
}
module.exports = { GeoClient };
