package sqlkit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
		{my(1045), other, false}, // access denied
		{my(1053), other, true},
		{my(1054), other, false}, // no such column
		{my(1064), other, false}, // syntax
		{my(1142), other, false}, // no right to
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
		{context.DeadlineExceeded, other, false},
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
