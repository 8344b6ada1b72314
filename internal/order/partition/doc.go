// Package partition knows which partitions exist. A partition is a stream with its consumers, dead letters, recovery
// reports and sales, all in one hash slot of a Redis Cluster. With several partitions, several masters share the sales
// (docs/adr/0036-partitions.md).
//
//	tb_setting ──► Set, read every two seconds ──► Each: a recorder, a reporter, … of this instance for each partition
//	                                          └──► All: sums and lists over partitions
//
// The ledger is authoritative. It has a row of tb_setting for each partition; partition 0 always exists, and has a row
// once it was closed. A partition is open; or closed, when it gets no new sales and otherwise works as before; or
// removed for good: its number is never used again. Partition 0 is never removed. Every instance works in all open and
// closed partitions. A sale's partition is in its row and never changes (rule 15).
//
// What can go wrong, and what then happens:
//
//	the ledger is away                     the last known partitions stay; a new one is noticed later
//	an instance does not know a new one    it sends no reporter's heartbeat there, so the partition gets no new sale
//	  yet                                  until it does (Placer)
//	an old instance joins, which will      it is reported (Watcher, server partition list): the partitions that it
//	  never know some partitions           does not know get no new sale until it is replaced
//	a partition's Redis node is away       its sales stop; the others sell on, with the exceptions in ADR 36
//	two instances add the same partition   one row results
//	one is closed during a creation        either the voucher is refused (503), or it is created first, and the
//	                                       partition is closed with it
//	Redis has another format's or          a start is refused before anything is written; running instances leave the
//	  another installation's data in one   partition alone: its sales are paused, and it gets no new ones
//	the open partitions cannot be asked    no voucher is created (503): it must not get into a closed one, not even 0
package partition
