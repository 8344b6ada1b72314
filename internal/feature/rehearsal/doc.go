// Package rehearsal plays a sale before its day: on the real instances and stores, with a crowd of simulated buyers, on
// a sale of its own that is removed afterwards.
//
//	Start ──► voucher.CreateBeside ──► a sale like any other, in the shop of rehearsals ──► loadgen buys
//	                                                  │ its window ends, sooner by End
//	                                                  ▼
//	              emptier ◄── retired ◄── the reconciler, a minute after the end
//	                 └──► Remover.EmptyRehearsal: 500 orders in a transaction, and last the voucher
//
// The crowd, loadgen, reports each second, and once more when it has compared all answers with all orders. The ledger
// keeps the reports in a row of tb_rehearsal ([Run]), which is written together with the voucher and stays when the
// sale is gone. The sale does not depend on the row.
//
// A rehearsal is a voucher in voucher.RehearsalShop; nothing else marks it. Its purchases go through the same parts as
// any sale's, because these parts are measured: the script, the stream, the recorder, the connections. These rules keep
// it apart:
//
//   - It has its own keys, rows and units, as every sale has. No list and no sum of sales includes it, and no webhook
//     reports it.
//   - Only users from voucher.FirstRehearsalUser on may buy. For others the voucher does not exist.
//   - No rehearsal starts while a sale runs or begins within the hour, except in the embedded mode. It lasts half an
//     hour at most.
//
// What can go wrong, and what then happens:
//
//	the process that started it dies    its window ends by itself; the instances retire it and remove its rows
//	an instance dies while it empties   another one continues: the voucher is removed last, so that it can be found
//	a store is away                     nothing is removed; the next try comes seconds later
//	the crowd dies, or never comes      the rehearsal ends by itself, without a result
//	the answer to its last report is    it reports again; the first report stays
//	  lost
//	two are started at once             a lock is held while one is checked and created; the second is refused
//	somebody moves its voucher by hand  it is an ordinary sale then, and nothing of it is removed
//	  into another shop
package rehearsal
