// Package sqlkit is the ledger's database as its users share it: the core's package sqlstore, and the features, each
// for its own tables. It opens MySQL (8.4, MariaDB 10.11, and what speaks their protocol) and SQLite, divides the
// connections among the classes of callers, runs transactions, and translates errors.
//
// What is committed is authoritative. A transaction that fails has written nothing, unless the reply to COMMIT was
// lost: then the error is none of order.ErrConflict and order.ErrRejected, and the caller finds out by doing it
// again.
//
//	what goes wrong                                    what Write returns
//	no connection free for the class in time           bulkhead.ErrFull; nothing was sent
//	the function fails                                 its error; everything is rolled back
//	deadlock, lock wait                                the database's error; WriteRetry tries again, up to MaxTries
//	                                                   times
//	the server became read-only                        its error; idle connections are closed, new ones find the new
//	                                                   primary
//
// The two dialects share every statement but a few. SQLite has no row locks; there a transaction takes the file's one
// write lock when it begins, which is stronger. Times in rows are the server's (LedgerTime); SQLite has none, and
// there they are this process's.
package sqlkit
