// A payment provider over HTTP in Node, without a library: docs/coupons.md#a-provider-over-http. It moves no money; where
// yours calls its payment company is marked with (1) to (4). It remembers in memory; keep yours in a database.
// PROVIDER_SECRET=whsec_… SERVICE_URL=http://127.0.0.1:8080/payment/callback/cards PORT=9000 node provider.mjs
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { PROVIDER_SECRET, SERVICE_URL, PORT = '9000' } = process.env;
const key = Buffer.from(PROVIDER_SECRET.slice('whsec_'.length), 'base64');
const payments = new Map(); // by id: {amount, before, state, refunds: Map of refundId to {amount, reference}}

const sign = (id, time, body) => createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');

function isSigned(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = headers;
  const want = Buffer.from(`v1,${sign(id, time, body)}`);
  return Math.abs(Date.now() / 1000 - Number(time)) < 300 &&
    signatures.split(' ').some((s) => s.length === want.length && timingSafeEqual(Buffer.from(s), want));
}

// Tells the service something, again and again until it is answered other than 5xx.
async function tell(type, data, id = randomUUID(), pause = 500) {
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data }), time = String(Math.floor(Date.now() / 1000));
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${sign(id, time, body)}` };
  const status = await fetch(SERVICE_URL, { method: 'POST', headers, body }).then((answer) => answer.status, () => 503);
  if (status >= 500) setTimeout(() => tell(type, data, id, Math.min(2 * pause, 60_000)), pause);
  else if (status !== 200) console.error(`the service refuses ${type} of ${data.id}: ${status}`);
}

const calls = {
  'payment.begin': ({ id, amount, payBefore }) => { // (1) open a checkout, with the id as idempotency key
    if (!payments.has(id)) payments.set(id, { amount, before: Date.parse(payBefore), state: 'open', refunds: new Map() });
    return { id, url: `http://127.0.0.1:${PORT}/pay/${id}`, reference: `ch_${id}` };
  },
  'payment.cancel': ({ id }) => { // (2) close it, unless it is paid
    const p = payments.get(id);
    if (p?.state === 'paid') return { id, state: 'refused', reason: 'it is paid' };
    if (p) p.state = 'cancelled';
    return { id, state: 'done' };
  },
  'refund.create': ({ id, refundId, amount }) => { // (3) send it back, with the refundId as idempotency key
    const p = payments.get(id), back = [...(p?.refunds.values() ?? [])].reduce((sum, r) => sum + r.amount, 0);
    if (!p?.refunds.has(refundId)) {
      if (p?.state !== 'paid' || back + amount > p.amount) return { refundId, state: 'refused', reason: 'not so much is left' };
      p.refunds.set(refundId, { amount, reference: `re_${refundId}` });
    }
    return { refundId, state: 'done', reference: p.refunds.get(refundId).reference };
  },
  'refund.read': ({ id, refundId }) => payments.get(id)?.refunds.has(refundId) ? { refundId, state: 'done' } : { refundId, state: 'refused', reason: 'unknown' },
};

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString(), id = request.url.slice('/pay/'.length), p = payments.get(id);
  const answer = (status, text, type = 'application/json') => response.writeHead(status, { 'content-type': type }).end(text);
  if (request.url.startsWith('/pay/') && p) { // (4) the company's page, and its notices
    const pressed = request.method === 'POST' && new URLSearchParams(body).get('do');
    if (pressed === 'pay' && p.state === 'open' && !(Date.now() > p.before)) (p.state = 'paid'), await tell('paid', { id, amount: p.amount, reference: `ch_${id}` });
    if (pressed === 'dispute' && p.state === 'paid') await tell('disputed', { id, amount: p.amount });
    return answer(200, `<!doctype html><p>${p.amount}, ${p.state}<form method=post><button name=do value=pay>Pay</button> <button name=do value=dispute>Dispute</button></form>`, 'text/html');
  }
  if (request.method !== 'POST' || !isSigned(request.headers, body)) return answer(401, '{}');
  const { type, data } = JSON.parse(body);
  return calls[type] ? answer(200, JSON.stringify(calls[type](data))) : answer(400, '{}');
}).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on ${PORT}`));
