// Package timeline counts how requests for sales were answered, and how fast, second by second, and keeps the counts
// for good.
//
//	StatsFlusher ──► Timeline.Add ──► one minute of one sale, in memory ──► every 5 s: written
//	                                                                                  │
//	                                                                                  ▼
//	                                                                           tb_sale_minute
//
// Each instance writes rows of its own: one row for each sale and minute with requests. It writes a row whole each
// time, and an older row never replaces a newer one, so writing it twice changes nothing. An instance writes at most
// 1,440 rows a day for each sale, and none without requests. Seconds are those of the instance's clock.
//
// What can go wrong, and what then happens:
//
//	the process dies              at most five seconds of this instance's counts are missing
//	the ledger hangs or is away   purchases do not notice; minutes stay in memory and are written later; beyond 2,048
//	                              minutes the oldest are lost, which is logged
//	the reply to a write is lost  it is written again, with the same result
//	two instances, one sale       each has its rows; readers add them up, durations too (package histogram)
//	a row without durations       an older version wrote it; readers show no p99 for its time
//	a row cannot be read          readers leave it out
package timeline
