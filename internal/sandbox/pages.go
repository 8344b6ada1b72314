package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/text/language"

	"seckill/internal/kit/currency"
	"seckill/internal/order/payment"
)

//go:embed page.html
var pageSource string

const (
	callbackTime  = 2 * time.Second // limit of one try of a callback
	callbackTries = 3
	maxReply      = 4 << 10 // how many bytes of a callback's answer are read
	maxForm       = 4 << 10 // bytes of a form
)

// Pages is where the buyer pays: GET shows the payment, and POST pays it by calling the service back.
type Pages struct {
	provider *Provider
	notices  *Notices
	callback string // URL
	back     string // where the buyer continues
	client   *http.Client
	log      *slog.Logger
	page     *template.Template
	ledger   Ledger
}

// Ledger has what has become of payments.
type Ledger interface {
	Payment(ctx context.Context, id string) (payment.Payment, error)
	// RefundsOf returns the refunds of payments, by payment.
	RefundsOf(ctx context.Context, payments []string) (map[string][]payment.Refund, error)
}

// NewPages returns the provider's pages. callbackURL is the service's own POST /payment/callback; back is where buyers
// continue after paying or deciding not to pay, "" for nowhere. Without a ledger, nil, the page shows neither that a
// payment is paid already nor its refunds.
func NewPages(
	p *Provider, n *Notices, callbackURL, back string, ledger Ledger, client *http.Client, log *slog.Logger,
) *Pages {
	return &Pages{
		provider: p, notices: n, callback: callbackURL, back: back, client: client, log: log, ledger: ledger,
		page: template.Must(template.New("page").Parse(pageSource)),
	}
}

// stage is the buyer's progress.
type stage string

const (
	asking  stage = "asking"  // the button is shown
	paid    stage = "paid"    // the callback succeeded
	told    stage = "told"    // that of another outcome did
	failing stage = "failing" // the callback failed
	unknown stage = "unknown" // not a payment of this provider
)

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sealed := strings.TrimPrefix(r.URL.Path, Path)
	t, err := p.provider.tickets.open(sealed)
	title := p.provider.tickets.openTitle(sealed, r.URL.Query().Get(titleParam))
	switch {
	case err != nil:
		p.show(w, r, http.StatusNotFound, view{Stage: unknown})
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		p.show(w, r, http.StatusOK, p.viewOf(r.Context(), t, title, p.stageOf(r.Context(), t)))
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "GET shows the payment, POST pays it", http.StatusMethodNotAllowed)
	default:
		p.tell(w, r, t, title)
	}
}

// tell tells the service what the button says that was pressed: as a rule that the buyer has paid.
func (p *Pages) tell(w http.ResponseWriter, r *http.Request, t ticket, title string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	n, known := p.outcome(r, t)
	if !known {
		p.show(w, r, http.StatusBadRequest, p.viewOf(r.Context(), t, title, failing))
		return
	}
	if err := p.callBack(r.Context(), n); err != nil {
		p.log.WarnContext(r.Context(), "the sandbox's callback failed", "payment", t.PaymentID, "order",
			t.OrderID, "error", err)
		p.show(w, r, http.StatusBadGateway, p.viewOf(r.Context(), t, title, failing))
		return
	}
	after := told
	if n.Kind == payment.NoticePaid {
		after = paid
		if p.ledger != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
			// A browser's Back would otherwise ask whether to send the form again.
			w.Header().Set("Location", "?"+r.URL.RawQuery) // this page, below whatever path a proxy has it
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	p.show(w, r, http.StatusOK, p.viewOf(r.Context(), t, title, after))
}

// stageOf returns how far the buyer is who opens the page, or comes back to it.
func (p *Pages) stageOf(ctx context.Context, t ticket) stage {
	if p.ledger == nil {
		return asking
	}
	// A payment that cannot be read is asked for again: paying it twice moves no money twice.
	if of, err := p.ledger.Payment(ctx, t.PaymentID); err == nil && of.State != payment.Open {
		return paid
	}
	return asking
}

// processingFor is how long the sandbox needs for money that is under way.
const processingFor = 24 * time.Hour

// outcome returns the notice for the button that was pressed, or false for one that is not on the page.
func (p *Pages) outcome(r *http.Request, t ticket) (n payment.Notice, known bool) {
	n = payment.Notice{PaymentID: t.PaymentID, Amount: t.Amount}
	word, refund, _ := strings.Cut(r.PostFormValue("outcome"), " ")
	if word == "" {
		return n, true // paid
	}
	if state, is := refundStates[word]; is && refund != "" {
		for _, of := range p.refundsOf(r.Context(), t) {
			if of.ID == refund {
				n.Kind, n.Amount = payment.NoticeRefund, of.Amount
				n.Refund, n.Reason = payment.RefundNotice{ID: of.ID, State: state}, "the buyer's bank has sent it back"
				return n, true
			}
		}
		return n, false
	}
	kind := slices.Index(statuses[:], word)
	n.Kind = payment.NoticeKind(max(kind, 0))
	switch n.Kind {
	case payment.NoticeProcessing:
		n.Until = p.notices.now().Add(processingFor)
	case payment.NoticeFailed:
		n.Reason = "the card was refused"
	case payment.NoticeReturned:
		n.Amount = max(1, t.Amount/2) //nolint:mnd // half of it
	default:
	}
	return n, kind >= 0 && n.Kind != payment.NoticeRefund
}

// refundsOf returns the payment's refunds; none if they cannot be read.
func (p *Pages) refundsOf(ctx context.Context, t ticket) []payment.Refund {
	if p.ledger == nil {
		return nil
	}
	found, err := p.ledger.RefundsOf(ctx, []string{t.PaymentID})
	if err != nil {
		p.log.WarnContext(ctx, "the sandbox's page lacks the refunds", "payment", t.PaymentID, "error", err)
	}
	return found[t.PaymentID]
}

// callBack sends the callback to the service, and retries after a temporary failure.
func (p *Pages) callBack(ctx context.Context, n payment.Notice) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, p.callOnce(ctx, n) },
		backoff.WithBackOff(backoff.NewExponentialBackOff()), backoff.WithMaxTries(callbackTries))
	return err
}

func (p *Pages) callOnce(ctx context.Context, n payment.Notice) error {
	body, signature, err := p.notices.Write(n)
	if err != nil {
		return backoff.Permanent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, callbackTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.callback, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(SignatureHeader, signature)
	reply, err := p.client.Do(request)
	if err != nil {
		return err
	}
	text, _ := io.ReadAll(io.LimitReader(reply.Body, maxReply)) // for the error only
	_ = reply.Body.Close()
	if reply.StatusCode >= http.StatusOK && reply.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	err = fmt.Errorf("the callback was answered %d: %s", reply.StatusCode, text)
	if reply.StatusCode < http.StatusInternalServerError && reply.StatusCode != http.StatusTooManyRequests {
		return backoff.Permanent(err) // a retry would not help
	}
	return err
}

// view is the data of the page.
type view struct {
	Chinese bool
	Stage   stage
	Title   string // the voucher's title; "" if unknown
	Amount  string
	OrderID int64
	Back    string
	Refunds []refundView
}

// refundView is a refund on the page, on which somebody decides what becomes of it.
type refundView struct{ ID, Amount, State string }

func (p *Pages) viewOf(ctx context.Context, t ticket, title string, s stage) view {
	v := view{Stage: s, Title: title, OrderID: t.OrderID, Amount: currency.Write(t.Amount, p.provider.currency)}
	for _, r := range p.refundsOf(ctx, t) {
		if r.State == payment.RefundPending || r.State == payment.RefundDone {
			amount := currency.Write(r.Amount, p.provider.currency)
			v.Refunds = append(v.Refunds, refundView{r.ID, amount, r.State.String()})
		}
	}
	return v
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, v view) {
	v.Chinese, v.Back = prefersChinese(r), p.back
	var b bytes.Buffer
	if err := p.page.Execute(&b, v); err != nil {
		p.log.ErrorContext(r.Context(), "failed to render the sandbox's page", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address is a secret between buyer and provider
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = b.WriteTo(w) // if it fails, the caller has gone
	}
}

// languageCookie stores the language that the buyer has chosen on the shop's pages (web/assets/words.js).
const languageCookie = "seckill-language"

// prefersChinese reports whether the buyer has chosen Chinese on the shop's pages or, without a choice, prefers it by
// Accept-Language.
func prefersChinese(r *http.Request) bool {
	if chosen, err := r.Cookie(languageCookie); err == nil && (chosen.Value == "en" || chosen.Value == "zh") {
		return chosen.Value == "zh"
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return false
	}
	_, i, _ := language.NewMatcher([]language.Tag{language.English, language.Chinese}).Match(tags...)
	return i == 1
}
