// @ts-check
// Creating a voucher, also as a copy of another, and changing its texts and window. What is wrong is shown at the field, in the service's words: it
// alone knows the rules. The page itself only reports what it cannot read.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Dialog, announce } from '../shell.js';
import { PAYABLE } from '../site.js';
import { GuardFields, readGuards } from './guards.js';
import { Field, announceChange, incomplete, numberOf, tied, trouble } from './parts.js';
import { Wrong, problems, useProblems } from './wrong.js';

/** Money as it is typed, in cents. @param {string} text */
const cents = (text) => Math.round(numberOf(text) * 1e4) / 100;
/** A local time as it is typed, with the browser's zone. @param {string} text */
export const instant = (text) => new Date(text).toISOString();
/** A time for <input type=datetime-local>. @param {string | number} time */
export function local(time) {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Whether the clocks here never show a local time, because they are put forward then. @param {string} text */
export const skipped = (text) => local(text).slice(0, text.length) !== text;

/** What a new voucher starts with: the values of another, in another window. @param {any} v @param {number} now */
export function copyOf(v, now) {
  const days = v.beginTime ? Math.max(0, Math.ceil((now - Date.parse(v.beginTime)) / 86_400_000)) * 86_400_000 : 0; // the same time of day
  const later = (/** @type {string} */ time) => new Date(Date.parse(time) + days).toISOString();
  return {
    ...v, stock: v.issued,
    ...(v.beginTime && { beginTime: later(v.beginTime), endTime: later(v.endTime) }),
    validUntil: v.validUntil && Date.parse(v.validUntil) > now + days ? v.validUntil : undefined,
    visibleFrom: undefined,
  };
}

/** What a new voucher starts with: the values of a template, with a sale at the next full hour. @param {any} template @param {number} now */
export function fromTemplate(template, now) {
  const begin = Math.ceil(now / 3.6e6) * 3.6e6;
  const { lastsSeconds: lasts, visibleBeforeSeconds: visible, voucher } = template;
  return {
    ...voucher, template: template.id,
    ...(lasts && { beginTime: begin, endTime: begin + lasts * 1000 }),
    ...(visible && { visibleFrom: begin - visible * 1000 }),
  };
}

/** Whether orders can have codes here. */
const REDEEMS = document.querySelector('meta[name=redeems]')?.getAttribute('content') !== 'no';

/** Whether a new voucher is redeemable at first: like the one that it starts with, else wherever it can be. @param {any} from */
const redeems = (from) => REDEEMS && (from.shopId ? Boolean(from.redeemable) : true);

/** The form of a new voucher, which may start with a template. @param {any} props */
export function NewVoucher({ client, words, onClose, onDone }) {
  const [templates, setTemplates] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    client.ask('GET', '/admin/template').then((/** @type {any} */ answer) => answer.success && setTemplates(answer.data));
  }, []);
  return html`<${VoucherForm} client=${client} words=${words} templates=${templates} onClose=${onClose} onDone=${onDone} />`;
}

/** @param {any} props voucher is the one to be changed; without one, a new one is made, with the values of from at first */
export function VoucherForm({ client, words, voucher, from: given = {}, templates = [], onClose, onDone }) {
  const { t, has } = words;
  const [from, setFrom] = useState(given);
  const [seckill, setSeckill] = useState((voucher ?? from).type !== 0);
  const [redeemable, setRedeemable] = useState(redeems(from));
  const [listed, setListed] = useState(Boolean(from.waitlistWindowSeconds));
  const [sending, setSending] = useState(false);
  const problem = useProblems(t);
  const { ref: form, wrong, say } = problem;

  /** Starts anew with a template. @param {string} id */
  const start = (id) => {
    const next = id ? fromTemplate(templates.find((/** @type {any} */ one) => String(one.id) === id), client.clock.now()) : given;
    setFrom(next);
    setSeckill(next.type !== 0);
    setRedeemable(redeems(next));
    setListed(Boolean(next.waitlistWindowSeconds));
    say({});
  };
  const now = client.clock.now();
  const hidden = !voucher || Date.parse(voucher.visibleFrom) > now; // once buyers have seen it, it stays visible

  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (sending) return;
    const text = (/** @type {string} */ name) => String(new FormData(form.current).get(name) ?? '').trim();
    const guarded = readGuards(form.current, undefined, t);
    const unread = { ...unreadable(form.current, text, t), ...guarded.wrong };
    if (Object.keys(unread).length > 0) return say(unread);
    setSending(true);
    const window = seckill ? { beginTime: instant(text('beginTime')), endTime: instant(text('endTime')) } : {};
    const visible = text('visibleFrom') ? { visibleFrom: instant(text('visibleFrom')) }
      : hidden && voucher ? { visibleFrom: new Date(client.clock.now()).toISOString() } : {}; // emptied: visible at once
    const texts = { title: text('title'), subTitle: text('subTitle'), rules: text('rules') };
    const answer = voucher
      ? await client.insist('PATCH', `/voucher/${voucher.id}`, { body: { ...texts, ...unmoved({ ...window, ...visible }, voucher) } })
      : await client.create(seckill ? '/voucher/seckill' : '/voucher', {
        shopId: numberOf(text('shopId')), ...texts, payValue: cents(text('payValue')), actualValue: cents(text('actualValue')),
        ...(text('payWithin') && { payWithinSeconds: numberOf(text('payWithin')) * 60 }),
        ...(seckill && { stock: numberOf(text('stock')) }),
        ...(text('perUser') && { perUser: numberOf(text('perUser')) }),
        ...(text('partition') && { partition: numberOf(text('partition')) }),
        ...(seckill && listed && { waitlistWindowSeconds: Math.round(numberOf(text('inviteWindow')) * 60) }),
        ...(seckill && Object.keys(guarded.guards).length > 0 && { guards: guarded.guards }), ...window, ...visible,
        ...(REDEEMS && { redeemable }),
        ...(redeemable && { ...(text('validDays') && { validDays: numberOf(text('validDays')) }), ...(text('validUntil') && { validUntil: instant(text('validUntil')) }) }),
      });
    setSending(false);
    if (answer.success) {
      announceChange(answer, t);
      if (!voucher && text('template')) await saveTemplate(answer.data.id, text('template'));
      onClose();
      onDone(answer.data);
      return;
    }
    say(problems(answer, t, inUnits), answer.errors ? '' : answer.status === 0 && !voucher ? t('create.unknown') : trouble(answer, t));
  };
  /** Saves the new voucher as a template. If that fails the voucher is there all the same. @param {number} voucherId @param {string} name */
  const saveTemplate = async (voucherId, name) => {
    const answer = await client.create('/admin/template', { voucherId, name });
    if (!answer.success) announce(t('template.failed', { why: problems(answer, t).name ?? trouble(answer, t) }));
  };
  /** @param {string} name */
  const nameOf = (name) => t(has(`form.${name}`) ? `form.${name}` : `field.${name}`);
  /** A text field. @param {string} name @param {any} [props] */
  const input = (name, { value = '', kind = '', ...props } = {}) => html`
    <${Field} name=${name} label=${props.type === 'datetime-local' ? t('form.zone', { label: nameOf(name), zone: words.zone() }) : nameOf(name)} wrong=${wrong[name]} class=${kind}>
      <input ...${tied(name, wrong[name])} defaultValue=${value} autocomplete="off" ...${props} />
    <//>`;
  const first = voucher ?? from;
  const begin = first.beginTime ?? Math.ceil(now / 3.6e6) * 3.6e6;
  const end = first.endTime ?? Math.ceil(now / 3.6e6) * 3.6e6 + 7.2e6;
  const yuan = (/** @type {number | undefined} */ n) => (n === undefined ? '' : String(n / 100));
  /** A time that may be left out. @param {string} name */
  const time = (name) => input(name, { type: 'datetime-local', step: 1, value: first[name] ? local(first[name]) : '' });
  const window = seckill && ['beginTime', 'endTime'].map((name) => input(name, { type: 'datetime-local', step: 1, value: local(name === 'beginTime' ? begin : end), kind: name === 'beginTime' ? 'from' : '' }));
  return html`<${Dialog} title=${t(voucher ? 'edit.title' : 'create.title')} closeLabel=${t('close')} onClose=${onClose}>
    <form key=${from.template ?? 0} ref=${form} class="grid" noValidate onInput=${problem.onInput} onSubmit=${submit}>
      ${templates.length > 0 && html`<${Field} name="from" label=${t('template.from')} class="wide">
        <select id="f-from" name="from" onChange=${(/** @type {any} */ e) => start(e.target.value)}>
          <option value="">${t('template.none')}</option>
          ${templates.map((/** @type {any} */ one) => html`<option value=${one.id} selected=${one.id === from.template}>${one.name} · ${t('shop')} ${one.voucher.shopId}</option>`)}
        </select>
      <//>`}
      ${!voucher && html`<fieldset class="wide row kinds"><legend class="unseen">${t('kind')}</legend>
        ${[true, false].map((kind) => html`<label class="pick"><input type="radio" name="kind" checked=${seckill === kind} onChange=${() => (setSeckill(kind), say({}))} /> ${t(kind ? 'kind.seckill' : 'kind.ordinary')}</label>`)}
      </fieldset>`}
      ${input('title', { value: first.title, kind: 'wide', autofocus: true })}
      ${input('subTitle', { value: first.subTitle, kind: 'wide' })}
      ${!voucher && html`
        ${input('payValue', { inputmode: 'decimal', value: yuan(from.payValue) })}
        ${input('actualValue', { inputmode: 'decimal', value: yuan(from.actualValue) })}
        ${!PAYABLE && html`<p class="note warn wide">${t('form.unpayable')}</p>`}
        ${input('shopId', { inputmode: 'numeric', value: from.shopId ?? (client.shop || '1') })}
        ${seckill && input('stock', { inputmode: 'numeric', value: from.stock ?? '' })}
        ${window}
        ${input('perUser', { key: `perUser-${seckill}`, inputmode: 'numeric', value: from.perUser ?? (seckill ? '1' : ''), placeholder: seckill ? '' : t('form.perUser.any') })}
        ${input('payWithin', { inputmode: 'numeric', value: (from.payWithinSeconds ?? 900) / 60 })}
        ${time('visibleFrom')}
        ${seckill && html`${input('partition', { inputmode: 'numeric', placeholder: t('form.partition.any') })}`}
        ${seckill && html`<label class="pick wide"><input type="checkbox" name="waitlist" checked=${listed} onChange=${() => setListed(!listed)} /> ${t('form.waitlist')}</label>
          ${listed && input('inviteWindow', { inputmode: 'decimal', value: (from.waitlistWindowSeconds ?? 600) / 60 })}`}
        ${REDEEMS && html`<label class="pick wide"><input type="checkbox" name="redeemable" checked=${redeemable} onChange=${() => setRedeemable(!redeemable)} /> ${t('form.redeemable')}</label>
          ${!redeemable && html`<p class="note wide">${t('form.unredeemable')}</p>`}`}
        ${redeemable && html`${input('validDays', { inputmode: 'numeric', value: from.validDays ?? '' })}${time('validUntil')}`}`}
      ${voucher && window}
      ${hidden && voucher && time('visibleFrom')}
      <${Field} name="rules" label=${t('field.rules')} wrong=${wrong.rules} class="wide">
        <textarea ...${tied('rules', wrong.rules)} rows="2" defaultValue=${first.rules ?? ''}></textarea>
      <//>
      ${seckill && !voucher && html`<details class="wide" open=${Boolean(from.guards)}><summary>${t('guards')}</summary>
        <${GuardFields} settings=${from.guards} wrong=${wrong} words=${words} client=${client} /></details>`}
      ${!voucher && input('template', { kind: 'wide', maxlength: 64 })}
      <p class="soft wide">${t(voucher ? 'edit.note' : 'create.note')}</p>
      <${Wrong} of=${problem} />
      <div class="row end wide">
        <button type="button" class="button quiet" onClick=${onClose}>${t('cancel')}</button>
        <button class="button primary" data-act="save" aria-disabled=${String(sending)}>${t(voucher ? 'save' : 'create')}</button>
      </div>
    </form>
  <//>`;
}

/** Fields that the form has in other units, with their names in it: yuan for cents, minutes for seconds. @type {Record<string, {name: string, size: number, unit: string}>} */
const UNITS = {
  payValue: { name: 'payValue', size: 100, unit: 'AMOUNT' }, actualValue: { name: 'actualValue', size: 100, unit: 'AMOUNT' },
  payWithinSeconds: { name: 'payWithin', size: 60, unit: 'MINUTES' }, waitlistWindowSeconds: { name: 'inviteWindow', size: 60, unit: 'MINUTES' },
};

/** What the service says of a field, in the unit of the form. @param {any} error */
function inUnits(error) {
  if (!Object.hasOwn(UNITS, error.field)) return error;
  const { name, size, unit } = UNITS[error.field];
  const data = { ...error.data };
  for (const of of ['value', 'min', 'max']) if (of in data) data[of] = Number(data[of]) / size;
  const codes = /** @type {Record<string, string>} */ ({ WHOLE_NUMBER: unit, SECONDS: unit, RANGE: `${unit}_RANGE`, RANGE_OR_OMIT: `${unit}_RANGE_OR_OMIT` });
  return { ...error, field: name, data, allowedCode: codes[error.allowedCode] ?? error.allowedCode };
}

/** Fields whose text is not of their kind, with what is wrong. @param {any} form @param {(name: string) => string} text @param {(key: string) => string} t */
function unreadable(form, text, t) {
  /** @type {Record<string, string>} */
  const found = {};
  const optional = ['payWithin', 'validDays', 'partition', 'visibleFrom', 'validUntil'];
  for (const name of ['title', 'payValue', 'actualValue', 'shopId', 'stock', 'perUser', 'beginTime', 'endTime', 'payWithin', 'validDays', 'inviteWindow', 'partition', 'visibleFrom', 'validUntil']) {
    if (!form.elements[name]) continue;
    const typed = text(name);
    if (incomplete(form.elements[name])) found[name] = t('wrong.time');
    else if (typed === '' && !optional.includes(name) && !(name === 'perUser' && !form.elements.stock)) found[name] = t('wrong.missing');
    else if (typed !== '' && form.elements[name].type === 'datetime-local' && skipped(typed)) found[name] = t('wrong.skipped');
    else if (typed !== '' && form.elements[name].inputMode && Number.isNaN(numberOf(typed))) found[name] = t('wrong.number');
  }
  return found;
}

/**
 * The window without the times that were not changed: the form shows them to the second only.
 * @param {any} window @param {any} voucher
 */
function unmoved(window, voucher) {
  return Object.fromEntries(Object.entries(window).filter(([name, time]) => time === undefined || local(/** @type {any} */ (time)) !== local(voucher[name])));
}
