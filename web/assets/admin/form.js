// @ts-check
// Creating a voucher, also as a copy of another, and changing its texts and window; beside it the card that buyers will see. The page says at once
// what it knows to be wrong (rules.js), the service the rest.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { PAYABLE, PICTURES } from '../site.js';
import { PARTS } from '../words.js';
import { useDraft } from './drafts.js';
import { GuardFields, readGuards } from './guard-fields.js';
import { Said, notify } from './notice.js';
import { Ask, Field, announceChange, numberOf, tied, trouble } from './parts.js';
import { Preview } from './preview.js';
import { OPTIONAL, instant, least, local, wrongIn } from './rules.js';
import { shopName } from './shops.js';
import { TimeFields, between, momentOf, putTime, typedTime } from './times.js';
import { Wrong, problems, useProblems } from './wrong.js';

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
export function NewVoucher({ client, words, title = '', onClose, onDone }) {
  const [templates, setTemplates] = useState(/** @type {any[]} */ ([]));
  const [gone, setGone] = useState(/** @type {any} */ (null)); // the template that may be deleted
  const [deleted, setDeleted] = useState(''); // what is said of it then
  const { t } = words;
  useEffect(() => {
    client.ask('GET', '/admin/template').then((/** @type {any} */ answer) => answer.success && setTemplates(answer.data));
  }, []);
  const remove = async () => {
    const answer = await client.insist('DELETE', `/admin/template/${gone.id}`);
    if (!answer.success && answer.status !== 404) return trouble(answer, t); // 404: it was deleted before
    setTemplates(templates.filter((one) => one !== gone));
    setDeleted(t('template.deleted', { name: gone.name }));
    return '';
  };
  return html`<${VoucherForm} draft="new" title=${title} client=${client} words=${words} templates=${templates} deleted=${deleted} onDelete=${setGone} onClose=${onClose} onDone=${onDone} />
    ${gone && html`<${Ask} id="template-title" title=${t('template.ask', { name: gone.name })} says=${t('template.says')} yes=${t('template.yes')} danger=${true} t=${t} run=${remove} onClose=${() => setGone(null)} />`}`;
}

/** A section of the form. @param {any} props */
function Part({ title, children }) {
  return html`<fieldset class="part wide"><legend>${title}</legend><div class="grid">${children}</div></fieldset>`;
}

/** A choice of yes or no. It is known with its input event, before the form is shown again. @param {any} props */
function Pick({ name, checked, onInput, children }) {
  return html`<label class="pick wide"><input type="checkbox" name=${name} checked=${checked} onInput=${onInput} /> ${children}</label>`;
}

/**
 * @param {any} props voucher is the one to be changed; without one, a new one is made, with the values of from at first. draft names what is kept
 * of it while it is not sent
 */
export function VoucherForm({ client, words, voucher, from: given = {}, templates = [], deleted = '', draft: kind, title = '', onDelete, onClose, onDone }) {
  const { t, has } = words;
  const draft = useDraft(kind);
  const [from, setFrom] = useState(given);
  const [version, setVersion] = useState(0); // raised where the form begins anew
  const [seckill, setSeckill] = useState(voucher ? voucher.type !== 0 : draft.of('kind', from.type === 0 ? 'ordinary' : 'seckill') === 'seckill');
  const [redeemable, setRedeemable] = useState(draft.of('redeemable', redeems(from)));
  const [listed, setListed] = useState(draft.of('waitlist', Boolean(from.waitlistWindowSeconds)));
  const [sending, setSending] = useState(false);
  const [, typed] = useState(0);
  const [asking, setAsking] = useState(''); // what is asked before it is done: 'price' or 'discard'
  const [other, setOther] = useState(/** @type {string | null} */ (null)); // the template to start with, if what was typed may be thrown away
  const agreed = useRef(''); // the price and the value that were asked about
  const lasts = useRef(/** @type {any} */ (NaN)); // milliseconds from Begins to Ends
  const problem = useProblems(t);
  const { ref: form, wrong, say } = problem;
  useEffect(() => void (lasts.current = between(form.current, 'beginTime', 'endTime')), [version, seckill]);
  useEffect(() => typed((/** @type {number} */ n) => n + 1), [version]); // the card has what is in the form

  /** Starts anew, with the values of what is given. @param {any} next */
  const start = (next) => {
    draft.drop();
    setFrom(next);
    setSeckill((voucher ?? next).type !== 0);
    setRedeemable(redeems(next));
    setListed(Boolean(next.waitlistWindowSeconds));
    setVersion(version + 1);
    say({});
  };
  const chosen = templates.find((/** @type {any} */ one) => one.id === from.template);
  /** @param {string} id of a template, "" for none */
  const startWith = (id) => start(id ? fromTemplate(templates.find((/** @type {any} */ one) => String(one.id) === id), client.clock.now()) : given);
  /** @param {any} e the choice of a template, which stays as it was while it is asked about */
  const choose = (e) => {
    e.stopPropagation();
    const id = e.target.value;
    if (!draft.typed()) return startWith(id);
    e.target.value = chosen?.id ?? '';
    setOther(id);
  };
  const now = client.clock.now();
  const begun = voucher && Date.parse(voucher.beginTime) <= now;
  const hidden = !voucher || Date.parse(voucher.visibleFrom) > now; // once buyers have seen it, it stays visible

  /** What changes with a moment: Ends keeps its distance from Begins, unless the sale has begun. @param {string} moment */
  const follow = (moment) => {
    const begin = moment === 'beginTime' && typedTime(form.current, 'beginTime');
    if (moment === 'endTime') lasts.current = between(form.current, 'beginTime', 'endTime');
    else if (begin && lasts.current > 0 && !begun) putTime(form.current, 'endTime', local(Date.parse(begin) + lasts.current));
  };
  /** @param {any} e */
  const changed = (e) => {
    follow(momentOf(e.target.name));
    draft.keep(e);
    problem.onInput(e);
    typed((/** @type {number} */ n) => n + 1);
  };
  const text = (/** @type {string} */ name) => String(form.current?.elements[name]?.value ?? '').trim();
  const dear = !voucher && least(text('payValue')) > least(text('actualValue'));
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (sending) return;
    const guarded = readGuards(form.current, undefined, t);
    const found = { ...wrongIn(form.current, t, client.clock.now(), voucher), ...guarded.wrong };
    if (Object.keys(found).length > 0) return say(found);
    if (dear && agreed.current !== `${text('payValue')}/${text('actualValue')}`) return setAsking('price');
    await send(guarded);
  };
  /** @param {any} guarded what readGuards found */
  const send = async (guarded) => {
    setSending(true);
    const at = (/** @type {string} */ name) => instant(typedTime(form.current, name) ?? '');
    const window = seckill ? { beginTime: at('beginTime'), endTime: at('endTime') } : {};
    const visible = text('visibleFrom') ? { visibleFrom: at('visibleFrom') }
      : hidden && voucher ? { visibleFrom: new Date(client.clock.now()).toISOString() } : {}; // emptied: visible at once
    const texts = {
      title: text('title'), subTitle: text('subTitle'), rules: text('rules'),
      ...(pictured && text('picture') !== (voucher?.picture ?? '') && { picture: text('picture') }), // one of before may be on a host that is not taken any more
    };
    const answer = voucher
      ? await client.insist('PATCH', `/voucher/${voucher.id}`, { body: { ...texts, ...unmoved({ ...window, ...visible }, voucher) } })
      : await client.create(seckill ? '/voucher/seckill' : '/voucher', {
        shopId: numberOf(text('shopId')), ...texts, payValue: least(text('payValue')), actualValue: least(text('actualValue')),
        ...(text('payWithin') && { payWithinSeconds: Math.round(numberOf(text('payWithin')) * 60) }),
        ...(text('processingWithin') && { processingWithinSeconds: Math.round(numberOf(text('processingWithin')) * 60) }),
        ...(seckill && { stock: numberOf(text('stock')) }),
        ...(text('perUser') && { perUser: numberOf(text('perUser')) }),
        ...(text('partition') && { partition: numberOf(text('partition')) }),
        ...(seckill && listed && { waitlistWindowSeconds: Math.round(numberOf(text('inviteWindow')) * 60) }),
        ...(seckill && Object.keys(guarded.guards).length > 0 && { guards: guarded.guards }), ...window, ...visible,
        ...(REDEEMS && { redeemable }),
        ...(redeemable && { ...(text('validDays') && { validDays: numberOf(text('validDays')) }), ...(text('validUntil') && { validUntil: at('validUntil') }) }),
      });
    setSending(false);
    if (answer.success) {
      draft.drop();
      announceChange(answer, t, said(answer.data, Boolean(voucher), client.clock.now(), words));
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
    if (!answer.success) notify(t('template.unsaved', { name, why: problems(answer, t).name ?? trouble(answer, t) }), 'warn');
  };
  /** A field's label, which says if it may be left out. @param {string} name */
  const nameOf = (name) => {
    const label = t(has(`form.${name}`) ? `form.${name}` : `field.${name}`);
    return OPTIONAL.includes(name) || name === 'perUser' && !seckill ? t('form.optional', { label }) : label;
  };
  /** A text field. kept is what the draft calls it. @param {string} name @param {any} [props] */
  const input = (name, { value = '', kind = '', kept = name, hint = '', ...props } = {}) => html`
    <${Field} name=${name} label=${nameOf(name)} wrong=${wrong[name]} hint=${hint} class=${kind}>
      <input ...${tied(name, wrong[name], Boolean(hint))} data-draft=${kept} defaultValue=${draft.of(kept, value)} autocomplete="off" ...${props} />
    <//>`;
  const at = voucher ?? from;
  const pictured = PICTURES.length > 0 || Boolean(at.picture);
  const begin = at.beginTime ?? Math.ceil(now / 3.6e6) * 3.6e6;
  const end = at.endTime ?? Math.ceil(now / 3.6e6) * 3.6e6 + 7.2e6;
  const inUnit = (/** @type {number | undefined} */ n) => (n === undefined ? '' : String(n / PARTS));
  /** A day and a time of day, "" for none at first. @param {string} name @param {any} [value] @param {string} [hint] */
  const time = (name, value = at[name], hint = '') => {
    const label = t('form.zone', { label: nameOf(name), zone: words.zone() });
    return html`<${Field} name=${name} label=${label} wrong=${wrong[name]} hint=${hint} class=${name === 'beginTime' ? 'from' : ''}>
      <${TimeFields} name=${name} label=${label} time=${value ? local(value) : ''} draft=${draft} wrong=${wrong[name]} hint=${hint} words=${words} /><//>`;
  };
  /** Closes the form for good, and asks first if something was typed. */
  const cancel = () => (draft.typed() ? setAsking('discard') : onClose());
  const shop = from.shopId ?? (client.shop || '1');
  return html`${asking === 'price' && html`<${Ask} id="ask-title" title=${t('form.dear.ask')} says=${t('form.dear.says', { pay: words.money(least(text('payValue'))), worth: words.money(least(text('actualValue'))) })}
      yes=${t('form.dear.yes')} t=${t} onClose=${() => setAsking('')}
      run=${async () => ((agreed.current = `${text('payValue')}/${text('actualValue')}`), setTimeout(() => form.current.requestSubmit()), '')} />`}
  ${asking === 'discard' && html`<${Discard} t=${t} onClose=${() => setAsking('')} run=${() => (draft.drop(), onClose())} />`}
  ${other !== null && html`<${Discard} t=${t} onClose=${() => setOther(null)} run=${() => startWith(other)} />`}
  <${Dialog} class="tall wide" title=${title || t(voucher ? 'edit.title' : 'create.title')} closeLabel=${t('close')} onClose=${onClose}>
    <form key=${version} ref=${form} noValidate onInput=${changed} onSubmit=${submit}>
    <div class="scroller beside"><div class="grid">
      ${draft.kept && html`<p class="note row wide" role="status">${t('draft.kept')} <button type="button" class="button quiet small" data-act="anew" onClick=${() => start(given)}>${t('draft.anew')}</button></p>`}
      ${templates.length > 0 && html`<${Field} name="from" label=${t('template.from')} class="wide">
        <div class="row"><select id="f-from" onChange=${choose}>
          <option value="">${t('template.none')}</option>
          ${templates.map((/** @type {any} */ one) => html`<option value=${one.id} selected=${one.id === from.template}>${one.name} · ${shopName(one.voucher.shopId, one.shopName, t)}</option>`)}
        </select>
        ${chosen && html`<button type="button" class="button danger small" data-act="delete-template" onClick=${() => onDelete(chosen)}>${t('template.delete')}</button>`}</div>
      <//>`}
      <${Said} text=${deleted} class="wide" />
      <${Part} title=${t('part.what')}>
        ${!voucher && html`<div role="group" aria-label=${t('kind')} class="wide row kinds">
          ${[true, false].map((one) => html`<label class="pick"><input type="radio" name="kind" value=${one ? 'seckill' : 'ordinary'} checked=${seckill === one} onInput=${() => (setSeckill(one), say({}))} /> ${t(one ? 'kind.seckill' : 'kind.ordinary')}</label>`)}
          <p class="field-hint wide" data-kind-says>${t(seckill ? 'kind.seckill.says' : 'kind.ordinary.says')}</p>
        </div>`}
        ${input('title', { value: at.title, kind: 'wide', autofocus: true })}
        ${input('subTitle', { value: at.subTitle, kind: 'wide' })}
        ${pictured && input('picture', { value: at.picture, kind: 'wide', inputmode: 'url', hint: PICTURES.length > 0 && t('form.picture.hint', { hosts: PICTURES }) })}
        ${!voucher && html`
          ${input('payValue', { inputmode: 'decimal', value: inUnit(from.payValue) })}
          ${input('actualValue', { inputmode: 'decimal', value: inUnit(from.actualValue) })}
          <p class="wide ${dear ? 'note warn' : ''}" role="status" data-dear>${dear && t('form.dear')}</p>
          ${!PAYABLE && html`<p class="note warn wide">${t('form.unpayable')}</p>`}
          ${client.shop ? html`<input type="hidden" name="shopId" value=${shop} />` : input('shopId', { inputmode: 'numeric', value: shop })}`}
        <${Field} name="rules" label=${nameOf('rules')} wrong=${wrong.rules} class="wide">
          <textarea ...${tied('rules', wrong.rules)} rows="2" defaultValue=${draft.of('rules', at.rules ?? '')}></textarea>
        <//>
      <//>
      ${(!voucher || seckill) && html`<${Part} title=${t(seckill ? 'part.sale' : 'part.buyer')}>
        ${seckill && html`${time('beginTime', begin)}${time('endTime', end, begun ? '' : t('form.follows'))}`}
        ${!voucher && html`
          ${seckill && input('stock', { inputmode: 'numeric', value: from.stock ?? '' })}
          ${input('perUser', { key: `perUser-${seckill}`, kept: seckill ? 'perUser' : 'perUser.ordinary', inputmode: 'numeric', value: from.perUser ?? (seckill ? '1' : ''), placeholder: seckill ? '' : t('form.perUser.any') })}
          ${seckill && html`<${Pick} name="waitlist" checked=${listed} onInput=${() => setListed(!listed)}>${t('form.waitlist')}<//>
            ${listed && input('inviteWindow', { inputmode: 'decimal', value: (from.waitlistWindowSeconds ?? 600) / 60 })}`}`}
      <//>`}
      ${!voucher && html`<${Part} title=${t('part.after')}>
        ${input('payWithin', { inputmode: 'numeric', value: (from.payWithinSeconds ?? 900) / 60 })}
        ${input('processingWithin', { inputmode: 'numeric', value: from.processingWithinSeconds ? from.processingWithinSeconds / 60 : '', placeholder: t('form.processingWithin.any') })}
        ${REDEEMS && html`<${Pick} name="redeemable" checked=${redeemable} onInput=${() => setRedeemable(!redeemable)}>${t('form.redeemable')}<//>
          ${!redeemable && html`<p class="note wide">${t('form.unredeemable')}</p>`}`}
        ${redeemable && html`${input('validDays', { inputmode: 'numeric', value: from.validDays ?? '' })}${time('validUntil', at.validUntil, t('form.forever'))}`}
      <//>`}
      ${seckill && !voucher && html`<details class="part wide" open=${Boolean(from.guards)}><summary>${t('guards')}</summary>
        <${GuardFields} settings=${from.guards} draft=${draft} wrong=${wrong} words=${words} client=${client} /></details>`}
      ${hidden && html`<details class="part wide" open=${Boolean(at.visibleFrom)}><summary>${t('part.advanced')}</summary><div class="grid">
        ${time('visibleFrom')}
        ${!voucher && seckill && !client.shop && input('partition', { inputmode: 'numeric', placeholder: t('form.partition.any') })}
        ${!voucher && input('template', { kind: 'wide', maxlength: 64 })}
      </div></details>`}
      ${(!voucher || seckill) && html`<p class="soft wide">${t(voucher ? 'edit.note' : 'create.note')}</p>`}
    </div>
    <${Preview} form=${form.current} voucher=${voucher} words=${words} now=${now} /></div>
    <div class="foot">
      <${Wrong} of=${problem} />
      <div class="row end">
        <button type="button" class="button quiet" data-act="cancel" onClick=${cancel}>${t('cancel')}</button>
        <button class="button primary" data-act="save" aria-disabled=${String(sending)}>${sending && html`<span class="spinner" aria-hidden="true"></span>`}${t(voucher ? 'save' : 'create.it')}</button>
      </div>
    </div>
    </form>
  <//>`;
}

/** Asks before what was typed is thrown away. @param {any} props */
export function Discard({ t, run, onClose }) {
  return html`<${Ask} id="ask-title" title=${t('discard.ask')} says=${t('discard.says')} yes=${t('discard.yes')} keep=${t('discard.keep')} danger=${true} t=${t} onClose=${onClose} run=${async () => (run(), '')} />`;
}

/** What was done, to be said. @param {any} v the voucher @param {boolean} changed whether it was there before @param {number} now @param {import('../words.js').Words} words */
function said({ type, beginTime, visibleFrom }, changed, now, { t, moment }) {
  if (changed) return t('said.changed');
  if (type === 1 && Date.parse(beginTime) > now) return t('said.created.begins', { time: moment(beginTime) });
  return Date.parse(visibleFrom) > now ? t('said.created.hidden', { time: moment(visibleFrom) }) : t('said.created.now');
}

/** Fields that the form has in other units, with their names in it: euros for cents, minutes for seconds. @type {Record<string, {name: string, size: number, unit: string}>} */
const UNITS = {
  payValue: { name: 'payValue', size: PARTS, unit: 'AMOUNT' }, actualValue: { name: 'actualValue', size: PARTS, unit: 'AMOUNT' },
  payWithinSeconds: { name: 'payWithin', size: 60, unit: 'MINUTES' }, processingWithinSeconds: { name: 'processingWithin', size: 60, unit: 'MINUTES' }, waitlistWindowSeconds: { name: 'inviteWindow', size: 60, unit: 'MINUTES' },
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

/**
 * The window without the times that were not changed: the form shows them to the second only.
 * @param {any} window @param {any} voucher
 */
function unmoved(window, voucher) {
  return Object.fromEntries(Object.entries(window).filter(([name, time]) => time === undefined || local(/** @type {any} */ (time)) !== local(voucher[name])));
}
