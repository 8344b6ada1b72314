package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	tellTimeout = 10 * time.Second
	maxAnswer   = 4 << 10 // bytes of the service's answer that are read
)

// Teller sends notices to the service. It is safe for concurrent use.
type Teller struct {
	to     string
	key    *standardwebhooks.Webhook
	client *http.Client
	now    func() time.Time
}

// NewTeller returns a Teller that sends to an address, signed with a secret that the settings have checked.
func NewTeller(to, secret string, now func() time.Time) (*Teller, error) {
	key, err := standardwebhooks.NewWebhook(secret)
	return &Teller{to, key, &http.Client{
		Timeout:       tellTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, now}, err
}

// RefusalError says that the service did not take a notice.
type RefusalError struct {
	Status int
	Text   string // the beginning of its answer
}

// Error implements error.
func (e *RefusalError) Error() string {
	return fmt.Sprintf("the service answers %d: %s", e.Status, e.Text)
}

// Final reports whether sending the notice again is useless: the service does not know the payment, or the amount
// cannot be one of it. It alerts its staff itself.
func (e *RefusalError) Final() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusConflict
}

// Tell sends a notice once, and returns nil when the service has taken it. Errors: *RefusalError, or why there was no
// answer.
func (t *Teller) Tell(ctx context.Context, n Notice) error {
	now := t.now()
	body, err := json.Marshal(struct {
		Type string     `json:"type"`
		At   time.Time  `json:"timestamp"`
		Data NoticeData `json:"data"`
	}{n.Type, now.UTC().Truncate(time.Millisecond), n.Data})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signature, err := t.key.Sign(n.ID, now, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(standardwebhooks.HeaderWebhookID, n.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	res, err := t.client.Do(req)
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return &RefusalError{res.StatusCode, string(text)}
	}
	return nil
}
