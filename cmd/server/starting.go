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

// startingStop is how long requests that came before the start was complete may take to end.
const startingStop = 5 * time.Second

// lobby answers at the public address until the service can, so that supervisors see that the process lives.
type lobby struct {
	server *http.Server
	socket *net.TCPListener
	ended  chan struct{} // once nothing accepts from the socket any more
}

// openLobby takes the address and answers there.
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
		_ = l.server.Serve(lent{tcp}) // its end is close's
	}()
	return l, nil
}

// leave ends the answers and returns the socket, with the connections that nobody has accepted yet.
func (l *lobby) leave(ctx context.Context) (net.Listener, error) {
	if err := l.socket.SetDeadline(time.Now()); err != nil { // ends the Accept that waits
		return nil, err
	}
	<-l.ended
	ctx, cancel := context.WithTimeout(ctx, startingStop)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // cuts off who sends slowly
	}
	return l.socket, l.socket.SetDeadline(time.Time{})
}

// close ends everything at once. The socket is closed with it.
func (l *lobby) close() {
	_ = l.server.Close() // nothing is left that the errors could tell
	_ = l.socket.Close()
}

// lent is a socket that its server does not close, and whose Accept fails for good once a deadline has passed.
type lent struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l lent) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		return nil, http.ErrServerClosed // any other would be tried again
	}
	return c, err
}

// Close implements net.Listener.
func (lent) Close() error { return nil }
