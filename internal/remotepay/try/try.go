// Package try is the conformance run of payment providers: it plays the service and a buyer, and finds what would lose
// or double money, or leave buyers waiting. The cases know a provider by its Go interface, so that those over HTTP and
// the sandbox are held to the same; those about signatures are for providers over HTTP.
package try

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

// Subject is a provider to try.
type Subject struct {
	Provider service.Provider
	Inbox    *Inbox
	Currency string
	Amount   int64 // of a payment, 100 or more
	// Pay makes a buyer pay, or asks a person to.
	Pay func(ctx context.Context, to service.Checkout) error
	// Alone: Pay needs no person. Only then it is tried on pages that must take no money.
	Alone bool
	// Wait is the most time from then until the notice comes.
	Wait time.Duration
	// Raw sends a call about a payment as Tampered says, and returns its answer; nil: it is not reached over HTTP.
	Raw func(ctx context.Context, t Tampered, of payment.Payment) (Reply, error)
}

// Reply is the answer to a tampered call.
type Reply struct {
	Status int
	State  string // "" if it says none
}

// Tampered is how a call is not as it should be.
type Tampered int8

// The ways.
const (
	Right   Tampered = iota // not tampered with: payment.begin
	Text                    // signed with the secret's text as the key, which is a mistake that is easily made
	Cancel                  // not tampered with: payment.cancel
	Forged                  // signed with another secret
	Old                     // signed ten minutes ago
	NewType                 // of a type that later versions may have
	Members                 // payment.begin with members that later versions may have
)

// Result is what came of a case.
type Result struct {
	Case   string // what was tried
	Err    error  // what is wrong; nil: nothing
	Advice bool   // the service does not need it, but Err would cost money one day
	Took   time.Duration
}

// run is a run of the cases: what one has found out, the next ones use.
type run struct {
	Subject

	first, second payment.Beginning // second is the one that is paid
	cancelled     service.Checkout  // of the first
	checkout      service.Checkout  // of the second
	noticeIDs     []string          // the webhook-id of the notice about the second, each time that it came
	parts         int
}

// step is one case. It may need those before it.
type step struct {
	name   string
	try    func(r *run, ctx context.Context) error
	advice bool
	needed bool // without it the rest makes no sense
	http   bool // over HTTP only
	alone  bool // only if paying needs no person
}

func steps() []step {
	return []step{
		{name: "signed: a call of the service is taken", try: (*run).signed, http: true, needed: true},
		{name: "forged: a call that is signed with another secret is refused", try: (*run).forged, http: true},
		{name: "old: a call that was signed ten minutes ago is refused", try: (*run).old, http: true},
		{name: "later: a type of call that it does not know is refused", try: (*run).newType, http: true},
		{name: "later: members that it does not know are ignored", try: (*run).members, http: true},
		{name: "begin: a payment begins", try: (*run).begin, needed: true},
		{name: "begin, repeated: it is the same payment", try: (*run).beginAgain},
		{name: "begin, lost: the caller leaves, and asks again", try: (*run).beginLost},
		{name: "begin, four at once: it is one payment", try: (*run).beginAtOnce},
		{name: "cancel: before anything was paid, and repeated", try: (*run).cancel},
		{name: "cancel, closed: the page takes no money any more", try: (*run).payCancelled, alone: true},
		{name: "cancel, out of order: of a payment that never began", try: (*run).cancelUnknown},
		{
			name: "begin, overdue: the page takes no money after payBefore", try: (*run).payOverdue, alone: true,
			advice: true,
		},
		{name: "refund, too early: of a payment that nobody has paid", try: (*run).refundUnpaid, advice: true},
		{name: "paid: the notice comes", try: (*run).pay, needed: true},
		{name: "paid, lost: a notice that is answered 503 comes again", try: (*run).notedAgain},
		{name: "paid, found: staff find the payment by a reference", try: (*run).found, advice: true},
		{
			name: "paid, another: each notice has a webhook-id, and keeps it", try: (*run).another, http: true,
			alone: true, advice: true,
		},
		{name: "cancel, late: of a payment that is paid", try: (*run).cancelPaid},
		{
			name: "cancel, late: the answer says that the money is there", try: (*run).cancelRefused, http: true,
			advice: true,
		},
		{name: "refund: a part, repeated: it goes back once", try: (*run).part},
		{name: "refund: another part, four at once: it goes back once", try: (*run).partAtOnce},
		{name: "refund: how it stands", try: (*run).read},
		{name: "refund: the rest, to the last cent", try: (*run).rest},
		{name: "refund, refused: more than was paid", try: (*run).tooMuch, advice: true},
	}
}

// Run tries all cases in order, and tells progress of each when it begins. It ends early if ctx ends, or if a case
// fails without which the others make no sense.
func Run(ctx context.Context, s Subject, progress func(name string)) []Result {
	r := &run{Subject: s}
	r.first, r.second = r.beginning(), r.beginning()
	var results []Result
	for _, step := range steps() {
		if step.http && s.Raw == nil || step.alone && !s.Alone {
			continue
		}
		progress(step.name)
		began := time.Now()
		err := step.try(r, ctx)
		results = append(results, Result{step.name, err, step.advice, time.Since(began)})
		if err != nil && step.needed || ctx.Err() != nil {
			return results
		}
	}
	return results
}

// Passed reports whether nothing is wrong but what is advice.
func Passed(results []Result) bool {
	for _, r := range results {
		if r.Err != nil && !r.Advice {
			return false
		}
	}
	return len(results) > 0
}

func (r *run) beginning() payment.Beginning {
	const within = 30 * time.Minute
	b := payment.Beginning{
		Payment:  payment.Payment{ID: "pay_" + uuid.NewString(), OrderID: 1, ShopID: 1, Amount: r.Amount},
		Currency: r.Currency, Quantity: 1, PayBefore: time.Now().Add(within), Title: "A try of the payment provider",
		Visit: payment.Visit{Language: "en", ReturnURL: "https://shop.example/"},
	}
	return b
}

func (r *run) signed(ctx context.Context) error {
	reply, err := r.Raw(ctx, Right, r.beginning().Payment)
	switch {
	case err != nil:
		return err
	case reply.Status == http.StatusOK:
		return nil
	}
	if as, err := r.Raw(ctx, Text, r.beginning().Payment); err == nil && as.Status == http.StatusOK {
		return errors.New("it signs with the secret's text: the key is what the base64 behind whsec_ stands for")
	}
	return fmt.Errorf("it answers %d: has it this PROVIDER_SECRET, is its clock right (webhook-timestamp is in "+
		"seconds), and does it sign the body as it came?", reply.Status)
}

func (r *run) forged(ctx context.Context) error { return r.refuses(ctx, Forged) }

func (r *run) old(ctx context.Context) error { return r.refuses(ctx, Old) }

func (r *run) newType(ctx context.Context) error { return r.refuses(ctx, NewType) }

func (r *run) refuses(ctx context.Context, how Tampered) error {
	reply, err := r.Raw(ctx, how, r.first.Payment)
	switch {
	case err != nil:
		return err
	case reply.Status < 400 || reply.Status > 499:
		return fmt.Errorf("it answers %d, not 400 to 499", reply.Status)
	}
	return nil
}

func (r *run) members(ctx context.Context) error {
	reply, err := r.Raw(ctx, Members, r.beginning().Payment)
	if err == nil && reply.Status != http.StatusOK {
		err = fmt.Errorf("it answers %d, not 200", reply.Status)
	}
	return err
}

func (r *run) begin(ctx context.Context) (err error) {
	r.cancelled, err = r.Provider.Begin(ctx, r.first)
	r.first.Reference = r.cancelled.Reference
	return err
}

func (r *run) beginAgain(ctx context.Context) error {
	again, err := r.Provider.Begin(ctx, r.first)
	if err == nil && again.Reference != r.first.Reference {
		err = fmt.Errorf("its reference was %q and is %q", r.first.Reference, again.Reference)
	}
	return err
}

func (r *run) beginLost(ctx context.Context) error {
	const patience = 5 * time.Millisecond
	leaves, cancel := context.WithTimeout(ctx, patience)
	_, _ = r.Provider.Begin(leaves, r.second) // whatever it has done by then
	cancel()
	_, err := r.Provider.Begin(ctx, r.second)
	return err
}

func (r *run) beginAtOnce(ctx context.Context) error {
	all, err := atOnce(func() (string, error) {
		c, err := r.Provider.Begin(ctx, r.second)
		return c.Reference, err
	})
	if err == nil {
		r.checkout, err = r.Provider.Begin(ctx, r.second)
		r.second.Reference = r.checkout.Reference
	}
	for _, reference := range all {
		if err == nil && reference != r.checkout.Reference {
			err = fmt.Errorf("it has the references %q and %q", reference, r.checkout.Reference)
		}
	}
	return err
}

// atOnce calls f four times at once, and returns what it returned.
func atOnce(f func() (string, error)) ([]string, error) {
	const calls = 4
	var (
		running sync.WaitGroup
		texts   [calls]string
		errs    [calls]error
	)
	for i := range calls {
		running.Go(func() { texts[i], errs[i] = f() })
	}
	running.Wait()
	return texts[:], errors.Join(errs[:]...)
}

func (r *run) cancel(ctx context.Context) error {
	return errors.Join(r.Provider.Cancel(ctx, r.first.Payment), r.Provider.Cancel(ctx, r.first.Payment))
}

func (r *run) cancelUnknown(ctx context.Context) error {
	return r.Provider.Cancel(ctx, r.beginning().Payment)
}

func (r *run) cancelPaid(ctx context.Context) error { return r.Provider.Cancel(ctx, r.second.Payment) }

func (r *run) cancelRefused(ctx context.Context) error {
	reply, err := r.Raw(ctx, Cancel, r.second.Payment)
	if err == nil && reply.State != "refused" {
		err = fmt.Errorf("it says %q: has it given the money back, or only lost sight of it?", reply.State)
	}
	return err
}
