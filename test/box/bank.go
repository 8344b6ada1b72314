package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"seckill/internal/testkit/child"
)

// bankEnv is the environment variable with the address of a server's [Bank].
const bankEnv = "BANK_URL"

// Bank stands for the payment provider where money goes back: servers that use it ask it over HTTP instead of the
// sandbox, which takes every refund. It is safe for concurrent use.
type Bank struct {
	at *httptest.Server

	mu       sync.Mutex
	hangs    chan struct{} // closed when it answers again; nil: it answers
	refuses  bool          // one payment in fifty
	refusals int
	refunded map[string]int64 // payment → cents
}

// NewBank starts a bank that refuses the refunds of one payment in fifty.
func NewBank(tb testing.TB) *Bank {
	tb.Helper()
	b := &Bank{refuses: true, refunded: map[string]int64{}}
	b.at = httptest.NewServer(http.HandlerFunc(b.refund))
	tb.Cleanup(b.at.Close)
	return b
}

// refund answers a request to send a payment's money back. Repeating it sends nothing twice.
func (b *Bank) refund(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Payment string `json:"payment"`
		Cents   int64  `json:"cents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	hangs := b.hangs
	b.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-r.Context().Done():
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses && b.Refuses(asked.Payment) {
		b.refusals++
		http.Error(w, "refused", http.StatusUnprocessableEntity)
		return
	}
	b.refunded[asked.Payment] = asked.Cents
	w.WriteHeader(http.StatusOK)
}

// Refuses reports whether the payment is one of those that the bank refuses until it relents.
func (*Bank) Refuses(payment string) bool {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(payment)) // it never fails
	return sum.Sum32()%50 == 0
}

// Hang lets the bank answer nothing until the function that it returns is called.
func (b *Bank) Hang() (answer func()) {
	hangs := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = hangs
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.hangs = nil
		close(hangs)
	})
}

// Relent lets the bank take the refunds that it has refused. It returns how often it has refused one.
func (b *Bank) Relent() (refusals int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses = false
	return b.refusals
}

// Refunded returns the payments whose money the bank has sent back, in cents.
func (b *Bank) Refunded() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.refunded)
}

// RefundsAt lets the server ask the bank to send money back, from its next start on.
func (s *Server) RefundsAt(tb testing.TB, b *Bank) {
	tb.Helper()
	path, err := bankBinary()
	if err != nil {
		tb.Fatal(err)
	}
	s.Binary, s.Settings[bankEnv] = path, b.at.URL
}

// bankBinary builds the server with a sandbox whose refunds a bank decides.
//
//nolint:gochecknoglobals // testing passes nothing from TestMain to tests
var bankBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "seckill-bank-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // after the build has read it
	list, err := bankOverlay(dir)
	if err != nil {
		return "", fmt.Errorf("a server with a bank: %w", err)
	}
	return buildServer("server-bank", "-overlay", list)
})

// The refund of the sandbox, and what asks the bank first.
const (
	refundBegins = "func (p *Provider) Refund(ctx context.Context, pay payment.Payment, r payment.Refund) " +
		"(payment.Outcome, error) {\n"
	asksBank = refundBegins +
		"	if err := askBank(ctx, r); err != nil {\n		return payment.Outcome{}, err\n	}\n"
)

// bankClient is an additional file of package sandbox.
const bankClient = `package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"seckill/internal/order/payment"
)

func askBank(ctx context.Context, refund payment.Refund) error {
	body, err := json.Marshal(map[string]any{"payment": refund.PaymentID, "cents": refund.Amount})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("` + bankEnv + `"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the bank answers %d", res.StatusCode)
	}
	return nil
}
`

// bankOverlay writes the changed files of package sandbox into dir, and returns the overlay file for the build.
func bankOverlay(dir string) (string, error) {
	root, err := child.Root(context.Background())
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "internal", "sandbox")
	text, err := os.ReadFile(filepath.Join(source, "provider.go"))
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(refundBegins)) != 1 {
		return "", fmt.Errorf("the sandbox of %s does not say %q once", source, refundBegins)
	}
	changed, added, list := filepath.Join(dir, "provider.go"), filepath.Join(dir, "bank.go"),
		filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(source, "provider.go"): changed, filepath.Join(source, "bank.go"): added,
	}})
	return list, errors.Join(err,
		os.WriteFile(changed, bytes.Replace(text, []byte(refundBegins), []byte(asksBank), 1), 0o600),
		os.WriteFile(added, []byte(bankClient), 0o600), os.WriteFile(list, overlay, 0o600))
}
