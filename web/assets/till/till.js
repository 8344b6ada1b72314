// @ts-check
// The page for tills: a code is typed or scanned, checked, and redeemed. The answer can be read from two metres.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Client, claims } from '../client.js';
import { announce, show } from '../shell.js';
import { Again } from '../sign-in/again.js';
import { Otherwise, PROVIDER_TEXTS, Providers, SignInAgain, end } from '../sign-in.js';
import { PROVIDERS } from '../site.js';
import { preferred } from '../words.js';
import { canScan, scan } from './camera.js';
import { TEXTS } from './texts.js';

const KEPT = 'seckill.till';

// A token that was pasted is of the device; who signs in by a provider does so for as long as the tab is open.
let token = sessionStorage.getItem(KEPT) ?? localStorage.getItem(KEPT) ?? '';
const client = new Client({ token: () => token, language: preferred });
const again = new Again({ get token() { return token; } });

/** What the button in the bar does; the page sets it. @type {{out: () => void, changed: () => void}} */
const account = { out() {}, changed() {} };

/** Takes a token; false for one that is not a till's. @param {string} given */
function signIn(given) {
  given = given.trim().replace(/^bearer\s+/i, '');
  const who = claims(given);
  if (!who?.shop || who.expires <= Date.now()) return false;
  signOut();
  token = given;
  (who.session ? sessionStorage : localStorage).setItem(KEPT, token);
  return true;
}

function signOut() {
  token = '';
  localStorage.removeItem(KEPT);
  sessionStorage.removeItem(KEPT);
}

/** A random key. crypto.randomUUID exists only on pages that came over HTTPS or from this machine. */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');

/** A code as the service reads it, in groups of four. @param {string} text */
const read = (text) => text.normalize('NFKC').toUpperCase().replace(/[^\p{L}\p{Nd}]/gu, '')
  .replaceAll('O', '0').replace(/[IL]/g, '1').replace(/.{4}(?=.)/g, '$&-');

/**
 * What the page shows of a code: tone is good, ready, bad or warn; key is that of the redeem that was begun or may be.
 * @typedef {{says: string, tone: string, code: string, note?: string, values?: any, coupon?: any, key?: string, unknown?: boolean}} Result
 */

/** @param {{words: import('../words.js').Words}} props */
function Page({ words }) {
  const [, changed] = useState(0);
  const [why, setWhy] = useState('');
  account.out = () => (end(client, claims(token)?.session ?? false), signOut(), setWhy(''), account.changed(), changed((/** @type {number} */ n) => n + 1));
  const lost = () => (account.out(), setWhy('signed.out'));
  return token
    ? html`<${Till} words=${words} onLost=${lost} />
      <${SignInAgain} words=${words} again=${again} purpose="till" onToken=${signIn} onOut=${() => account.out()} />`
    : html`<${SignIn} words=${words} why=${why} onSignedIn=${() => (account.changed(), changed((/** @type {number} */ n) => n + 1))} />`;
}

/** @param {any} props */
function SignIn({ words, why, onSignedIn }) {
  const { t } = words;
  const [problem, setProblem] = useState(why);
  /** @param {any} e */
  const submit = (e) => {
    e.preventDefault();
    if (signIn(new FormData(e.target).get('token')?.toString() ?? '')) onSignedIn();
    else {
      setProblem('sign.bad');
      e.target.elements.token.focus();
    }
  };
  return html`<div class="panel stack sign">
    <h1>${t('sign.title')}</h1>
    <${Providers} words=${words} purpose="till" onToken=${(/** @type {string} */ given) => signIn(given) && onSignedIn()} />
    <${Otherwise} words=${words}><form class="stack" onInput=${() => setProblem('')} onSubmit=${submit}>
    <div class="field">
      <label for="token">${t('sign.token')}</label>
      <textarea id="token" name="token" rows="3" required spellcheck="false" autocomplete="off" autocapitalize="off"
        aria-invalid=${String(problem !== '')} aria-describedby="token-hint token-problem"></textarea>
      <p class="field-hint" id="token-hint">${t('sign.hint')}</p>
      <p class="field-problem" id="token-problem" role="alert">${problem && t(problem)}</p>
    </div>
    <button class="button ${PROVIDERS.length ? '' : 'primary'} wide">${t('sign.in')}</button>
    </form><//>
  </div>`;
}

/** @param {any} props */
function Till({ words, onLost }) {
  const { t, has, moment, time, money } = words;
  const [result, setResult] = useState(/** @type {Result | null} */ (null));
  const [asking, setAsking] = useState(''); // what the service is asked to do: validate or redeem
  const [scanning, setScanning] = useState(/** @type {AbortController | null} */ (null));
  const [trouble, setTrouble] = useState('');
  const asked = useRef(/** @type {any} */ (0));
  const input = useRef(/** @type {any} */ (null));
  const video = useRef(/** @type {any} */ (null));
  useEffect(() => input.current?.focus(), []);

  /** What a refusal means, in the largest letters. @param {any} answer @param {string} code @returns {Result} */
  const refused = (answer, code) => {
    const says = has(`says.${answer.code}`) ? `says.${answer.code}` : 'says.failed';
    const { redeemTime, byThisTill } = answer.data ?? {};
    if (answer.code === 'COUPON_REDEEMED' && redeemTime) {
      return { says, tone: 'bad', code, note: byThisTill ? 'note.this' : 'note.other', values: { time: `${moment(redeemTime)}` } };
    }
    return { says, tone: says === 'says.failed' ? 'warn' : 'bad', code, note: says === 'says.failed' ? 'note.failed' : undefined };
  };
  /** @param {Result} r */
  const tell = (r) => {
    setResult(r);
    announce([t(r.says), r.note ? t(r.note, r.values) : ''].join('. '));
  };
  /** The answer; null where it is of no use. @param {string} what @param {any} options */
  const ask = async (what, options) => {
    setAsking(what);
    const mine = ++asked.current, sent = token;
    const post = () => client.insist('POST', `/till/${what}`, options);
    let answer = await post();
    if (answer.status === 401 && (await again.renewed(sent))) answer = await post();
    if (mine !== asked.current) return null; // another code was typed or checked since
    setAsking('');
    if (answer.status !== 401) return answer;
    onLost();
    return null;
  };
  /** @param {string} code */
  const check = async (code) => {
    if (asking === 'redeem' || !code.trim()) return;
    setResult(null);
    const answer = await ask('validate', { body: { code } });
    if (!answer) return;
    tell(answer.success ? { says: 'says.valid', tone: 'ready', note: 'note.valid', code, coupon: answer.data, key: newKey() } : refused(answer, code));
    setTimeout(() => {
      if (answer.success) return void /** @type {any} */ (document.querySelector('[data-act=redeem]'))?.focus();
      input.current?.focus();
      input.current?.select(); // what is typed next takes its place
    });
  };
  /** Redeems, or asks again whether it has: the same key cannot redeem twice. @param {Result} r */
  const redeem = async (r) => {
    if (asking) return;
    const answer = await ask('redeem', { body: { code: r.code }, key: r.key });
    if (!answer) return;
    if (answer.success) {
      tell({ says: 'says.done', tone: 'good', code: r.code, coupon: answer.data, note: answer.data.repeated && r.unknown ? 'note.repeated' : undefined });
    } else if (answer.unknown || answer.status === 0 || answer.status >= 500) {
      tell({ ...r, says: 'says.failed', tone: 'warn', note: 'note.unknown', unknown: true });
    } else tell(refused(answer, r.code));
    setTimeout(() => document.querySelector('[data-act=next], [data-act=again]')?.focus());
  };
  const next = () => {
    setResult(null);
    input.current.value = '';
    input.current.focus();
  };
  /** Another code is typed: what was said of the one before goes, unless its outcome is still to be asked for. */
  const typed = () => {
    setTrouble('');
    if (!result?.unknown) setResult(null);
    if (asking !== 'validate') return;
    asked.current++;
    setAsking('');
  };
  const camera = async () => {
    setTrouble('');
    const stop = new AbortController();
    setScanning(stop);
    try {
      const code = await scan(video.current, stop.signal);
      input.current.value = code;
      setScanning(null);
      input.current.form.requestSubmit(); // as of now: something may have been asked since the camera was turned on
    } catch {
      setScanning(null);
      setTrouble('scan.no');
    }
  };
  useEffect(() => () => scanning?.abort(), [scanning]);
  return html`
    <h1 class="unseen">${t('title')}</h1>
    <form class="panel stack entry" onInput=${typed} onSubmit=${(/** @type {any} */ e) => (e.preventDefault(), check(input.current.value))}>
      <div class="field">
        <label for="code">${t('code')}</label>
        <input ref=${input} id="code" name="code" class="code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40"
          placeholder="0000-0000-0000-0000" aria-invalid=${String(result?.says === 'says.INVALID')} aria-describedby="code-hint" />
        <p class="field-hint" id="code-hint">${t('code.hint')}</p>
      </div>
      <video ref=${video} class="camera" hidden=${!scanning} muted playsinline aria-label=${t('scan.view')}></video>
      ${trouble && html`<p class="note warn" role="alert">${t(trouble)}</p>`}
      <div class="row">
        <button class="button wide ${result?.tone === 'ready' ? '' : 'primary'}" data-act="check" aria-disabled=${String(asking === 'redeem')}>${t(asking && !result ? 'asking' : 'check')}</button>
        ${canScan && !scanning && html`<button type="button" class="button wide" data-act="scan" onClick=${camera}>${t('scan')}</button>`}
        ${scanning && html`<button type="button" class="button wide" onClick=${() => (scanning.abort(), setScanning(null))}>${t('scan.stop')}</button>`}
      </div>
    </form>
    ${result && html`<section class="result ${result.tone}" aria-live="off">
      <p class="says">${t(result.says)}</p>
      ${result.coupon?.title && html`<p class="what">${result.coupon.quantity > 1 && `${result.coupon.quantity} × `}${result.coupon.title} <span>${t('worth', { value: money(result.coupon.actualValue) })}</span></p>`}
      ${result.note && html`<p>${t(result.note, result.values)}</p>`}
      <p class="facts figures">${read(result.code)}${result.coupon?.validUntil && result.tone === 'ready' && html` · ${t('until', { time: moment(result.coupon.validUntil) })}`}${result.coupon?.redeemTime && html` · ${time(result.coupon.redeemTime)}`}</p>
      <div class="row">
        ${result.tone === 'ready' && html`<button type="button" class="button wide act" data-act="redeem" aria-disabled=${String(asking !== '')} onClick=${() => redeem(result)}>${t(asking ? 'asking' : 'redeem')}</button>`}
        ${result.unknown && html`<button type="button" class="button wide act" data-act="again" aria-disabled=${String(asking !== '')} onClick=${() => redeem(result)}>${t(asking ? 'asking' : 'again')}</button>`}
        ${!result.unknown && html`<button type="button" class="button wide" data-act="next" onClick=${next}>${t('next')}</button>`}
      </div>
    </section>`}
  `;
}

/** The button in the bar: which till this is, and signing out. @param {any} props */
function Account({ words: { t } }) {
  const [, changed] = useState(0);
  account.changed = () => changed((/** @type {number} */ n) => n + 1);
  const who = claims(token);
  return token && who && html`
    <span class="soft who">${t('sign.till', { user: who.user, shop: String(who.shop) })}</span>
    <button type="button" class="button quiet account" data-act="account" onClick=${() => account.out()}>${t('sign.out')}</button>
  `;
}

show((words) => html`<${Page} words=${words} />`, { ...TEXTS, ...PROVIDER_TEXTS }, {
  title: 'title',
  home: '/till',
  extra: (words) => html`<${Account} words=${words} />`,
});
