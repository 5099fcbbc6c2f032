// Node's own way to make a call, kept from before deadlines put theirs in its place.
import http from 'node:http';

export const { get } = http;
