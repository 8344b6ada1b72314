// Package rehearsal plays a sale before its day: on the real instances and stores, with a crowd of made-up buyers, on
// a sale of its own that is removed afterwards.
//
//	Start ──► voucher.CreateRehearsal ──► a sale like any other, in the shop of rehearsals ──► loadgen buys
//	                                                    │ its window ends, sooner by End
//	                                                    ▼
//	              Emptier ◄── retired ◄── the reconciler, a minute after the end
//	                 └──► Ledger.EmptyRehearsal: 500 orders in a transaction, and last the voucher
//
// Its crowd, loadgen, reports each second and when it has compared everything: a row of tb_rehearsal ([Run]), written
// together with the voucher, keeps that when the sale is gone. The row decides nothing.
//
// A rehearsal is a voucher in voucher.RehearsalShop; nothing else marks it. It goes the way of every sale, because
// that is what is to be measured: the script, the stream, the recorder, the connections. What keeps it apart:
//
//   - it has keys, rows and units of its own, as every sale has; no list and no sum of sales has it, and no webhook
//     tells of it
//   - only users from voucher.FirstRehearsalUser on may buy; for others there is no such voucher
//   - none starts while a sale runs or begins within the hour, but in the embedded mode, and one lasts half an hour
//     at most
//
// What can go wrong, and what then happens:
//
//	the process that started it dies    its window ends by itself; the instances retire it and remove its rows
//	an instance dies while it empties   another goes on: the voucher goes last, so it is found until all is gone
//	a store is away                     nothing is removed; the next try comes seconds later
//	the crowd dies, or never comes      the rehearsal ends by itself, without a result
//	its last report's answer is lost    it reports again; the first one stays
//	two are started at once             a lock lets one look and create at a time; the second is refused
//	a rehearsal's row was moved by hand into another shop: it is an ordinary sale then, and nothing of it is removed
package rehearsal
