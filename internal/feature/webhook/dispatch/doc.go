// Package dispatch tells other programs of changes of orders and of waiting lists: signed HTTP requests, as
// Standard Webhooks describes them, to endpoints that admins name.
//
// # What is authoritative
//
// The ledger. An event is a row that the transaction which changes the order writes, so there is one for each change
// that was committed and none for others; only where an endpoint of the order's shop exists. It carries the order's
// whole state and the order's own number ([seckill/internal/order.Order.Number]), so that a receiver which gets two
// in the wrong order can tell.
//
//	a change of an order ─► row without a number
//	                          │ Sequencer: numbers in the order of commits
//	                          ▼
//	                        row with a number ─► Deliverer: endpoint.Next … ─► taken
//	                                               │ failed
//	                                               ▼
//	                                             Retry of the order ─► taken
//	                                               │ nine attempts
//	                                               ▼
//	                                             DeadLetter, and the order's next event
//
// An id is given before the commit, so a reader that remembers the highest id misses what commits late. So events are
// numbered after their commit, in a transaction that has locked the last number: a reader that sees a number sees all
// lower ones, and an endpoint needs to remember one number only.
//
// # What is promised
//
// Each event is sent at least once, always under the same webhook-id. Events of one order are sent one after the
// other, in their order: while one of them is not taken, the later ones wait, and other orders go on. There is no
// order among orders. A place on a waiting list is to all of this an order with an id below 0 ([PlaceID.Key]). After a
// replay, or when a process freezes for longer than its lease, an older state of an order may come
// after a newer one, which then comes again.
//
// # What can go wrong
//
//	the process dies after the answer, before it is settled   another sends it again, under the same webhook-id
//	the process freezes with a lease                          another takes over after a minute; what the first one
//	                                                          settles is refused
//	an event is not taken                                     tried again nine times within about eight hours, then a
//	                                                          dead letter, which an admin replays
//	the endpoint takes nothing, ten times in a row            the breaker opens: one attempt at a time, a minute
//	                                                          apart at most, by turns of an event that has failed
//	                                                          and of one that is new, and no attempt counts against
//	                                                          its event
//	the endpoint answers 410, or fails for five days          it is disabled; an admin enables it, and it goes on
//	it fails for five days, with nothing newer to be sent     attempts count again, and end in dead letters
//	an endpoint is slow                                       others have lanes of their own; at most 16 endpoints
//	                                                          share an instance
//	the ledger is away                                        nothing is sent; it goes on where it was
//
// Webhooks never hold a purchase up: a deliverer asks the ledger two questions at once at most, in the class of
// background jobs.
package dispatch
