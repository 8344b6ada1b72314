package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"seckill/internal/httpload"
)

const (
	reservedFiles = 550 // file descriptors for everything except the many connections: the service keeps 500
	// portsEach is how many connections use one local address: the system has about 28,000 ports per address, and takes
	// long to find the last ones.
	portsEach = 10_000
)

// MaxConnections returns how many of the wanted connections this process, and a server with the same limit of open
// files, can have; and that limit.
func MaxConnections(wanted int) (connections int, limit uint64) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur < 2*reservedFiles {
		return min(wanted, 256), files.Cur
	}
	return int(min(uint64(wanted), files.Cur-reservedFiles)), files.Cur
}

// Dial opens one of very many connections to a server, by its number. The connections use as many local addresses as
// they need ports. No operation on it may take longer than a minute.
func Dial(ctx context.Context, addr string, number int) (*httpload.Conn, error) {
	conn, err := connection(addr)
	if err != nil {
		return nil, err
	}
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+number/portsEach))}
	err = conn.Connect(ctx, &net.Dialer{LocalAddr: from, Control: bindLater, Timeout: patience})
	return conn, err
}

// patience is longer than any answer takes.
const patience = time.Minute

// connection returns a connection to a server, not connected yet.
func connection(addr string) (*httpload.Conn, error) {
	return httpload.New(&url.URL{Scheme: "http", Host: addr}, patience)
}

// Purchase returns a user's request for a voucher; the query follows the path, including its question mark.
func Purchase(voucher int64, query, token string) httpload.Request {
	return httpload.Request{Method: http.MethodPost, Path: path("", voucher, query), Token: token}
}

func path(route string, voucher int64, query string) string {
	return fmt.Sprintf("%s%d%s", cmp.Or(route, "/voucher/seckill/"), voucher, query)
}

// Ask sends a request and returns the status of its answer. For a status that is neither want nor other it returns an
// error that quotes the body.
func Ask(ctx context.Context, conn *httpload.Conn, r httpload.Request, want, other int) (int, error) {
	a, err := conn.Do(ctx, r)
	if err == nil && a.Status != want && a.Status != other {
		err = fmt.Errorf("answered %d: %.300s", a.Status, a.Body)
	}
	return a.Status, err
}

// bindLater makes the system choose a connection's port only when it connects: only then can connections from different
// addresses share a port, and the choice is fast.
func bindLater(_, _ string, c syscall.RawConn) error {
	const ipBindAddressNoPort = 24 // Linux; package syscall has no name for it
	var serr error
	err := c.Control(func(fd uintptr) {
		serr = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1)
	})
	return errors.Join(err, serr)
}
