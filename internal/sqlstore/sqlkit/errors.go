package sqlkit

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

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
	case errors.Is(err, order.ErrUnknownChange):
		return fmt.Errorf("%s: %w", what, err)
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

// commitError translates the error of a COMMIT. It wraps order.ErrUnknownChange unless the error shows that nothing was
// committed. Most errors do not: a proxy in front of the server has words of its own for a connection that it lost.
func commitError(err error) error {
	if err == nil || IsContended(err) || IsReadOnly(err) || isOutOfSpace(err) || // the server has rolled back
		errors.Is(err, driver.ErrBadConn) || // the COMMIT was not sent
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return fmt.Errorf("%w: %w", order.ErrUnknownChange, err)
}

// ReadError translates the error of a query, or of a transaction that records no orders. If the database is away or
// busy, it wraps order.ErrUnavailable, so that the caller may retry. A cancellation stays a cancellation, and
// order.ErrUnknownChange stays what it is.
func ReadError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case IsAway(err) && !errors.Is(err, order.ErrUnknownChange):
		return fmt.Errorf("%s: %w: %w", what, order.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// Wrapf adds to an error what was being done. No error stays none.
func Wrapf(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), err)
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
	code := primaryCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// primaryCode returns the primary code of SQLite's error: the low byte, without details. It is SQLITE_OK for any other
// error.
func primaryCode(err error) int {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return sqlite3.SQLITE_OK
	}
	return lite.Code() & 0xff
}

// isFull reports whether SQLite's file can no longer be written.
func isFull(err error) bool { return isOutOfSpace(err) || primaryCode(err) == sqlite3.SQLITE_IOERR }

// isOutOfSpace reports whether there is no room to write SQLite's file.
func isOutOfSpace(err error) bool { return primaryCode(err) == sqlite3.SQLITE_FULL }

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

// rejects are the numbers of errors about the values of a row.
var rejects = [...]uint16{
	1048,       // a column cannot be null
	1216, 1452, // a foreign key that was added by hand
	1264,       // out of range
	1292, 1366, // not a time, not a number, not text in the column's character set
	1406,       // too long
	1526,       // no partition for the value
	1644,       // a trigger refuses
	1690,       // out of range in an expression
	3819, 4025, // a check, in MySQL and in MariaDB
}

// IsRejected reports whether err is about the values of a row, so that repeating the statement cannot help. The list is
// closed: an error that is not in it fails no order.
func IsRejected(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(rejects[:], my.Number)
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

// IsAway reports whether err means that the database, or what stands before it, cannot serve right now: everything but
// what is wrong with a statement. Servers, proxies and managed databases have too many errors for a list of those that
// pass.
func IsAway(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bulkhead.ErrFull) {
		return true
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return !isStatements(my)
	}
	if code := primaryCode(err); code != sqlite3.SQLITE_OK {
		switch code {
		case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE,
			sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISUSE:
			return false
		}
		return true
	}
	_, network := errors.AsType[net.Error](err) // refused, reset, timed out
	return network || isDrivers(err) || isTLS(err)
}

// isStatements reports whether an error is about a statement or its values (SQLSTATE classes 22 and 23, and the numbers
// that some servers give no class of their own), or about a schema that is not this program's. Other errors of class 42
// are about rights and limits, which pass.
func isStatements(err *mysql.MySQLError) bool {
	const noTable, noColumn, syntax = 1146, 1054, 1064
	switch state := string(err.SQLState[:]); {
	case strings.HasPrefix(state, "22"), strings.HasPrefix(state, "23"), state == "42S02", state == "42S22":
		return true
	}
	return slices.Contains([]uint16{noTable, noColumn, syntax, mysqlDuplicate}, err.Number) ||
		slices.Contains(rejects[:], err.Number)
}

// isDrivers reports whether the driver could not talk to the server, or was refused while it connected.
func isDrivers(err error) bool {
	return slices.ContainsFunc([]error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, mysql.ErrInvalidConn, mysql.ErrMalformPkt,
		mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrBusyBuffer, mysql.ErrNoTLS, mysql.ErrCleartextPassword,
		mysql.ErrNativePassword, mysql.ErrOldPassword, mysql.ErrUnknownPlugin, mysql.ErrOldProtocol,
	}, func(target error) bool { return errors.Is(err, target) })
}

// isTLS reports whether the server's certificate, or its TLS, is not accepted.
func isTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return certificate || header || alert
}

// quoted is what a server quotes in its errors: users, hosts and tables, which are nobody else's business.
var quoted = regexp.MustCompile("'[^']*'|`[^`]*`")

// Words returns what the database itself said in an error, without what it quotes; "" if it said nothing.
func Words(err error) string {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return quoted.ReplaceAllString(my.Error(), "…")
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return quoted.ReplaceAllString(lite.Error(), "…")
	}
	return ""
}
