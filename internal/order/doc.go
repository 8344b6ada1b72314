// Package order is one purchase, from the click to the row, in the order in which it happens:
//
//	Desk       buy, wait, look up: what the HTTP side calls
//	Admission  a line in front of each sale; what waits in it travels in one call of scripts/seckill.lua (line.go)
//	           ── the buyer has his answer; the order is in the partition's stream ──
//	Recorder   a consumer of the stream: one transaction per batch, then XACK + XDEL (settlement.go decides about
//	           what cannot simply be inserted)
//	Waitroom   tells those who wait that their order has its row
//	Keeper     keeps Redis holding every sale that the ledger says it should (rebuild.go, retire.go)
//	Lookup     finds an order, recorded or still queued, for its owner
//
// The ledger (MySQL) is authoritative: an order exists for good once its row is committed, and the ledger's stock has
// the last word. Redis decides who gets in, quickly, and can be rebuilt from the ledger and from what it still holds
// itself. The rules that keep the two in step are numbered in docs/architecture.md and cited here by number.
//
// What can go wrong, and what then happens:
//
//	the script's answer is lost      the identical batch is sent once more; what is still open then is ErrUnknownOutcome
//	Redis does not answer at all     those who were sent: ErrUnknownOutcome; those behind them: ErrUnavailable, at once
//	the process dies after the call  the order is in the stream; any instance records it
//	the process dies while recording the entry stays pending and is taken over once the heartbeat has stopped
//	COMMIT's answer is lost          the batch is tried again, and found recorded
//	the ledger is away               admission goes on until the backlog's limit, recording waits
//	the ledger contradicts Redis     the order becomes a failed row with its reason, the sale is rebuilt
//	Redis lost its tail or all       a lower mark than one seen gives it away; the sale stands still until rebuilt
//	an entry cannot be decoded       it becomes a dead letter; the others go on
//
// The package imports no framework; its stores are the interfaces that stand beside their callers.
package order
