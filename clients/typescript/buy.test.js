// @ts-nocheck: it runs under node --test; the types are checked of what it tests.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import test from 'node:test';
import { promisify } from 'node:util';
import { Refusal, buy } from './index.js';

const run = promisify(execFile);

/** An address that nobody listens on. */
async function free() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return `127.0.0.1:${port}`;
}

test('a sale at the real service', { timeout: 900_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'seckill-client-'));
  const program = join(dir, 'server');
  const root = new URL('../..', import.meta.url);
  await run('go', ['build', '-o', program, './cmd/server'], { cwd: root, env: { ...process.env, CGO_ENABLED: '0' } });
  const address = await free();
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SECKILL_')));
  Object.assign(env, { SECKILL_HTTP_ADDR: address, SECKILL_OPS_ADDR: await free(), SECKILL_DATA_DIR: join(dir, 'data') });
  const server = spawn(program, { cwd: dir, env, stdio: 'ignore' });
  t.after(async () => {
    server.kill();
    if (server.exitCode === null) await once(server, 'exit');
    await rm(dir, { recursive: true });
  });
  const at = `http://${address}`;
  for (let ready = false; !ready; await new Promise((resolve) => setTimeout(resolve, 100))) {
    assert.equal(server.exitCode, null, 'the service has ended');
    ready = await fetch(`${at}/readyz`).then((r) => r.ok, () => false);
  }
  const token = async (...args) => (await run(program, ['token', '-user', ...args], { cwd: dir, env })).stdout.trim();
  const created = await fetch(`${at}/voucher/seckill`, {
    method: 'POST', headers: { Authorization: `Bearer ${await token('1', '-role', 'admin')}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      shopId: 1, title: '100 for 10', payValue: 1000, actualValue: 10_000, stock: 1,
      beginTime: new Date(Date.now() - 60_000), endTime: new Date(Date.now() + 3_600_000),
    }),
  });
  assert.equal(created.status, 201);
  const voucherId = (await created.json()).data.id;
  const first = { server: at, token: await token('42'), voucherId };
  const order = await buy(first);
  assert.match(order.orderId, /^\d+$/);
  assert.equal((await buy(first)).orderId, order.orderId, 'the same buyer again');
  const refused = await buy({ ...first, token: await token('43'), language: 'zh' }).catch((e) => e);
  assert.ok(refused instanceof Refusal);
  assert.deepEqual([refused.status, refused.code], [409, 'SOLD_OUT']);
  assert.match(refused.problem.errorMsg, /\p{Script=Han}/u);
});

const refuse = (status, code, headers) => () => new Response(JSON.stringify({ success: false, code, errorMsg: 'no' }), { status, headers });
const accept = () => new Response('{"success": true, "data": {"orderId": "7", "status": "queued"}}', { status: 202 });
const already = () => new Response('{"success": false, "code": "ALREADY_BOUGHT", "data": {"orderId": "7", "status": "unpaid"}}', { status: 409 });
const lost = () => { throw new TypeError('fetch failed'); };

for (const [name, answers, code] of [
  ['accepted', [accept], ''],
  ['busy, then accepted', [refuse(503, 'UNAVAILABLE'), accept], ''],
  ['unknown, then bought', [refuse(504, 'UNKNOWN_OUTCOME'), already], ''],
  ['no answer, then bought', [lost, already], ''],
  ["a proxy's page, then sold out", [() => new Response('<html>', { status: 502 }), refuse(409, 'SOLD_OUT')], 'SOLD_OUT'],
  ['limited, then not started', [refuse(429, 'RATE_LIMITED'), refuse(403, 'NOT_STARTED')], 'NOT_STARTED'],
  ['a wrong token', [refuse(401, 'UNAUTHENTICATED')], 'UNAUTHENTICATED'],
]) {
  test(name, async () => {
    let asked = 0;
    const fetch = async () => answers[Math.min(asked++, answers.length - 1)]();
    const got = await buy({ server: 'http://shop', token: 'x', voucherId: 9, fetch }).catch((e) => e);
    assert.equal(asked, answers.length);
    if (code) assert.equal(got.code, code);
    else assert.equal(got.orderId, '7');
  });
}

test('a crowd that is told to come back in a second spreads over half of it', async (t) => {
  t.mock.method(Math, 'random', () => 0.9);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const answers = [refuse(503, 'UNAVAILABLE', { 'Retry-After': '1' }), accept];
  let got;
  const bought = buy({ server: 'http://shop', token: 'x', voucherId: 9, fetch: async () => answers.shift()() }).then((o) => { got = o; });
  const turn = async () => { // until all is done that the last answer leads to
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  await turn();
  t.mock.timers.tick(1_440);
  await turn();
  assert.equal(got, undefined, 'it came back too early');
  t.mock.timers.tick(20);
  await bought;
  assert.equal(got.orderId, '7');
});

for (const [name, options, fetch, want] of [
  ['a server that is no address', { server: 'shop' }, accept, /Invalid URL/],
  ['a token that no header takes', { token: 'x\ny' }, accept, /header|Headers/],
  ['an answer that names no order', {}, () => new Response('{"success": true, "data": {}}'), /200/],
  ['a wrong certificate', {}, () => { throw new TypeError('fetch failed', { cause: { code: 'CERT_HAS_EXPIRED' } }); }, /fetch failed/],
]) {
  test(`${name} is not tried again`, async () => {
    let asked = 0;
    const counted = async () => {
      if (++asked > 1) throw new Refusal(400, undefined, 0);
      return fetch();
    };
    await assert.rejects(buy({ server: 'http://shop', token: 'x', voucherId: 9, fetch: counted, ...options }), want);
    assert.ok(asked < 2);
  });
}

test('a signal ends the tries', async () => {
  const ends = new AbortController();
  const fetch = async () => {
    setImmediate(() => ends.abort(new Error('enough')));
    return refuse(503, 'PAUSED', { 'Retry-After': '3600' })();
  };
  await assert.rejects(buy({ server: 'http://shop', token: 'x', voucherId: 9, fetch, signal: ends.signal }), /enough/);
});
