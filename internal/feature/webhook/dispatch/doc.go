// Package dispatch notifies other programs of changes of orders and of waiting lists: it sends signed HTTP requests, as
// Standard Webhooks describes them, to endpoints that admins create. An endpoint takes an event by answering with a
// status of 200 to 299.
//
// # What is authoritative
//
// The ledger is authoritative. An event is a row that the transaction which changes the order writes, so each committed
// change has an event and no other change has one. Events are only written if an endpoint of the order's shop exists.
// An event carries the order's whole state and the order's own number ([seckill/internal/order.Order.Number]), by which
// a receiver that gets two events in the wrong order can see that.
//
//	a change of an order ─► row without a number
//	                          │ numbered in the order of commits
//	                          ▼
//	                        row with a number ─► Deliverer: endpoint.Next … ─► taken
//	                                               │ failed
//	                                               ▼
//	                                             Retry of the order ─► taken
//	                                               │ nine attempts
//	                                               ▼
//	                                             DeadLetter, and the order's next event
//
// A row gets its id before the commit, so a reader that remembers the highest id would miss rows that commit late.
// Therefore events are numbered after their commit, in a transaction that has locked the last number: a reader that
// sees a number sees all lower ones, and an endpoint's position is a single number.
//
// # What is promised
//
// Each event is sent at least once, always under the same webhook-id. Events of one order are sent one after the
// other, in their sequence: while an event is not taken, the order's later events wait, and other orders go on. Events
// of different orders have no guaranteed sequence. All of this holds for a place on a waiting list too: it counts as an
// order with an id below 0 ([PlaceID.Key]). After a replay, or when a process freezes for longer than its lease, an
// older state of an order may come after a newer one, which then comes again.
//
// # What can go wrong
//
//	the process dies after the answer, before it is settled   another sends the event again, under the same webhook-id
//	the process freezes with a lease                          another takes over after a minute; the results of the
//	                                                          first one are refused
//	an event is not taken                                     tried again nine times within about eight hours, then a
//	                                                          dead letter, which an admin replays
//	the endpoint takes nothing, ten times in a row            the breaker opens: one attempt at a time, a minute
//	                                                          apart at most, with a failed event and a new event in
//	                                                          turn, and no attempt counts against its event
//	the endpoint answers 410, or fails for five days          it is disabled; when an admin enables it, it goes on
//	it fails for five days, with nothing newer to be sent     attempts count again, and end in dead letters
//	an endpoint is slow                                       others have lanes of their own; at most 16 endpoints
//	                                                          share an instance
//	the ledger is away                                        nothing is sent; later, sending goes on where it was
//
// Webhooks never delay a purchase: a deliverer makes at most two calls to the ledger at once, in the class of
// background jobs.
package dispatch
