package sqlkit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
)

// mysqlDuplicate is the error's number in MySQL and MariaDB if a row with the key exists.
const mysqlDuplicate = 1062

// WriteError translates the error of a transaction that records orders. It may wrap order.ErrConflict,
// order.ErrRejected or order.ErrContended.
func WriteError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case IsDuplicate(err):
		return fmt.Errorf("%s: %w: %w", what, order.ErrConflict, err)
	case IsRejected(err):
		return fmt.Errorf("%s: %w: %w", what, order.ErrRejected, err)
	case IsContended(err):
		return fmt.Errorf("%s: %w: %w", what, order.ErrContended, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// ReadError translates the error of reading. If the database is away or busy, it wraps order.ErrUnavailable, so that
// the caller may retry; a cancellation stays a cancellation.
func ReadError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case IsAway(err):
		return fmt.Errorf("%s: %w: %w", what, order.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// HookError converts the error of a feature's hook. It wraps the error only if the database is busy or unreachable, or
// the caller has given up. From any other error it keeps only the text: a feature's duplicate key must not be taken for
// another order of the user, nor a rejected value for an order that cannot be recorded. The transaction is rolled back,
// and has to be repeated.
func HookError(feature string, err error) error {
	switch {
	case err == nil:
		return nil
	case IsContended(err), IsAway(err), IsReadOnly(err),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("hook of %s: %w", feature, err)
	default:
		return fmt.Errorf("hook of %s: %s", feature, err.Error())
	}
}

// IsContended reports whether the database ended a transaction because of another one: nothing was written, and
// repeating it is likely to help.
func IsContended(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == 1205 || my.Number == 1213 // lock wait, deadlock
	}
	return isBusy(err)
}

// isBusy reports whether SQLite's file is locked by another program.
func isBusy(err error) bool {
	const primary = 0xff // the low byte; the other bytes have details
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&primary == sqlite3.SQLITE_BUSY || lite.Code()&primary == sqlite3.SQLITE_LOCKED)
}

// isFull reports whether SQLite's file can no longer be written.
func isFull(err error) bool {
	const primary = 0xff
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&primary == sqlite3.SQLITE_FULL || lite.Code()&primary == sqlite3.SQLITE_IOERR)
}

// IsDuplicate reports whether err means that a row with the key exists.
func IsDuplicate(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlDuplicate
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
	}
	return false
}

// IsThere reports whether err means that the table, column or key that a statement adds exists already: a process that
// died has executed the statement, or the server still did so after that.
func IsThere(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == 1050 || my.Number == 1060 || my.Number == 1061) // a table, a column, a key
}

// IsRejected reports whether err is about the values of a row, so that repeating the statement cannot help. It returns
// false for errors about the schema (a missing table or column), which fail every order until somebody repairs it.
func IsRejected(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch my.Number {
		case 1048, // a column cannot be null
			1216, 1452, // a foreign key that was added by hand
			1264,       // out of range
			1292, 1366, // not a time, not a number, not text in the column's character set
			1406,       // too long
			1526,       // no partition for the value
			1644,       // a trigger refuses
			1690,       // out of range in an expression
			3819, 4025: // a check, in MySQL and in MariaDB
			return true
		}
		return false
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() {
		case sqlite3.SQLITE_CONSTRAINT_CHECK, sqlite3.SQLITE_CONSTRAINT_NOTNULL, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
			sqlite3.SQLITE_CONSTRAINT_TRIGGER, sqlite3.SQLITE_CONSTRAINT_DATATYPE, sqlite3.SQLITE_TOOBIG:
			return true
		}
	}
	return false
}

// IsReadOnly reports whether err means that a MySQL server is read-only: a replica, or a former primary.
func IsReadOnly(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == 1290 || my.Number == 1792 || my.Number == 1836)
}

// IsAway reports whether err means that the database cannot answer right now.
func IsAway(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if errors.Is(err, bulkhead.ErrFull) {
		return true
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch my.Number {
		case 1040, 1203, // too many connections
			1047, 1180, // a node of a Galera cluster without the majority, or one that is joining; its COMMIT failed
			1021, 1114, // disk full
			1053, 1077, 1079, // shutting down
			1205, 1213, // lock wait, deadlock
			1290, 1836, // read-only
			1317, 1927, // killed
			1037, 1038, 1041: // out of memory
			return true
		}
		return false
	}
	_, network := errors.AsType[net.Error](err) // refused, reset, timed out
	return network || isBusy(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}
