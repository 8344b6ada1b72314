// Package partition keeps which partitions there are. A partition is a stream with its consumers, dead letters,
// recovery reports and sales, all in one hash slot of a Redis Cluster: with several, sales lie on several masters
// (docs/adr/0036-partitions.md).
//
//	tb_setting ──► Set, read every two seconds ──► Each: a recorder, a reporter, … of this instance for each partition
//	                                          └──► All: sums and lists over partitions
//
// The ledger is authoritative: a row of tb_setting for each partition; 0 is there from the beginning, and has a row
// once it was closed. A partition is open; closed, when it gets no new sales and works on as before; or removed, for
// good: its number is never used again. Partition 0 is never removed. Every instance works in all that are open or
// closed. Which partition a sale is in stands in its row, and never changes (rule 15).
//
// What can go wrong, and what then happens:
//
//	the ledger is away                     the partitions that were known last; a new one is learned later
//	an instance does not know one yet      it sends no reporter's heartbeat there, so no voucher is placed there
//	                                       (Placer)
//	an instance that does not, joins later it is shown (Watcher, server partition list): no new sale is placed there
//	                                       until it is replaced
//	the Redis node of one is away          its sales stand still; the others sell on, but for what ADR 36 lists
//	two instances add the same one at once one row
//	closed while a voucher is created      the voucher is refused (503), however long ago it was placed; or it is
//	                                       there first, and counts
//	Redis has another format's or          a start is refused, before anything is added; instances that run leave it
//	  another installation's data in one   alone: its sales are paused, and no new one is placed there
//	all but some are closed, and           no voucher is created (503), rather than in a closed one, 0 included
//	  these cannot be asked
package partition
