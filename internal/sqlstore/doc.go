// Package sqlstore is the ledger: all SQL of vouchers and orders, for MySQL (8.4, MariaDB 10.11, and what speaks their
// protocol) and, in the embedded mode, for SQLite. It implements voucher.Ledger, order.Ledger, order.SaleLedger and
// order.Rows with GORM, which nothing outside this package sees.
//
// What is committed here has the last word. Redis decides who gets in and is rebuilt from these tables.
//
//	tb_voucher ─── tb_seckill_voucher        what is sold; the sale: stock, window, epoch (the hot row)
//	                    │ stock = stock - n WHERE stock >= n AND epoch = ?
//	               tb_voucher_order          one row for each order, never deleted; one live order per user and sale
//	               tb_order_collision        claims whose id was taken, and the failed order written instead
//	               tb_voucher_operation      units given back, numbered for each voucher, until Redis has them too
//	               tb_setting                what all instances agree on
//
// A batch of orders is one transaction: the rows, sorted by id, and last the stock of each sale, sorted by voucher,
// because every batch wants that row. Whatever fails rolls all of it back.
//
//	what goes wrong                                    what the caller gets
//	a row exists, stock too low, another epoch         order.ErrConflict; nothing was written
//	a value that no repetition makes fit               order.ErrRejected; nothing was written
//	connection lost before COMMIT, lock wait (1205),   another error; nothing was written
//	  deadlock (1213), read-only, disk full
//	the reply to COMMIT is lost                        the same kind of error, and the rows are there: an error that is
//	                                                   neither of the two above never says that nothing was written
//	the process dies at any point                      all of the batch or none of it
//
// Reading while the database is away returns order.ErrUnavailable.
//
// The two dialects share every statement. SQLite has no row locks; there a transaction takes the file's one write lock
// when it begins, which is stronger.
package sqlstore
