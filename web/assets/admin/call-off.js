// @ts-check
// Calling a sale off: what that will mean, before it is done, and how far it has got, with the orders that only staff can end.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { announce } from '../shell.js';
import { notify } from './notice.js';
import { Ask, Field, Table, Waiting, announceChange, tied, trouble } from './parts.js';
import { StaffAct } from './staff.js';
import { refusal } from './wrong.js';

/** Milliseconds between two looks at a sale that is being unwound, and at one that has been. */
const EVERY = 2_000, LATER = 15_000;

/** How many of the orders that are left to staff are shown at once. */
const PAGE = '20';

/** What ends without staff, as GET /admin/voucher/:id/call-off has it: what is ahead, what is under way, what is done. */
const AHEAD = ['unpaid', 'paid'], DONE = ['cancelled', 'refunded'];

/** What is left to staff. */
const LEFT = ['redeemed', 'lapsed', 'free', 'stuck', 'disputed', 'noPayment'];

/** What staff do to an order that is left, by why it is. For the others they look at the order. @type {Record<string, string>} */
const ACTS = { redeemed: 'unredeem', lapsed: 'extend', free: 'refund' };

/** @param {any} u @param {string[]} names @param {'orders' | 'units' | 'amount'} of */
const sum = (u, names, of) => names.reduce((n, name) => n + (u[name]?.[of] ?? 0), 0);

/** Asks before a sale is called off, with what will happen to units, money and places. @param {any} props left is how many units are left to sell */
export function CallOff({ voucher, client, words, left, onClose, onDone }) {
  const { t } = words;
  const [means, setMeans] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState('');
  useEffect(() => {
    let open = true;
    void client.ask('GET', `/admin/voucher/${voucher.id}/call-off?limit=1`).then((/** @type {any} */ a) => open && (a.success ? setMeans(a.data) : setFailed(trouble(a, t))));
    return () => void (open = false);
  }, []);
  /** @param {FormData} form */
  const run = async (form) => {
    const why = String(form.get('why')).trim();
    /** @type {Record<string, string>} */
    const found = {};
    if (!why) found.why = t('wrong.missing');
    if (String(form.get('number')).normalize('NFKC').replace(/^\s*#?/, '').trim() !== String(voucher.id)) found.number = t('off.number.wrong', { id: String(voucher.id) });
    if (Object.keys(found).length > 0) return [found];
    const answer = await client.create(`/admin/voucher/${voucher.id}/call-off`, { why });
    if (!answer.success) return refusal(answer, t, trouble(answer, t));
    announceChange(answer, t, t('said.calloff'));
    onDone();
    return '';
  };
  return html`<${Ask} title=${t('off.ask', { title: voucher.title })} says=${t('off.says')} yes=${t('off.yes')} danger=${true} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    ${failed && html`<p class="note warn" role="alert">${failed}</p>`}
    ${!failed && (means ? html`<${Means} means=${means} voucher=${voucher} left=${left} words=${words} />` : html`<${Waiting} t=${t} />`)}
    <${Field} name="why" label=${t('field.why')} hint=${t('off.why')} wrong=${wrong.why}>
      <input ...${tied('why', wrong.why, true)} autocomplete="off" />
    <//>
    <${Field} name="number" label=${t('off.number', { id: String(voucher.id) })} wrong=${wrong.number}>
      <input ...${tied('number', wrong.number)} autocomplete="off" inputmode="numeric" />
    <//>`}
  <//>`;
}

/** What calling a sale off will mean, as far as it is known. @param {any} props */
function Means({ means: m, voucher, left, words: { t, number, money } }) {
  const staff = sum(m, LEFT, 'orders');
  const lines = [
    t('off.means.units', { n: number(left + m.kept) }),
    m.unpaid.orders > 0 && t('off.means.unpaid', { n: number(m.unpaid.orders) }),
    m.paid.orders > 0 ? t('off.means.paid', { n: number(m.paid.orders), money: money(m.paid.amount) }) : t('off.means.unpaid.none'),
    m.refunding.orders > 0 && t('off.means.refunding', { n: number(m.refunding.orders), money: money(m.refunding.amount) }),
    voucher.waitlistWindowSeconds && t('off.means.places'),
    staff > 0 && t('off.means.staff', { n: number(staff) }),
    t('off.means.late'),
  ];
  return html`<ul class="means figures" data-means>${lines.filter(Boolean).map((line) => html`<li key=${line}>${line}</li>`)}</ul>`;
}

/** How far a sale that was called off is unwound, and what is left to staff. @param {any} props version is raised by each action on the page */
export function Unwinding({ voucher, client, words, version }) {
  const { t, number, money, time } = words;
  const [seen, setSeen] = useState(/** @type {any} */ ({ data: null, next: '', answer: null }));
  const [act, setAct] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState('');
  const look = useUnwinding(voucher.id, client, version, setSeen);
  const u = seen.data;
  const said = useRef(/** @type {boolean | null} */ (null));
  useEffect(() => {
    if (!u) return;
    if (said.current === false && u.unwound) announce(t('off.unwound'));
    said.current = u.unwound;
  }, [u?.unwound]);
  if (!u) return html`<section class="panel flat" data-unwinding><h2>${t('off')}</h2>${seen.answer ? html`<p class="note warn" role="alert">${trouble(seen.answer, t)}</p>` : html`<${Waiting} t=${t} />`}</section>`;
  const done = sum(u, DONE, 'orders'), all = done + sum(u, [...AHEAD, 'refunding'], 'orders'), staff = sum(u, LEFT, 'orders');
  /** @param {any} order @param {string} what */
  const begin = async (order, what) => {
    const answer = await client.ask('GET', `/admin/order/${order.id}`);
    setProblem(answer.success ? '' : trouble(answer, t));
    if (answer.success) setAct({ what, order: answer.data });
  };
  return html`<section class="panel flat" data-unwinding=${u.unwound ? 'unwound' : 'pending'}>
    <h2>${t('off')} <span class="soft small-text">${time(u.callOffTime ?? voucher.callOffTime)}</span></h2>
    <p role="status">${t(u.unwound ? staff > 0 ? 'off.left' : 'off.unwound' : 'off.pending', { done: number(done), all: number(all), n: number(staff) })}</p>
    <div class="bar-line thick ${u.unwound ? 'good' : ''}" role="progressbar" aria-label=${t('off.progress')} aria-valuemin="0" aria-valuemax=${Math.max(1, all)} aria-valuenow=${all ? done : 1} aria-valuetext=${t('off.done.of', { done: number(done), all: number(all) })}><div style=${{ width: `${all ? Math.round((100 * done) / all) : 100}%` }}></div></div>
    ${seen.answer && !seen.answer.success && html`<p class="note warn" role="status">${trouble(seen.answer, t)}</p>`}
    ${u.purgedOrders && html`<p class="note" data-purged>${t('purged', { n: number(u.purgedOrders) })}</p>`}
    <div class="tallies">
      <table class="plain figures"><caption>${t('off.itself')}</caption><thead class="unseen"><tr><th scope="col">${t('state')}</th><th scope="col">${t('place.orders')}</th><th scope="col">${t('amount')}</th></tr></thead><tbody>
        ${[...AHEAD, 'refunding', ...DONE].map((name) => html`<${Line} key=${name} name=${name} tally=${u[name]} words=${words} to=${name === 'refunding' ? `#/orders?voucherId=${voucher.id}&status=refunding` : ''} />`)}
      </tbody></table>
      <table class="plain figures"><caption>${t('off.staff')}</caption><thead class="unseen"><tr><th scope="col">${t('state')}</th><th scope="col">${t('place.orders')}</th><th scope="col">${t('amount')}</th></tr></thead><tbody>
        ${LEFT.filter((name) => u[name]).map((name) => html`<${Line} key=${name} name=${name} tally=${u[name]} words=${words} />`)}
      </tbody></table>
      <table class="plain figures"><caption>${t('field.stock')}</caption><tbody>
        <tr data-units="withdrawn"><th scope="row">${t('withdrawn')}</th><td class="n">${t('withdrawn.of', { n: number(u.withdrawn), all: number(u.issued) })}</td></tr>
        ${u.kept > 0 && html`<tr data-units="kept"><th scope="row">${t('waitlist.places.kept')}</th><td class="n">${number(u.kept)}</td></tr>`}
      </tbody></table>
    </div>
    ${problem && html`<p class="note warn" role="alert">${problem}</p>`}
    <${Table} label=${t('off.staff')} rows=${u.left}
      columns=${[{ label: t('order'), head: true }, { label: t('off.fate') }, { label: t('user'), n: true }, { label: t('amount'), n: true }, { label: t('order.paid'), kind: 'figures nowrap' }, { label: t('off.do') }]}
      row=${(/** @type {any} */ o) => ({ key: o.id, 'data-left': o.fate, cells: [
        html`<a href=${`#/orders?orderId=${o.id}`}>${o.id}</a>`, t(`off.fate.${o.fate}`), o.userId, o.amount ? money(o.amount) : t('off.free'), o.payTime ? time(o.payTime) : '–',
        ACTS[o.fate] ? html`<button type="button" class="button small" data-act=${`left-${ACTS[o.fate]}`} onClick=${() => begin(o, ACTS[o.fate])}>${t(`off.act.${o.fate}`)}</button>`
          : html`<a class="button small" href=${`#/orders?orderId=${o.id}`}>${t('look')}</a>`,
      ] })} />
    ${seen.next && html`<p><button type="button" class="button quiet small" data-act="more" onClick=${() => look(seen)}>${t('more')}</button></p>`}
    ${act && html`<${StaffAct} key=${act.order.id} act=${act.what} order=${act.order} off=${true} client=${client} words=${words} onRefused=${() => look()} onDone=${(/** @type {string} */ says) => (notify(says), look())} onClose=${() => setAct(null)} />`}
  </section>`;
}

/** @param {any} props */
function Line({ name, tally, to = '', words: { t, number, money } }) {
  const label = t(`off.tally.${name}`);
  return html`<tr data-tally=${name} class=${tally.orders ? '' : 'soft'}><th scope="row">${to && tally.orders ? html`<a href=${to}>${label}</a>` : label}</th><td class="n">${number(tally.orders)}</td><td class="n">${money(tally.amount)}</td></tr>`;
}

/**
 * Looks now and again how far a sale is unwound, and returns what looks at once; with what was seen, at the next page of what is left.
 * @param {number} id @param {any} client @param {number} version @param {(set: any) => void} set
 */
function useUnwinding(id, client, version, set) {
  const state = useRef(/** @type {any} */ ({ asked: 0, further: false, pending: true }));
  /** @param {any} [seen] */
  const look = async (seen) => {
    const mine = ++state.current.asked;
    const answer = await client.list(`/admin/voucher/${id}/call-off`, { limit: PAGE, ...(seen && { before: seen.next }) });
    if (mine !== state.current.asked) return; // another look was begun since
    if (!answer.success) return set((/** @type {any} */ s) => ({ ...s, answer }));
    Object.assign(state.current, { further: Boolean(seen), pending: answer.data.pending });
    set({ data: { ...answer.data, left: [...(seen?.data.left ?? []), ...answer.data.left] }, next: answer.next ?? '', answer });
  };
  useEffect(() => {
    let open = true, timer = 0;
    const again = async () => {
      if (!document.hidden && !state.current.further) await look();
      if (open) timer = window.setTimeout(again, state.current.pending ? EVERY : LATER);
    };
    void again();
    return () => ((open = false), state.current.asked++, clearTimeout(timer));
  }, [id, version]);
  return look;
}
