// A worker that solves one challenge: it searches the counter whose key begins with keyPrefix (ALTCHA's proof of work v2,
// algorithm SCRYPT). It has its own scrypt, because browsers offer none, and crypto.subtle only to pages that came over TLS.

const K = new Uint32Array(64);
const H0 = new Uint32Array(8);
// The constants of SHA-256 are the fractional parts of roots of primes.
(() => {
  const frac = (/** @type {number} */ x) => Math.floor((x - Math.floor(x)) * 2 ** 32);
  for (let n = 0, candidate = 2; n < 64; candidate++) {
    let prime = true;
    for (let d = 2; d * d <= candidate; d++) if (candidate % d === 0) prime = false;
    if (!prime) continue;
    if (n < 8) H0[n] = frac(Math.sqrt(candidate));
    K[n++] = frac(Math.cbrt(candidate));
  }
})();

const W = new Uint32Array(64);

/** Mixes one block of 64 bytes into the state. @param {Uint32Array} h @param {Uint8Array} m @param {number} at */
function compress(h, m, at) {
  for (let i = 0; i < 16; i++, at += 4) W[i] = (m[at] << 24) | (m[at + 1] << 16) | (m[at + 2] << 8) | m[at + 3];
  for (let i = 16; i < 64; i++) {
    const a = W[i - 15], b = W[i - 2];
    const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    W[i] = (W[i - 16] + s0 + W[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, k] = h;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (k + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    k = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += k;
}

/** @param {Uint8Array} message @returns {Uint8Array} SHA-256 */
function sha256(message) {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  new DataView(padded.buffer).setUint32(padded.length - 4, message.length * 8);
  const h = H0.slice();
  for (let at = 0; at < padded.length; at += 64) compress(h, padded, at);
  const sum = new Uint8Array(32);
  const view = new DataView(sum.buffer);
  h.forEach((word, i) => view.setUint32(4 * i, word));
  return sum;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function join(a, b) {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

/** PBKDF2 with HMAC-SHA-256 and one iteration. @param {Uint8Array} password @param {Uint8Array} salt @param {number} length */
function pbkdf2(password, salt, length) {
  const key = new Uint8Array(64);
  key.set(password.length > 64 ? sha256(password) : password);
  const inner = key.map((b) => b ^ 0x36), outer = key.map((b) => b ^ 0x5c);
  const out = new Uint8Array(Math.ceil(length / 32) * 32);
  const number = new Uint8Array(4);
  for (let i = 1; (i - 1) * 32 < length; i++) {
    new DataView(number.buffer).setUint32(0, i);
    out.set(sha256(join(outer, sha256(join(inner, join(salt, number))))), (i - 1) * 32);
  }
  return out.subarray(0, length);
}

/** Salsa20/8 of the block x, in place. @param {Int32Array} x */
function salsa8(x) {
  let x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
  let x8 = x[8], x9 = x[9], xa = x[10], xb = x[11], xc = x[12], xd = x[13], xe = x[14], xf = x[15], u = 0;
  for (let i = 0; i < 8; i += 2) {
    u = (x0 + xc) | 0; x4 ^= (u << 7) | (u >>> 25);
    u = (x4 + x0) | 0; x8 ^= (u << 9) | (u >>> 23);
    u = (x8 + x4) | 0; xc ^= (u << 13) | (u >>> 19);
    u = (xc + x8) | 0; x0 ^= (u << 18) | (u >>> 14);
    u = (x5 + x1) | 0; x9 ^= (u << 7) | (u >>> 25);
    u = (x9 + x5) | 0; xd ^= (u << 9) | (u >>> 23);
    u = (xd + x9) | 0; x1 ^= (u << 13) | (u >>> 19);
    u = (x1 + xd) | 0; x5 ^= (u << 18) | (u >>> 14);
    u = (xa + x6) | 0; xe ^= (u << 7) | (u >>> 25);
    u = (xe + xa) | 0; x2 ^= (u << 9) | (u >>> 23);
    u = (x2 + xe) | 0; x6 ^= (u << 13) | (u >>> 19);
    u = (x6 + x2) | 0; xa ^= (u << 18) | (u >>> 14);
    u = (xf + xb) | 0; x3 ^= (u << 7) | (u >>> 25);
    u = (x3 + xf) | 0; x7 ^= (u << 9) | (u >>> 23);
    u = (x7 + x3) | 0; xb ^= (u << 13) | (u >>> 19);
    u = (xb + x7) | 0; xf ^= (u << 18) | (u >>> 14);
    u = (x0 + x3) | 0; x1 ^= (u << 7) | (u >>> 25);
    u = (x1 + x0) | 0; x2 ^= (u << 9) | (u >>> 23);
    u = (x2 + x1) | 0; x3 ^= (u << 13) | (u >>> 19);
    u = (x3 + x2) | 0; x0 ^= (u << 18) | (u >>> 14);
    u = (x5 + x4) | 0; x6 ^= (u << 7) | (u >>> 25);
    u = (x6 + x5) | 0; x7 ^= (u << 9) | (u >>> 23);
    u = (x7 + x6) | 0; x4 ^= (u << 13) | (u >>> 19);
    u = (x4 + x7) | 0; x5 ^= (u << 18) | (u >>> 14);
    u = (xa + x9) | 0; xb ^= (u << 7) | (u >>> 25);
    u = (xb + xa) | 0; x8 ^= (u << 9) | (u >>> 23);
    u = (x8 + xb) | 0; x9 ^= (u << 13) | (u >>> 19);
    u = (x9 + x8) | 0; xa ^= (u << 18) | (u >>> 14);
    u = (xf + xe) | 0; xc ^= (u << 7) | (u >>> 25);
    u = (xc + xf) | 0; xd ^= (u << 9) | (u >>> 23);
    u = (xd + xc) | 0; xe ^= (u << 13) | (u >>> 19);
    u = (xe + xd) | 0; xf ^= (u << 18) | (u >>> 14);
  }
  x[0] += x0; x[1] += x1; x[2] += x2; x[3] += x3; x[4] += x4; x[5] += x5; x[6] += x6; x[7] += x7;
  x[8] += x8; x[9] += x9; x[10] += xa; x[11] += xb; x[12] += xc; x[13] += xd; x[14] += xe; x[15] += xf;
}

const X = new Int32Array(16);

/** scrypt's BlockMix from b into y. @param {Int32Array} b @param {Int32Array} y @param {number} r */
function blockMix(b, y, r) {
  for (let j = 0; j < 16; j++) X[j] = b[(2 * r - 1) * 16 + j];
  for (let i = 0; i < 2 * r; i++) {
    for (let j = 0; j < 16; j++) X[j] ^= b[i * 16 + j];
    salsa8(X);
    y.set(X, ((i >> 1) + (i & 1) * r) * 16);
  }
}

/** scrypt with p = 1 (RFC 7914). @param {Uint8Array} password @param {Uint8Array} salt @param {number} n @param {number} r @param {number} length */
export function scrypt(password, salt, n, r, length) {
  const bytes = pbkdf2(password, salt, 128 * r);
  const words = 32 * r;
  let b = new Int32Array(words), y = new Int32Array(words);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let i = 0; i < words; i++) b[i] = view.getInt32(4 * i, true);
  const v = new Int32Array(words * n);
  for (let i = 0; i < n; i++) {
    v.set(b, i * words);
    blockMix(b, y, r);
    [b, y] = [y, b];
  }
  for (let i = 0; i < n; i++) {
    const at = (b[words - 16] & (n - 1)) * words;
    for (let k = 0; k < words; k++) b[k] ^= v[at + k];
    blockMix(b, y, r);
    [b, y] = [y, b];
  }
  for (let i = 0; i < words; i++) view.setInt32(4 * i, b[i], true);
  return pbkdf2(password, bytes, length);
}

/** @param {string} text @returns {Uint8Array} the bytes that hexadecimal digits stand for */
const bytesOf = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} bytes */
const hexOf = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');

/**
 * Tries one counter after the other.
 * @param {{algorithm: string, nonce: string, salt: string, cost: number, memoryCost: number, keyLength: number, keyPrefix: string, data?: {difficulty?: number}}} parameters
 * @param {(part: number) => void} progress hears which part of the tries is done at most, from 0 to 1
 * @returns {{counter: number, derivedKey: string}}
 */
export function solve({ algorithm, nonce, salt, cost, memoryCost, keyLength, keyPrefix, data }, progress) {
  if (algorithm !== 'SCRYPT') throw new Error(`unknown algorithm ${algorithm}`);
  const password = new Uint8Array(nonce.length / 2 + 4), saltBytes = bytesOf(salt);
  password.set(bytesOf(nonce));
  const number = new DataView(password.buffer, nonce.length / 2);
  const most = data?.difficulty ?? 64;
  for (let counter = 0; counter < 2 ** 32; counter++) {
    number.setUint32(0, counter);
    const key = hexOf(scrypt(password, saltBytes, cost, memoryCost, keyLength));
    if (key.startsWith(keyPrefix)) return { counter, derivedKey: key };
    progress(Math.min(1, (counter + 1) / most));
  }
  throw new Error('no solution');
}

// As a worker: a challenge comes in, parts done and the solution go out.
if (typeof document === 'undefined' && typeof self !== 'undefined') {
  self.onmessage = ({ data: challenge }) => {
    const began = performance.now();
    try {
      const solution = solve(challenge.parameters, (part) => self.postMessage({ part }));
      self.postMessage({ payload: btoa(JSON.stringify({ challenge, solution: { ...solution, time: performance.now() - began } })) });
    } catch (error) {
      self.postMessage({ error: String(error) });
    }
  };
}
