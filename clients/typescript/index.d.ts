import type { components } from './schema.js';

export type { components, operations, paths } from './schema.js';

export type OrderRef = components['schemas']['OrderRef'];
export type Problem = components['schemas']['Problem'];

/** An answer that says no: a document with a stable code. */
export declare class Refusal extends Error {
  readonly status: number;
  /** Stable: SOLD_OUT, NOT_STARTED, … */
  readonly code: string;
  /** The whole document; undefined where a proxy in between has answered. */
  readonly problem?: Problem;
  /** Milliseconds that the service asks to wait before the request is repeated; 0 where it does not say. */
  readonly retryAfter: number;
}

export interface BuyOptions {
  /** Where the service is: https://shop.example.com */
  server: string;
  /** The user's. */
  token: string;
  voucherId: number;
  /** Units; at most the sale's perUser. */
  quantity?: number;
  /** How long the answer may wait for the order to be recorded: "5s". */
  wait?: string;
  /** The ticket, where the sale needs one. */
  ticket?: string;
  /** Of errorMsg: "en", "zh". */
  language?: string;
  /** Ends the tries. Without it they go on until there is an outcome. */
  signal?: AbortSignal;
  fetch?: typeof fetch;
}

/**
 * Presses the button until there is an outcome: an order, also one that the user has had before, or a Refusal such as SOLD_OUT. After 429,
 * 500, 502, 503, 504 and lost answers it waits, as long as the answer asks for or longer each time, and repeats the request, which is
 * harmless: a user gets one order in a sale, and a repeated request is answered with it. What no repetition mends is thrown at once: options
 * that cannot be sent, an answer that names no order, and in Node.js a wrong certificate.
 */
export declare function buy(options: BuyOptions): Promise<OrderRef>;
