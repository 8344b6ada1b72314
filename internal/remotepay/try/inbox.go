package try

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"seckill/internal/order/payment"
)

const (
	maxBody = 256 << 10
	kept    = 64 // notices that wait to be looked at; more are answered 503
)

// Inbox takes notices as the service does.
type Inbox struct {
	read func(http.Header) (payment.ReadNotice, error)

	lost    chan payment.Notice // answered 503
	taken   chan payment.Notice
	refused chan error

	mu    sync.Mutex
	loses bool // the next one
}

// NewInbox returns an inbox for notices that the reader reads.
func NewInbox(read func(http.Header) (payment.ReadNotice, error)) *Inbox {
	return &Inbox{
		read: read, lost: make(chan payment.Notice, 1), taken: make(chan payment.Notice, kept),
		refused: make(chan error, kept),
	}
}

func (i *Inbox) loseNext() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.loses = true
}

// ServeHTTP implements http.Handler.
func (i *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := i.notice(w, r)
	if err != nil {
		select {
		case i.refused <- fmt.Errorf("a notice cannot be taken: %w", err):
		default:
		}
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	i.mu.Lock()
	loses := i.loses
	i.loses = false
	i.mu.Unlock()
	to := i.taken
	if loses {
		to = i.lost
	}
	select {
	case to <- n:
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
