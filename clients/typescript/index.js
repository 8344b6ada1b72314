// @ts-check
// A buyer for browsers and Node.js 20 or later, without dependencies. The types are in index.d.ts; schema.d.ts is generated.

const FIRST_PAUSE = 200, LONGEST_PAUSE = 5_000; // milliseconds
/** How long one answer may take; the service bounds its own waits below that. */
const TRY_TIMEOUT = 15_000;
const AGAIN = new Set([429, 500, 502, 503, 504]);
/** What Node.js says of a server whose certificate is wrong; browsers say only that there was no answer. */
const WRONG_CERTIFICATE = /CERT|_TLS_|_SIGNATURE$/;

export class Refusal extends Error {
  /** @param {number} status @param {import('./index.js').Problem | undefined} problem @param {number} retryAfter */
  constructor(status, problem, retryAfter) {
    super(`${status} ${problem?.code ?? 'UNREADABLE'}: ${problem?.errorMsg ?? 'not an answer of the service'}`);
    this.name = 'Refusal';
    this.status = status;
    this.code = problem?.code ?? 'UNREADABLE';
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/** @type {typeof import('./index.js').buy} */
export async function buy(options) {
  const request = requestOf(options);
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    options.signal?.throwIfAborted();
    let least = 0;
    try {
      return await once(options, request);
    } catch (e) {
      options.signal?.throwIfAborted();
      if (e instanceof Refusal ? !AGAIN.has(e.status) : WRONG_CERTIFICATE.test(/** @type {any} */ (e).cause?.code)) throw e;
      if (e instanceof Refusal) least = e.retryAfter;
    }
    // At random up to half as long again: a crowd that was turned away must not come back in the same moment.
    const wait = Math.max(pause, least);
    await sleep(wait + Math.random() * wait / 2, options.signal);
  }
}

/** What is sent each time. It throws where the options cannot be sent: no repetition mends that. @param {import('./index.js').BuyOptions} o */
function requestOf(o) {
  const query = new URLSearchParams();
  if (o.quantity) query.set('quantity', String(o.quantity));
  if (o.wait) query.set('wait', o.wait);
  return new Request(new URL(`/voucher/seckill/${o.voucherId}?${query}`, o.server), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${o.token}`,
      ...(o.ticket && { 'X-Seckill-Ticket': o.ticket }),
      ...(o.language && { 'Accept-Language': o.language }),
    },
  });
}

/** Sends the request once. @param {import('./index.js').BuyOptions} o @param {Request} request @returns {Promise<import('./index.js').OrderRef>} */
async function once(o, request) {
  const late = AbortSignal.timeout(TRY_TIMEOUT);
  const answer = await (o.fetch ?? fetch)(request, { signal: o.signal ? AbortSignal.any([o.signal, late]) : late });
  const text = await answer.text();
  const body = parsed(text);
  if (answer.ok && body?.data?.orderId) return body.data;
  if (body?.code === 'ALREADY_BOUGHT' && body.data?.orderId) return body.data;
  const seconds = Number(answer.headers.get('Retry-After'));
  throw new Refusal(answer.status, body?.code ? body : undefined, seconds > 0 ? seconds * 1000 : 0);
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a proxy's page
  }
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
