package httpapi

import (
	"bytes"
	"fmt"
	"net"
	"net/http"

	"github.com/google/uuid"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
)

// Unread wraps the listener inner. If net/http refuses a request before any handler is called, because it has no Host,
// too large a header or an unknown encoding, the caller gets a problem document instead of net/http's plain text. The
// server must use the returned listener directly.
func Unread(inner net.Listener) net.Listener { return unreadListener{inner} }

type unreadListener struct{ net.Listener }

// Accept implements net.Listener.
func (l unreadListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return unreadConn{c}, nil
}

// unreadConn replaces net/http's answers to requests that it cannot read.
type unreadConn struct{ net.Conn }

// plainRefusal is what follows the status line of net/http's own refusals, which come in one Write. No answer of a
// handler looks like that: it has a Date.
const plainRefusal = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// NetConn returns the connection underneath, as crypto/tls has it.
func (c unreadConn) NetConn() net.Conn { return c.Conn }

// Write implements net.Conn.
func (c unreadConn) Write(b []byte) (int, error) {
	statusLine, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if !bytes.HasPrefix(rest, []byte(plainRefusal[2:])) || !bytes.HasPrefix(statusLine, []byte("HTTP/1.1 ")) {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(unreadAnswer(statusLine[len("HTTP/1.1 "):])); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite closes the sending half of the connection. net/http calls it before it closes a connection with unread
// bytes.
func (c unreadConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// unreadAnswer returns the whole answer to a request that cannot be read. It is in English, since the request's header
// was not read.
func unreadAnswer(refusal []byte) []byte {
	f := httpkit.Failure{
		Code: "INVALID", Status: http.StatusBadRequest, Title: "Invalid request",
		Detail: "The request cannot be read as HTTP.", English: "The request is not valid.",
	}
	switch {
	case bytes.HasPrefix(refusal, []byte("431")):
		f = httpkit.Failure{
			Code: "TOO_LARGE", Status: http.StatusRequestHeaderFieldsTooLarge, Title: "Request too large",
			Detail:  "The request header is larger than this service reads.",
			English: "The request is too large.",
		}
	case bytes.Contains(refusal, []byte("Host header")):
		f.Detail = "The request has no Host header, or one that is not a host (RFC 9112, section 3.2)."
	}
	e := render(f)
	body := e.body(httpkit.ProblemDocument, words.English, nil)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Language: en\r\n"+
		"Cache-Control: no-store\r\n"+
		"X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		f.Status, http.StatusText(f.Status), uuid.NewString(), len(body), body)
}
