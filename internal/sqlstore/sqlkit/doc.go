// Package sqlkit has the ledger's database, which the core's package sqlstore and the features share, each for its own
// tables. It opens MySQL (8.4, MariaDB 10.11, and servers that speak their protocol) and SQLite, divides the
// connections among the classes of callers, runs transactions, and translates errors.
//
// Committed rows are authoritative. A transaction that fails has written nothing, unless the reply to COMMIT was lost:
// then the error is neither order.ErrConflict nor order.ErrRejected, and the caller finds out by repeating the
// transaction.
//
//	what goes wrong                                    what Write returns
//	no connection free for the class in time           bulkhead.ErrFull; nothing was sent
//	the function fails                                 its error; everything is rolled back
//	deadlock, lock wait                                the database's error; WriteRetry tries again, up to MaxTries
//	                                                   times
//	the server became read-only                        its error; idle connections are closed, new ones find the new
//	                                                   primary
//
// The two dialects share all but a few statements. SQLite has no row locks; there a transaction takes the file's only
// write lock when it begins, which is stronger. Times in rows are the server's (LedgerTime). SQLite has no server:
// there they are this process's.
package sqlkit
