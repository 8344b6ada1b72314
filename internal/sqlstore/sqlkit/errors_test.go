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
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
)

func TestErrorTranslation(t *testing.T) {
	t.Parallel()
	my := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "as the server says"} }
	const (
		conflict = "conflict"
		rejected = "rejected"
		other    = "infrastructure"
	)
	for _, test := range []struct {
		err   error
		write string // the error of a batch that fails with it
		away  bool   // whether a reader may retry
	}{
		{my(1062), conflict, false},
		{my(1048), rejected, false},
		{my(1264), rejected, false},
		{my(1292), rejected, false},
		{my(1366), rejected, false},
		{my(1406), rejected, false},
		{my(1452), rejected, false},
		{my(1644), rejected, false},
		{my(1690), rejected, false},
		{my(3819), rejected, false},
		{my(4025), rejected, false},
		{my(1021), other, true}, // disk full
		{my(1114), other, true}, // table full
		{my(1047), other, true}, // no majority
		{my(1180), other, true}, // the same, found by a COMMIT
		{my(1040), other, true},
		{my(1045), other, true}, // access denied
		{my(1053), other, true},
		{my(1054), other, false}, // no such column
		{my(1064), other, false}, // syntax
		{my(1142), other, true},  // no right to
		{my(1146), other, false}, // no such table
		{my(1205), other, true},
		{my(1213), other, true},
		{my(1290), other, true},
		{my(1836), other, true},
		{driver.ErrBadConn, other, true},
		{mysql.ErrInvalidConn, other, true},
		{io.ErrUnexpectedEOF, other, true},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, other, true},
		{context.Canceled, other, false},
		{context.DeadlineExceeded, other, true},
		{errors.New("anything else"), other, false},
	} {
		wrapped := fmt.Errorf("inserting: %w", test.err)
		got := WriteError("recording", wrapped)
		kind := other
		switch {
		case errors.Is(got, order.ErrConflict):
			kind = conflict
		case errors.Is(got, order.ErrRejected):
			kind = rejected
		}
		if kind != test.write || !errors.Is(got, test.err) {
			t.Errorf("writing, %v: %v, want %s", test.err, got, test.write)
		}
		got = ReadError("reading", wrapped)
		if errors.Is(got, order.ErrUnavailable) != test.away || !errors.Is(got, test.err) {
			t.Errorf("reading, %v: %v, want away %v", test.err, got, test.away)
		}
	}
	if err := WriteError("recording", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// What is wrong with a statement, by class or by number, is not away; everything else is.
func TestAwayByClass(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		number uint16
		state  string
		away   bool
	}{
		{1406, "22001", false},
		{1690, "22003", false},
		{9999, "22ABC", false}, // values
		{1062, "23000", false},
		{1451, "23000", false},
		{9999, "23ABC", false}, // constraints
		{1526, "HY000", false},
		{3819, "HY000", false},
		{1644, "45000", false},
		{1366, "HY000", false},
		{1146, "42S02", false},
		{1054, "42S22", false},
		{1064, "42000", false},
		{9999, "42S02", false}, // ours
		{1044, "42000", true},
		{1049, "42000", true},
		{1142, "42000", true},
		{1203, "42000", true},
		{1226, "42000", true},
		{1227, "42000", true},
		{1235, "42000", true},
		{1040, "08004", true},
		{1045, "28000", true},
		{1053, "08S01", true},
		{1213, "40001", true},
		{1317, "70100", true},
		{1792, "25006", true},
		{1114, "HY000", true},
		{2013, "HY000", true},
		{9001, "HY000", true},
		{1105, "0A000", true},
		{65_535, "XX000", true},
		{1927, "", true},
	} {
		my := &mysql.MySQLError{Number: test.number, Message: "Access denied for user 'app'@'10.0.0.9'"}
		copy(my.SQLState[:], test.state)
		err := fmt.Errorf("reading: %w", my)
		if got := IsAway(err); got != test.away {
			t.Errorf("%d (%s): away %v, want away %v", test.number, test.state, got, test.away)
		}
		if said := Words(err); !strings.Contains(said, fmt.Sprint(test.number)) || strings.Contains(said, "10.0.0.9") {
			t.Errorf("%d is said as %q", test.number, said)
		}
	}
	for err, away := range map[error]bool{
		mysql.ErrNoTLS: true, mysql.ErrUnknownPlugin: true, io.EOF: true, &tls.CertificateVerificationError{}: true,
		sql.ErrNoRows: false, errors.New("a defect"): false,
	} {
		if IsAway(err) != away {
			t.Errorf("%v: want away %v", err, away)
		}
	}
}

// Of the errors of a COMMIT, few show that nothing was committed.
func TestCommitError(t *testing.T) {
	t.Parallel()
	my := func(number uint16) error { return &mysql.MySQLError{Number: number} }
	for err, unknown := range map[error]bool{
		my(1213): false, my(1205): false, my(1290): false, my(1792): false, my(1836): false, driver.ErrBadConn: false,
		context.Canceled: false, context.DeadlineExceeded: false, sql.ErrTxDone: false,
		my(1180): true, my(1047): true, my(1053): true, my(1317): true, my(1927): true, my(2013): true, my(9001): true,
		mysql.ErrInvalidConn: true, io.ErrUnexpectedEOF: true, &net.OpError{
			Op:  "read",
			Err: os.ErrDeadlineExceeded,
		}: true,
		errors.New("anything else"): true,
	} {
		got := ReadError("changing", commitError(err))
		if errors.Is(got, order.ErrUnknownChange) != unknown || !errors.Is(got, err) ||
			unknown && errors.Is(got, order.ErrUnavailable) {
			t.Errorf("%v: %v, want unknown %v", err, got, unknown)
		}
		if got := WriteError("recording", commitError(err)); errors.Is(got, order.ErrUnknownChange) != unknown ||
			errors.Is(got, order.ErrRejected) || errors.Is(got, order.ErrConflict) {
			t.Errorf("%v, recording: %v", err, got)
		}
	}
	if err := commitError(nil); err != nil {
		t.Errorf("a commit became %v", err)
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"详细内容", 3, "详细内"},
		{"🎟🎟", 1, "🎟"},
		{"a\xff\xfeb", 9, "a\uFFFDb"},
		{"a\x00b", 9, "a\uFFFDb"},
		{"abc", 0, ""},
	} {
		if got := Truncate(test.in, test.n); got != test.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", test.in, test.n, got, test.want)
		}
	}
}
