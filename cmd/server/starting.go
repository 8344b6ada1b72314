package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"seckill/internal/httpapi"
)

// startingStop bounds requests that came before the start was complete.
const startingStop = 5 * time.Second

// lobby answers at the public address until the service is ready to, so that supervisors see that the process is alive.
type lobby struct {
	server *http.Server
	socket *net.TCPListener
	ended  chan struct{} // closed once the server has stopped accepting from the socket
}

// openLobby opens the address and starts to answer there.
func openLobby(ctx context.Context, setting, addr string) (*lobby, error) {
	socket, err := take(ctx, setting, addr)
	if err != nil {
		return nil, err
	}
	tcp, is := socket.(*net.TCPListener)
	if !is {
		return nil, errors.Join(fmt.Errorf("%s: %T cannot be handed over", setting, socket), socket.Close())
	}
	server, err := httpapi.StartingServer()
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	l := &lobby{server: server, socket: tcp, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		_ = l.server.Serve(lent{tcp}) // close ends it
	}()
	return l, nil
}

// leave stops answering and returns the socket, with the connections that nobody has accepted yet.
func (l *lobby) leave(ctx context.Context) (net.Listener, error) {
	if err := l.socket.SetDeadline(time.Now()); err != nil { // ends the pending Accept
		return nil, err
	}
	<-l.ended
	ctx, cancel := context.WithTimeout(ctx, startingStop)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // cuts off slow senders
	}
	return l.socket, l.socket.SetDeadline(time.Time{})
}

// close ends everything at once, and closes the socket too.
func (l *lobby) close() {
	_ = l.server.Close() // nobody can act on the errors
	_ = l.socket.Close()
}

// lent is a socket that its server cannot close, and whose Accept fails for good once a deadline has passed.
type lent struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l lent) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		return nil, http.ErrServerClosed // the server would retry any other error
	}
	return c, err
}

// Close implements net.Listener.
func (lent) Close() error { return nil }
