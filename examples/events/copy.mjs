// Keeps a copy of all orders, payments, refunds and sales in a file, without a library: docs/coupons.md#events-as-a-stream.
// It begins with a snapshot at any moment, and follows the events from there. Kill it whenever you like.
// SITE=http://127.0.0.1:8080 TOKEN=… FILE=copy.json node copy.mjs
// SITE may name several instances, comma-separated. Keep yours in a database; a file is written anew after each page.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { SITE, TOKEN, FILE = 'copy.json', EVERY = '1000' } = process.env;
const sites = SITE.split(',');
let turn = 0;

/** Asks until there is an answer that is none of a store or an instance that is away. */
async function get(path) {
  for (let pause = 100; ; pause = Math.min(2 * pause, 5000)) {
    try {
      const answer = await fetch(sites[turn % sites.length] + path, {
        headers: { authorization: `Bearer ${TOKEN}` }, signal: AbortSignal.timeout(10_000),
      });
      const body = await answer.json();
      if (answer.status < 500 && answer.status !== 429 && !body.stale) return { status: answer.status, body };
    } catch { /* no answer: ask another instance */ }
    turn++;
    await sleep(pause);
  }
}

const must = ({ status, body }) => {
  if (status !== 200) throw new Error(`${status} ${body.code}: ${body.detail}`);
  return body;
};

/** All entries of a list, newest first. */
async function* all(path, filter = '') {
  for (let before = ''; ;) {
    const { data, next } = must(await get(`${path}?limit=100${filter}${before}`));
    yield* data;
    if (!next) return;
    before = `&before=${next}`;
  }
}

// What the copy has. A list and an event show the same names.
const order = (o, number) => ({
  number, voucherId: o.voucherId, userId: o.userId, quantity: o.quantity ?? 1, status: o.status,
  amount: o.status === 'failed' ? 0 : o.amount,
});
const payment = (p, known) => ({
  orderId: p.orderId, state: p.state, amount: p.amount, received: p.receivedAmount, returned: p.returnedAmount,
  refunded: p.refundedAmount, lost: p.lostAmount, kept: p.keptAmount, dispute: p.dispute,
  refunds: { // an event has the newest twenty
    ...known?.refunds, ...Object.fromEntries((p.refunds ?? []).map((r) => [r.id, { amount: r.amount, state: r.state }])),
  },
});
const sale = (s, number) => ({
  number, title: s.title, payValue: s.payValue, begin: s.beginTime, end: s.endTime, issued: s.issued, calledOff: !!s.callOffTime,
});

/** A copy of what there is now, and the cursor of a moment before: events behind it repeat some of it, and miss nothing. */
async function snapshot() {
  const copy = { cursor: must(await get('/admin/event?after=end')).next, orders: {}, payments: {}, sales: {} };
  for await (const o of all('/admin/order')) copy.orders[o.id] = order(o, o.number);
  for await (const p of all('/admin/payment')) copy.payments[p.id] = payment(p);
  for await (const v of all('/admin/voucher')) if (v.beginTime) copy.sales[v.id] = sale(v, 0);
  return copy;
}

/** Takes an event, unless the copy has it already. An event has the whole subject, so the last one is right. */
async function take(copy, { type, subject, number, data }) {
  if (subject?.kind === 'sale' && type.startsWith('sale.')) {
    if (number > (copy.sales[subject.id]?.number ?? 0)) copy.sales[subject.id] = sale(data, number);
  } else if (subject?.kind === 'order' && number > (copy.orders[subject.id]?.number ?? 0)) {
    const paid = type.startsWith('order.') ? data.payments ?? [] : [data];
    if (type.startsWith('order.')) copy.orders[subject.id] = order(data, number);
    else if (copy.orders[subject.id]) copy.orders[subject.id].number = number;
    for (const p of paid) copy.payments[p.id] = payment(p, copy.payments[p.id]);
    if (!data.paymentsOmitted) return;
    for await (const p of all('/admin/payment', `&orderId=${subject.id}`)) copy.payments[p.id] = payment(p);
  } // what is unknown is left out: types and kinds of subjects may be added
}

/** Stores the copy with its cursor: both or neither. */
function store(copy) {
  writeFileSync(`${FILE}.new`, JSON.stringify(copy));
  renameSync(`${FILE}.new`, FILE);
}

let copy = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : undefined;
for (;;) {
  if (!copy) store(copy = await snapshot());
  const page = await get(`/admin/event?limit=100&after=${copy.cursor}`);
  if (page.status === 410) { // what was missed is gone
    copy = undefined;
    continue;
  }
  const { data, next, further } = must(page);
  for (const { body } of data) await take(copy, body);
  if (copy.cursor !== next) {
    copy.cursor = next;
    store(copy);
  }
  if (!further) await sleep(Number(EVERY));
}
