package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	reservedFiles = 550    // file descriptors for everything but many connections: the service keeps 500
	portsEach     = 10_000 // connections from one address: the system has some 28,000 ports for them, and finds the last ones slowly
)

// MaxConnections is how many of the wanted connections this process, and one with the same limit of open files, can
// have; and that limit.
func MaxConnections(wanted int) (connections int, limit uint64) {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur < 2*reservedFiles {
		return min(wanted, 256), files.Cur
	}
	return int(min(uint64(wanted), files.Cur-reservedFiles)), files.Cur
}

// Dial opens the connection with this number among very many to one server. They come from as many local addresses as
// they need ports. Nothing on it takes longer than a minute.
func (s *Server) Dial(ctx context.Context, number int) (net.Conn, error) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+number/portsEach))}
	conn, err := (&net.Dialer{LocalAddr: from, Control: bindLater}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(time.Minute))
}

// Buy sends one purchase of the server's voucher on a connection; the query stands behind the path, with its question
// mark.
func (s *Server) Buy(conn net.Conn, query string, token []byte) error {
	_, err := fmt.Fprintf(conn, "POST /voucher/seckill/%d%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nAuthorization: Bearer %s\r\n\r\n",
		s.Voucher, query, s.Addr, token)
	return err
}

// bindLater lets the system choose a connection's port when it connects and not before: only then may connections
// from different addresses share one, and the choice is quick.
func bindLater(_, _ string, c syscall.RawConn) error {
	const ipBindAddressNoPort = 24 // Linux; package syscall has no name for it
	var serr error
	err := c.Control(func(fd uintptr) { serr = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1) })
	return errors.Join(err, serr)
}
