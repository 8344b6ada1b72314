// Package redisstore has all data of vouchers and orders in Redis: the sales that admit buyers, their holders, the
// streams of accepted orders, and the consumers that record them. Store and Consumer implement the store interfaces of
// the packages voucher, order, admission, recorder, recovery, outbox and audit; Counter is idworker's.
//
// The ledger (MySQL) is authoritative. Redis decides quickly who gets in, and all its data can be rebuilt from the
// ledger, except accepted orders that still wait in a stream: because of them, a Redis that buyers rely on must write
// an append-only file.
//
//	Store.Admit ──► seckill.lua ──► sale (stock - 1), buyers (user → order), stream (the order)
//	                                                                           │
//	                     Consumer.Next / Own / Orphans ◄───────────────────────┘
//	                               │ recorded in the ledger
//	                     Consumer.Acknowledge               Store.Correct: the ledger decided otherwise
//
//	Store.Apply                                 the ledger's numbered operations, each once
//	Store.Begin, SetHolders, Requeue, Publish   a rebuild from the ledger, fenced by its epoch
//	Store.Drop                                  retires a sale that is long over
//
// Every change of more than one key is one Lua script (package scripts, each with its contract), so a process that
// dies leaves nothing half done. What can go wrong, and what then happens:
//
//	A reply is lost           The script may have run. The error does not wrap order.ErrUnavailable; repeating is safe
//	                          except for Add, and the client never retries by itself.
//	Redis refuses             Out of memory, read-only, loading, unreachable: nothing was written, the error wraps
//	                          order.ErrUnavailable.
//	Redis was emptied         Sales read as missing and are rebuilt; the consumer group is created again at the
//	                          stream's beginning, never at its end.
//	Redis has other data      Each partition has a word that names its format and its owner (scripts/format.lua). If
//	                          the word is another version's or another installation's, the partition is left alone,
//	                          and its sales are paused.
//	Redis lost its tail       That is, its latest writes. seckill.lua answers LostTail to a caller that knows a higher
//	                          mark, and stops the sale; apply.lua answers that operations are missing. After a restart
//	                          or a failover, seckill.lua and views.lua do the same with sales that were opened in an
//	                          earlier run of the server.
//	A consumer dies           Its entries are taken over once it has been silent for Options.OrphanAfter.
//	Somebody trims a stream   Orders are gone from it. Delivered ones show as malformed or are logged as errors. All
//	                          their users are still holders: the next rebuild, at the latest before the sale is
//	                          retired, finds a holder without an entry and without a row and queues the order again.
//
// It is one package because all files share the keys, the way in which scripts are run, and the fields of a sale's
// hash. Each file implements the interfaces of one caller.
package redisstore
