// @ts-check
// The past of a sale for its chart: what the report has of it, what has come since, and what was done meanwhile.

import { useEffect, useState } from '../vendor/htm-preact.js';

/** Milliseconds between two readings of what the instances have written of a sale. */
const EVERY = 30_000;

/** How many entries of the audit trail are read for marks. */
const ENTRIES = '100';

/**
 * The timeline of a report as the chart needs it: [times, refused, accepted, p99], a second each, with nought before, after, and between points
 * that are apart; p99 is null where it is not known. @param {any} report
 */
export function timelineOf(report) {
  const step = report.stepSeconds ?? 1;
  const points = (report.timeline ?? []).map((/** @type {any} */ p) => [Date.parse(p.at) / 1000, total(p.refused ?? {}) / step, p.accepted / step, p.p99Ms ?? null]);
  /** @type {(number | null)[][]} */
  const columns = [[], [], [], []];
  const add = (/** @type {(number | null)[]} */ p) => columns.forEach((c, i) => c.push(p[i]));
  points.forEach((/** @type {number[]} */ p, /** @type {number} */ i) => {
    const before = points[i - 1]?.[0] ?? p[0] - 3 * step; // nought before the first, too
    if (p[0] - before > step) {
      add([before + step, 0, 0, null]);
      if (p[0] - before > 2 * step) add([p[0] - step, 0, 0, null]);
    }
    add(p);
  });
  const last = points.at(-1);
  if (last) add([last[0] + step, 0, 0, null]);
  return columns;
}

/** @param {Record<string, number>} counts */
export const total = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);

/** The past with what was seen since, which the past does not have yet. @param {any[][]} past @param {any[][]} seen */
export function joined(past, seen) {
  const from = seen[0].findIndex((at) => at > (past[0].at(-1) ?? -Infinity));
  return past.map((column, i) => (from < 0 ? column : [...column, ...seen[i].slice(from)]));
}

/** The second in which most were accepted. @param {any[][]} points */
export function peakOf([times, , accepted]) {
  let best = -1;
  accepted.forEach((n, i) => (n ?? 0) > (accepted[best] ?? 0) && (best = i));
  return best < 0 ? null : { at: times[best], rate: Math.round(accepted[best]) };
}

/**
 * The past of a sale, read again now and then while it is watched, and what was done to it.
 * @param {number} id @param {any} client @param {boolean} wanted @param {number} version raised by each action
 */
export function usePast(id, client, wanted, version) {
  const [past, setPast] = useState(/** @type {{points: any[][], p99Ms?: number, soldOutTime?: string, entries: any[]}} */ ({ points: [[], [], [], []], entries: [] }));
  useEffect(() => {
    if (!wanted) return undefined;
    let open = true;
    const read = async () => {
      if (document.hidden) return;
      const [report, trail] = await Promise.all([client.ask('GET', `/admin/voucher/${id}/report`), client.list('/admin/audit', { voucherId: String(id), limit: ENTRIES })]);
      if (!open) return;
      setPast((now) => ({
        ...now, ...(report.success && { points: timelineOf(report.data), p99Ms: report.data.p99Ms, soldOutTime: report.data.soldOutTime }), ...(trail.success && { entries: trail.data }),
      }));
    };
    void read();
    const timer = setInterval(read, EVERY);
    return () => ((open = false), clearInterval(timer));
  }, [id, wanted, version]);
  return past;
}

/** What was done to a sale, oldest first, as marks. @param {{entries: any[], soldOutTime?: string}} past @param {import('../words.js').Words} words */
export function marksOf({ entries, soldOutTime }, { t, number }) {
  const marks = entries.flatMap((e) => {
    const at = Date.parse(e.at) / 1000;
    if (e.action === 'call_off') return [{ at, text: t('state.called_off') }];
    if (e.action === 'pause' || e.action === 'resume') return [{ at, text: t(`action.${e.action}`) }];
    if (e.action === 'stock' && e.outcome === 'done') return [{ at, text: `${e.delta > 0 ? '+' : '−'}${number(Math.abs(e.delta))}` }];
    return [];
  });
  if (soldOutTime) marks.push({ at: Date.parse(soldOutTime) / 1000, text: t('state.sold_out') });
  return marks.sort((a, b) => a.at - b.at);
}
