// @ts-check
// The buttons by which users sign in by an identity provider, and what comes of it.

import { html, useEffect, useMemo, useState } from '../vendor/htm-preact.js';
import { Dialog, announce } from '../shell.js';
import { preferred } from '../words.js';
import { PROVIDERS } from '../site.js';
import { POSSIBLE, answers, awaitWindow, begin, comeBack, finish, handOver, leave } from './flow.js';

export { end } from './flow.js';
export { PROVIDER_TEXTS } from './texts.js';

/** The answer of a provider with which the browser has come to this page: read once, as the address loses it. */
const back = comeBack();

/** What was pressed before the page was left, with which it goes on. */
export const left = back?.flow?.then;

/** Whether the browser has come here from a provider. */
export const returned = back !== null;

/** The answer may be taken once. */
let pending = back;

/** The provider of a sign-in. @param {import('./flow.js').Flow} flow */
const of = (flow) => PROVIDERS.find((p) => p.issuer === flow.issuer);

/**
 * The buttons of all providers. purpose is what the user signs in for; again: this page stays as it is, and a window is opened; kept is what
 * it goes on with where it cannot stay. @param {any} props
 */
export function Providers({ words: { t }, purpose, again = false, kept, onToken }) {
  const [busy, setBusy] = useState('');
  const [result, setResult] = useState(/** @type {import('./flow.js').Result} */ ({}));
  const [flows, setFlows] = useState(/** @type {import('./flow.js').Flow[]} */ ([]));
  /** @param {import('./flow.js').Flow} flow @param {Record<string, string>} answer */
  const take = async (flow, answer) => {
    setBusy('provider.asking');
    const got = await finish(flow, answer, purpose, preferred);
    setBusy('');
    if (got.token) return onToken(got.token);
    setResult(got);
    announce(got.message || t(got.problem ?? '', { label: of(flow)?.label ?? '' }));
    prepare();
  };
  // Before they are pressed: some browsers open a window only in the moment of a press.
  const prepare = () => POSSIBLE && Promise.all(PROVIDERS.map(begin)).then(setFlows);
  const stop = useMemo(() => new AbortController(), []);
  useEffect(() => {
    prepare();
    if (pending?.flow) take(pending.flow, pending.answer);
    else if (pending) handOver(pending.answer).then((taken) => setResult({ problem: taken ? 'provider.close' : 'provider.stray' }));
    pending = null;
    return () => stop.abort();
  }, []);
  /** Goes to a provider. anyway: also if it does not answer. @param {import('./flow.js').Flow} flow @param {boolean} [anyway] */
  const press = async (flow, anyway = false) => {
    const popup = again ? window.open('about:blank', '_blank', 'popup,width=480,height=680') : null;
    if (again && !popup) return setResult({ problem: 'provider.blocked' });
    setBusy('provider.asking');
    const there = anyway || await answers(/** @type {any} */ (of(flow)));
    setBusy('');
    setResult(there ? {} : { problem: 'provider.away', away: flow.issuer });
    if (!there) return popup?.close(), announce(t('provider.away', { label: of(flow)?.label ?? '' }));
    if (!popup) return leave(flow, kept);
    setBusy('provider.waits');
    prepare();
    take(flow, await awaitWindow(popup, flow, stop.signal));
  };
  const working = busy === 'provider.asking';
  const away = flows.find((flow) => flow.issuer === result.away), label = away && of(away)?.label;
  return html`<div class="stack providers">
    ${!POSSIBLE && html`<p class="note warn">${t('provider.insecure')}</p>`}
    ${POSSIBLE && PROVIDERS.map((p, n) => html`<button type="button" class="button primary wide" data-act="provider" aria-disabled=${String(working || !flows[n])}
      onClick=${() => !working && flows[n] && press(flows[n])}>${working && html`<span class="spinner" aria-hidden="true"></span>`}${t(working ? busy : 'provider.in', { label: p.label })}</button>`)}
    ${busy === 'provider.waits' && html`<p class="soft" role="status">${t(busy)}</p>`}
    ${result.problem && html`<div class="note stack ${result.problem === 'provider.close' ? '' : 'warn'}" role="alert" data-problem=${result.problem}>
      <p>${result.message || t(result.problem, { label: label ?? '' })}</p>
      ${away && html`<div class="row">${['retry', 'anyway'].map((act) => html`<button type="button" class="button small" data-act=${act} onClick=${() => !working && press(away, act === 'anyway')}>${t(`provider.${act}`, { label })}</button>`)}</div>`}
      ${result.forbidden && html`<p>${t('provider.other')}</p>`}
    </div>`}
  </div>`;
}

/** What else signs in, out of sight. @param {any} props */
export function Otherwise({ words: { t }, children }) {
  return html`<details class="otherwise"><summary>${t('provider.token')}</summary>${children}</details>`;
}

/** The dialog of who has to sign in again, over a page that stays. @param {any} props again is the page's Again; onToken gets a token of the same user, onOut is signing out */
export function SignInAgain({ words, again, purpose, onToken, onOut }) {
  const { t } = words;
  const [open, setOpen] = useState(false);
  again.show = setOpen;
  if (!open) return null;
  /** @param {string} token */
  const take = (token) => {
    const same = again.same(token);
    onToken(token);
    if (same) again.end(true);
    else location.reload(); // what stands here is somebody else's
  };
  return html`<${Dialog} title=${t('provider.again')} id="again-title" closeLabel=${t('provider.out')} onClose=${() => (again.end(false), onOut())}>
    <div class="stack">
      <p>${t('provider.again.hint')}</p>
      <${Providers} words=${words} purpose=${purpose} again=${true} onToken=${take} />
    </div>
  <//>`;
}
