// Package order is one purchase and what becomes of it, in the order in which it happens. From the click to the row:
//
//	Desk       buy, wait, watch, look up: what the HTTP side calls
//	Admission  a line in front of each sale; what waits in it travels in one call of scripts/seckill.lua (line.go). An
//	           instance that knows the winners says "sold out" from memory (soldout.go)
//	           ── the buyer has his answer; the order is in the partition's stream ──
//	Recorder   a consumer of the stream: one transaction per batch, then XACK + XDEL (settlement.go decides about
//	           what cannot simply be inserted)
//	Waitroom   tells those who wait that their order has its row, and those who watch of every change
//	Keeper     keeps Redis holding every sale that the ledger says it should (rebuild.go, retire.go); what others find
//	           wrong is among its Complaints
//	Witness    hands in for a rebuild what this instance has accepted: its Diary
//	DeadLetters  what an operator does about entries that cannot be decoded: lists, replays, discards
//	Auditor    looks, while sales run, whether all units are accounted for (balance.go), and acts on what is proved
//	Lookup     finds an order, recorded or still queued, for its owner (reading.go: many lookups, few queries)
//	Storefront sells ordinary vouchers, which have no sale: straight into the ledger
//
// And from then on, in the ledger, with a line of history for each step:
//
//	Clerk      cancels for the owner, tells an order's history, finds orders for admins
//	Cashier    takes money, by a provider's signed word, and gives it back (refunds.go)
//	Closer     cancels what is not paid for in time; one instance at a time, under a fenced lock
//	Outbox     has Redis follow: applies the numbered operations that such steps have committed, in order and each once
//	           (outbox_round.go)
//
//	  step of an order, or an admin's change ──► one transaction: the change, its history, an operation (pending)
//	    Outbox ──► scripts/apply.lua ──► the operation is settled: applied, or refused when it wanted units and there were none
//
// The states of an order (transition.go) and what leads from one to the next:
//
//	queued ──► unpaid ──pay──► paid ──► redeemed
//	   │         │             │ ▲ └──refund──► refunding ──► refunded, a unit comes back
//	   ▼         │             │ └──revive── a late payment takes a unit again
//	 failed      └─cancel, close──► cancelled, a unit comes back
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
//	Redis lost its tail or all       a lower mark than one seen gives it away, or another run of the server; the sale stands
//	                                 still until rebuilt, also with what instances remember (hearing.go)
//	an entry cannot be decoded       it becomes a dead letter; the others go on
//
//	Redis is away after a cancel     the order is cancelled; its unit is sold again once the outbox gets through
//	an instance dies before it told  the operation is pending; any outbox finds it within a second
//	an operation is applied twice    Redis remembers the last number, the ledger what is no longer pending: once
//	Redis lost operations            the next one leaves a gap, or the sweep finds it behind: the sale is rebuilt
//	a rebuild meets what is pending  what gives is contained in it; what takes is void and asked for anew
//	a cancelled order is replayed    its operation goes first; only what a late admission took goes back besides
//	a notice comes late, or twice    the ledger decides by the payment's state; there is a unit, or the money goes back
//	the provider refuses a refund    it is tried again with growing pauses; the others are not held up
//	two closers think it is theirs   the ledger knows the higher token; the other changes nothing and lets go
//
// The package imports no framework; its stores are the interfaces that stand beside their callers.
package order
