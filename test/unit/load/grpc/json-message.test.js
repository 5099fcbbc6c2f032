// Messages of gRPC that are given as JSON: ProtoJSON, with a .proto file.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { buildPlan } from '#internal/load/plan/plan.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-proto-'));
after(() => rmSync(folder, { recursive: true }));

function file(name, text) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const TYPES = `
  syntax = "proto3";
  package types;
  import "google/protobuf/any.proto";
  import "google/protobuf/duration.proto";
  import "google/protobuf/empty.proto";
  import "google/protobuf/field_mask.proto";
  import "google/protobuf/struct.proto";
  import "google/protobuf/timestamp.proto";
  import "google/protobuf/wrappers.proto";

  enum Tone { PLAIN = 0; LOUD = 1; }
  message Inner { string text = 1; }
  message All {
    int32 number = 1;
    string text = 2;
    int64 big_number = 3;
    uint64 unsigned = 4;
    sint32 zigzag = 5;
    float ratio = 6;
    bytes raw = 7;
    bool flag = 8;
    Tone tone = 9;
    repeated int32 numbers = 10;
    map<string, int32> tags = 11;
    Inner inner = 12;
    oneof choice { string left = 13; int32 right = 14; }
    optional int32 maybe = 15;
    string named = 16 [json_name = "renamed"];
    google.protobuf.Timestamp at = 17;
    google.protobuf.Duration wait = 18;
    google.protobuf.StringValue word = 19;
    google.protobuf.Value any_value = 20;
    google.protobuf.FieldMask mask = 21;
    google.protobuf.Any any = 22;
    google.protobuf.Empty nothing = 23;
    int32 x_1 = 24;
  }
  service Calls {
    rpc Send(All) returns (All);
    rpc Watch(All) returns (stream All);
    rpc Upload(stream All) returns (All);
  }`;

const types = file('types.proto', TYPES);

/** Encodes a JSON text as the message of a call, in hexadecimal. */
async function encode(json, { proto = types, grpc = 'types.Calls/Send', ...others } = {}) {
  const body = typeof json === 'string' ? json : JSON.stringify(json);
  const { native } = await buildPlan({ url: 'http://h', grpc, proto, body, ...others });
  const [request] = native.requests;
  assert.equal(request.body.readUInt8(0), 0, 'not compressed');
  assert.equal(request.body.readUInt32BE(1), request.body.length - 5);
  return request.body.toString('hex', 5);
}

// The bytes are those of the wire format: a number of field and type, then the value.
const ENCODED = [
  ['', ''],
  [{}, ''],
  [{ number: 150 }, '089601'],
  [{ number: '1e2' }, '0864'],
  [{ number: -1 }, '08ffffffffffffffffff01'],
  [{ text: 'testing' }, '120774657374696e67'],
  [{ big_number: '9007199254740993' }, '188180808080808010'],
  [{ bigNumber: '-9223372036854775808' }, '1880808080808080808001'],
  [{ unsigned: '18446744073709551615' }, '20ffffffffffffffffff01'],
  [{ zigzag: -2 }, '2803'],
  [{ ratio: 'Infinity' }, '350000807f'],
  [{ raw: 'AQL_' }, '3a030102ff'],
  [{ flag: true }, '4001'],
  [{ tone: 'LOUD' }, '4801'],
  [{ tone: 7 }, '4807'],
  [{ numbers: [3, 270, 86942] }, '5206038e029ea705'],
  [{ tags: { a: 1 } }, '5a050a01611001'],
  [{ inner: { text: 'a' } }, '62030a0161'],
  [{ right: 0 }, '7000'],
  [{ maybe: 0 }, '7800'],
  [{ maybe: null }, ''],
  [{ renamed: 'a' }, '82010161'],
  [{ named: 'a' }, '82010161'],
  [{ at: '2020-01-01T00:00:00.5Z' }, '8a010c0880c2aff0051080cab5ee01'],
  [{ wait: '1.5s' }, '920108080110' + '80cab5ee01'],
  [{ word: '' }, '9a0100'],
  [{ any_value: [1] }, 'a2010d320b0a0911000000000000f03f'],
  [{ mask: 'bigNumber' }, 'aa010c0a0a6269675f6e756d626572'],
  [
    { any: { '@type': 'x/types.Inner', text: 'a' } },
    'b201140a0d782f74797065732e496e6e657212030a0161',
  ],
  [{ nothing: {} }, 'ba0100'],
  [{ x1: 1 }, 'c00101'],
];

test('every kind of field is encoded', async () => {
  for (const [json, hex] of ENCODED) {
    assert.equal(await encode(json), hex, JSON.stringify(json));
  }
});

test('a message that does not fit its type is refused, with what would', async () => {
  for (const [json, message] of [
    ['{"nr":1}', 'body: types.All has no field "nr": its fields are number, text, big_number, '],
    ['{"inner":{"t":1}}', 'body: types.Inner has no field "t": its fields are text'],
    ['{"tone":"X"}', 'body: types.All.tone must be one of PLAIN, LOUD (got "X")'],
    ['{"number":3000000000}', 'body: types.All.number: out of range for int32 (got 3000000000)'],
    ['{"text":1}', 'body: types.All.text: expected string (got 1)'],
    ['{"raw":"!"}', 'body: a field of bytes is not base64'],
    ['{"left":"a","right":1}', 'body: types.All: multiple values for oneof choice'],
    ['{"at":"now"}', 'body: google.protobuf.Timestamp: invalid timestamp (got "now")'],
    ['{"number":1,"number":2}', 'body: duplicate key in JSON object: "number"'],
    ['[]', 'body: types.All: expected object (got [])'],
    ['{"number":', 'body must be JSON, as proto is given: '],
    [
      '{"big_number":9007199254740993}',
      'body: 9007199254740993 is beyond 2^53: write it as text, "9007199254740993"',
    ],
  ]) {
    await assert.rejects(encode(json), (error) => {
      assert.equal(error.code, 'ERR_MILLRACE_USAGE');
      assert.equal(error.message.slice(0, message.length), message);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });
  }
});

test('digits in strings and floating-point numbers are no whole numbers', async () => {
  assert.equal(
    await encode('{"text":"a\\" 9007199254740993"}'),
    '12136122203930303731393932353437343039' + '3933',
  );
  assert.equal(await encode('{"ratio":1.00000000000000000001}'), '350000803f');
});

test('imports are found beside the file that has them, in folders above it, and in protobufjs', async () => {
  const proto = file(
    'api/v1/calls.proto',
    `syntax = "proto3";
    import "parts/inner.proto";
    import "beside.proto";
    import "google/api/annotations.proto";
    service Calls {
      rpc Send(parts.Inner) returns (Beside) { option (google.api.http) = { get: "/send" }; }
    }`,
  );
  file('parts/inner.proto', 'syntax = "proto3"; package parts; message Inner { string text = 1; }');
  file('api/v1/beside.proto', 'syntax = "proto3"; message Beside {}');
  assert.equal(await encode({ text: 'a' }, { proto, grpc: 'Calls/Send' }), '0a0161');
});

test('what a .proto file does not have is named, with what it has', async () => {
  const broken = file('broken.proto', 'syntax = "proto3";\nmessage {');
  const lost = file('lost.proto', 'syntax = "proto3"; import "none.proto";');
  for (const [options, message] of [
    [
      { grpc: 'types.Call/Send' },
      `proto '${types}' has no service 'types.Call': it has types.Calls`,
    ],
    [
      { grpc: 'types.Calls/Sent' },
      `proto '${types}': types.Calls has no method 'Sent': it has Send, Watch, Upload`,
    ],
    [
      { grpc: 'types.Calls/Upload' },
      'types.Calls/Upload takes a stream of messages: methods that take one message can be called, here Send, Watch',
    ],
    [{ proto: broken }, `proto '${broken}' cannot be read: illegal type name '{' (line 2)`],
    [
      { proto: lost },
      `proto '${lost}' imports 'none.proto', which is neither in its folder nor in one above it`,
    ],
    [
      { proto: join(folder, 'no.proto') },
      `proto '${join(folder, 'no.proto')}' cannot be read: no such file or directory`,
    ],
  ]) {
    await assert.rejects(encode({}, options), { code: 'ERR_MILLRACE_USAGE', message });
  }
  assert.equal(await encode({}, { grpc: 'types.Calls/Watch' }), '');
});
