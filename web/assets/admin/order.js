// @ts-check
// One order: what it is, its payments and its history. Staff may act on it (staff.js).

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Said } from './notice.js';
import { VoucherLink, Waiting, trouble } from './parts.js';
import { Dispute, Progress } from './payments.js';
import { ShopLink } from './shops.js';
import { StaffAct, actsOn } from './staff.js';
import { RefundPart, Refunds } from './refunds.js';
import { Stuck, StuckAct } from './stuck.js';

/** The colour of an order's state. @type {Record<string, string>} */
export const TONES = { paid: 'good', redeemed: 'good', unpaid: 'warn', refunding: 'warn', failed: 'bad' };

/** Whether an order was cancelled because it was not paid in time. @param {any} order */
export const late = ({ status, payBefore, cancelTime }) => status === 'cancelled' && payBefore !== undefined && Date.parse(cancelTime) >= Date.parse(payBefore);

/** How often an order whose money goes back is read again, in milliseconds. */
const AGAIN = 2000;

/** Who did something to an order: the words that are stored are the service's own. @param {string} by @param {import('../words.js').Words} words */
export function actor(by, { t, has }) {
  if (has(`by.${by}`)) return t(`by.${by}`);
  const [kind, n] = by.split(' ');
  return has(`by.${kind}.n`) ? t(`by.${kind}.n`, { n }) : by;
}

/** One order in a dialog, or what staff are asked before they act on it. @param {any} props onChange is called when it has come to another state */
export function Order({ id, client, words, onClose, onChange }) {
  const { t } = words;
  const [o, setOrder] = useState(/** @type {any} */ (null));
  const [wrong, setWrong] = useState('');
  const [said, setSaid] = useState(''); // of what was done
  const [act, setAct] = useState('');
  const [stuck, setStuck] = useState(/** @type {any} */ (null));
  const asked = useRef(/** @type {any} */ (0)), shown = useRef(/** @type {any} */ (0)); // numbers of requests
  const read = async () => {
    const mine = ++asked.current;
    const answer = await client.ask('GET', `/admin/order/${encodeURIComponent(id)}`);
    if (mine < shown.current) return; // a later request was answered first
    shown.current = mine;
    setWrong(answer.success ? '' : trouble(answer, t));
    if (answer.success) setOrder(answer.data);
  };
  useEffect(() => void read(), []);
  const status = o?.status;
  useEffect(() => {
    if (status !== 'refunding') return undefined;
    const timer = setInterval(() => document.hidden || read(), AGAIN);
    return () => {
      clearInterval(timer);
      onChange();
    };
  }, [status]);
  const before = useRef(/** @type {any} */ ('')), coming = t('staff.refund.coming');
  useEffect(() => {
    if (before.current === 'refunding' && status === 'refunded') setSaid((text) => [text !== coming && text, t('staff.refund.done')].filter(Boolean).join(' '));
    before.current = status;
  }, [status]);
  const done = (/** @type {string} */ says) => {
    setSaid(says);
    onChange();
    void read();
  };
  if (act) return html`<${StaffAct} key=${act} act=${act} order=${o} client=${client} words=${words} onRefused=${read} onDone=${done} onClose=${() => setAct('')} />`;
  if (stuck?.what === 'refund') return html`<${RefundPart} key="refund" payment=${stuck.payment} client=${client} words=${words} onRefused=${read} onDone=${done} onClose=${() => setStuck(null)} />`;
  if (stuck) return html`<${StuckAct} key=${stuck.what} act=${stuck.what} payment=${stuck.payment} client=${client} words=${words} onRefused=${read} onDone=${done} onClose=${() => setStuck(null)} />`;
  const waits = o?.payments?.some((/** @type {any} */ p) => p.state === 'stuck');
  return html`<${Dialog} key="order" title=${t('order.title', { id })} closeLabel=${t('close')} onClose=${onClose}>
    ${!o && !wrong && html`<${Waiting} t=${t} />`}
    ${wrong && html`<p class="note warn" role="alert">${wrong}</p>`}
    ${o && html`<div class="stack"><${Said} text=${said === coming ? '' : said} /><${Facts} order=${o} words=${words} onStuck=${setStuck} />
      ${status === 'refunding' && html`<p class="note ${waits ? 'warn' : ''}" role="status">${t(waits ? 'stuck.order' : 'staff.refund.coming')}</p>`}
      <div class="row actions">${actsOn(o).map((one) => html`<button type="button" class=${`button small ${one.danger ? 'danger' : ''}`} data-act=${one.act} onClick=${() => setAct(one.act)}>${t(`staff.${one.act}`)}</button>`)}</div></div>`}
  <//>`;
}

/** Whether a till takes an order's coupon, as far as the order tells: tills refuse disputed ones and those past their date, too. @param {any} o */
const usable = (o) => o.status === 'paid' && !(Date.parse(o.coupon.validUntil) <= Date.now()) && !o.payments?.some((/** @type {any} */ p) => p.dispute === 'open' || p.dispute === 'lost');

/** @param {any} props */
function Facts({ order: o, words, onStuck }) {
  const { t, time, money } = words;
  return html`<div class="stack">
    <p><span class="tag ${TONES[o.status] ?? ''}">${t(`order.${o.status}`)}</span> ${late(o) && html`<span class="soft">${t('order.expired')}</span> `}${o.reason && html`<code>${o.reason}</code>`}</p>
    <p>${t('user')} ${o.userId} · ${o.quantity > 1 && `${o.quantity} × `}<${VoucherLink} of=${o} />${o.shopId && html` · <${ShopLink} id=${o.shopId} name=${o.shopName} t=${t} />`}${o.amount !== undefined && ` · ${money(o.amount)}`}</p>
    ${o.coupon && html`<p class="figures">${t('coupon')} ${o.coupon.code}${usable(o) ? html` · <span class="good" data-usable>${o.coupon.validUntil ? t('valid.until', { time: time(o.coupon.validUntil) }) : t('valid.always')}</span>` : o.coupon.validUntil && html` · ${t('valid.until', { time: time(o.coupon.validUntil) })}`}${o.coupon.redeemedBy && ` · ${actor(o.coupon.redeemedBy, words)}`}</p>`}
    ${o.payments && html`<ul>${o.payments.map((/** @type {any} */ p) => html`<li class="figures">
      ${t('payment')} ${money(p.amount)} · ${t(`payment.${p.state}`)}${p.returnedAmount > 0 && p.returnedAmount < p.amount && ` · ${t('returned', { n: money(p.returnedAmount), kept: money(p.keptAmount) })}`} <${Progress} payment=${p} words=${words} /><${Dispute} payment=${p} words=${words} />${p.provider && html` · <span lang="en">${p.provider}</span>`} <span class="soft">${p.reference || p.id}</span><${Stuck} payment=${p} words=${words} onAct=${(/** @type {string} */ what) => onStuck({ what, payment: p })} /><${Refunds} payment=${p} words=${words} onAct=${(/** @type {string} */ what) => onStuck({ what, payment: p })} /></li>`)}</ul>`}
    ${o.traceUrl && html`<p><a href=${o.traceUrl} target="_blank" rel="noreferrer" data-trace>${t('order.trace')}</a></p>`}
    <ol class="history">${(o.history ?? []).map((/** @type {any} */ e) => html`<li><span class="figures soft">${time(e.at)}</span> <b>${t(`order.${e.status}`)}</b> <span class="soft">${[...new Set([actor(e.by, words), words.why(e)])].filter(Boolean).join(t('comma'))}</span></li>`)}</ol>
  </div>`;
}
