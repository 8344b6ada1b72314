package try

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
)

const (
	maxBody = 256 << 10
	kept    = 64 // notices that wait to be looked at; more are answered 503
)

// Inbox takes notices as the service does.
type Inbox struct {
	read func(http.Header) (payment.ReadNotice, error)

	lost    chan noted // answered 503
	taken   chan noted
	refused chan error

	loses atomic.Bool // the next one
}

// noted is a notice that has come.
type noted struct {
	payment.Notice

	id string // its webhook-id; "" for a provider that is not reached over HTTP
}

// NewInbox returns an inbox for notices that the reader reads.
func NewInbox(read func(http.Header) (payment.ReadNotice, error)) *Inbox {
	return &Inbox{
		read: read, lost: make(chan noted, 1), taken: make(chan noted, kept),
		refused: make(chan error, kept),
	}
}

// ServeHTTP implements http.Handler.
func (i *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := i.notice(w, r)
	if err != nil {
		i.refuse(fmt.Errorf("a notice cannot be taken: %w", err))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	to, loses := i.taken, i.loses.Swap(false)
	if loses {
		to = i.lost
	}
	select {
	case to <- noted{n, r.Header.Get(signature.IDHeader)}:
	default:
		loses = true
	}
	if loses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true}`) // the sender sees what is missing
}

// NotFound answers a request to another path than that of notices, and lets the case that waits for one fail by it.
func (i *Inbox) NotFound(w http.ResponseWriter, r *http.Request) {
	i.refuse(fmt.Errorf("something was sent to %s %q, where no notices are taken", r.Method, r.URL.Path))
	http.NotFound(w, r)
}

// refuse keeps why something was refused, for the case that waits.
func (i *Inbox) refuse(err error) {
	select {
	case i.refused <- err:
	default:
	}
}

func (i *Inbox) notice(w http.ResponseWriter, r *http.Request) (payment.Notice, error) {
	read, err := i.read(r.Header)
	if err != nil {
		return payment.Notice{}, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return payment.Notice{}, err
	}
	n, err := read(r.Context(), body, nil)
	if err != nil {
		return payment.Notice{}, err
	}
	return n, n.Check()
}
