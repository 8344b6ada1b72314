package stripe

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/providers/stripe/standin"
	"seckill/test/box"
)

// rest is the last refund's line in the table.
var rest = regexp.MustCompile(`ok +refund: the rest`)

// TestConformance has server payment try find nothing wrong with seckill-stripe. One advice is left: Stripe ends no
// session within half an hour, and the service cancels instead.
func TestConformance(t *testing.T) {
	t.Parallel()
	listen := box.FreeAddr(t)
	p := newProgram(t, "http://"+listen+"/payment/callback/try", standin.Options{})
	p.start()
	out := box.Command(t, map[string]string{"PROVIDER_SECRET": p.secret}, "payment", "try", "-listen", listen,
		"-pay", "do=pay", "-wait", "1m", "http://"+p.addr+"/")
	advice := strings.Count(out.Stdout, "advice  ") - strings.Count(out.Stdout, "advice  begin, overdue")
	if out.Code != 0 || !rest.MatchString(out.Stdout) || strings.Contains(out.Stdout, "WRONG") || advice != 0 {
		t.Errorf("exit code %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}

// TestDay is a day of a shop that takes money through Stripe. Stripe loses calls and answers, asks for patience, takes
// days for refunds, and lets some fail; buyers pay at once, later, late, or not at all; staff send parts back, here and
// in the Dashboard; banks decide disputes; events come again in another order; the server and seckill-stripe are killed
// under way. At the end Stripe's statement and the shop's file say the same to the cent (I13), and no payment had two
// checkouts. SECKILL_TEST_PAYMENTS says how many orders there are.
func TestDay(t *testing.T) {
	t.Parallel()
	orders := 48
	if text := os.Getenv("SECKILL_TEST_PAYMENTS"); text != "" {
		var err error
		if orders, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	d := openDay(t, orders)
	const workers, kills = 6, 4
	var working sync.WaitGroup
	for worker := range workers {
		working.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(worker)))
			for i := worker; i < orders; i += workers {
				d.live(random, int64(1000+i))
			}
		})
	}
	lived := make(chan struct{})
	go func() {
		working.Wait()
		close(lived)
	}()
	for i := range kills {
		d.after(int64(orders * (i + 1) / (kills + 1)))
		if i%2 == 0 {
			d.program.start()
		} else if err := d.server.KillAndStart(); err != nil {
			t.Fatal(err)
		}
	}
	<-lived
	d.calm.Store(true)
	d.program.stripe.SendAgain()
	d.moves(true)
	box.Eventually(t, "Stripe's events are taken", func() error {
		if !d.program.stripe.Quiet() {
			return errors.New("some wait")
		}
		return nil
	})
	box.Eventually(t, "the shop and Stripe agree", d.agree)
	for id, n := range d.program.stripe.Sessions() {
		if n != 1 {
			t.Errorf("%s had %d checkouts", id, n)
		}
	}
	var sums standin.Standing
	for _, of := range d.program.stripe.Statement() {
		sums.Received += of.Received
		sums.Refunded += of.Refunded
		sums.Lost += of.Lost
	}
	t.Logf("%d payments: %+v", len(d.program.stripe.Statement()), sums)
	if sums.Refunded == 0 || sums.Lost == 0 || sums.Refunded+sums.Lost >= sums.Received {
		t.Errorf("not all of it happened: %+v", sums)
	}
}

// day is the shop, seckill-stripe, and Stripe.
type day struct {
	*testing.T

	server  *box.Server
	client  *box.Client
	program *program
	voucher int64
	calm    atomic.Bool // Stripe answers
	done    atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
}

func openDay(t *testing.T, stock int) *day {
	t.Helper()
	d := &day{T: t, client: box.NewClient(t), random: rand.New(rand.NewPCG(5, 5))}
	d.server = box.NewServer(t, "server", map[string]string{
		"SECKILL_DATA_DIR": t.TempDir(), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_PAYMENT_RETURN_URL": "https://shop.example/order/{orderId}", "SECKILL_USER_RATE": "1000",
		"SECKILL_USER_BURST": "1000",
	})
	d.program = newProgram(t, d.server.URL("/payment/callback/cards"), standin.Options{Fault: d.fault, Fate: d.fate})
	d.server.Settings["SECKILL_PAYMENT_PROVIDERS"] = "cards=http://" + d.program.addr + "/"
	d.server.Settings["SECKILL_PAYMENT_PROVIDER_SECRETS"] = "cards=" + d.program.secret
	d.program.start()
	if err := d.server.Start(); err != nil {
		t.Fatal(err)
	}
	draft := box.SeckillDraft(1, int64(stock), time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	v := box.Decode[box.Voucher](t, d.client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: d.server.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	}))
	d.voucher = v.ID
	return d
}

func (d *day) chance(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// fault is what goes wrong with a request to Stripe: one of eight does.
func (d *day) fault(*http.Request) standin.Fault {
	const of = 40
	if n := d.chance(of); !d.calm.Load() && n <= int(standin.LostDone) {
		return standin.Fault(n)
	}
	return standin.None
}

func (d *day) fate() string {
	return []string{"succeeded", "succeeded", "pending", "failed"}[d.chance(4)]
}

// moves lets days pass: refunds that are under way arrive or fail, and some that had arrived come back.
func (d *day) moves(all bool) {
	d.program.stripe.MoveRefunds(func(_, status string) string {
		n := d.chance(8)
		switch {
		case status == "pending" && (n < 4 || all):
			return "succeeded"
		case status == "pending" && n == 4, status == "succeeded" && n == 0 && !all:
			return "failed"
		}
		return status
	})
}

// after waits until so many orders have lived.
func (d *day) after(n int64) {
	box.Eventually(d.T, fmt.Sprint(n, " orders"), func() error {
		if d.done.Load() < n {
			return errors.New("fewer")
		}
		return nil
	})
}

// post sends a request until it is answered other than with an error of a server.
func (d *day) post(token, path, key string, body any) (r box.Reply) {
	box.Eventually(d.T, path, func() (err error) {
		ask := box.Request{Method: http.MethodPost, URL: d.server.URL(path), Token: token, Body: body}
		if key != "" {
			ask.Header = map[string]string{"Idempotency-Key": key}
		}
		r, err = d.client.Do(d.Context(), ask)
		if err == nil && (r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests) {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
	return r
}

// live is the life of one order.
func (d *day) live(random *rand.Rand, user int64) {
	defer d.done.Add(1)
	token, stripe := box.BuyerToken(user), d.program.stripe
	bought := d.post(token, fmt.Sprintf("/voucher/seckill/%d?wait=30s", d.voucher), "", nil)
	id := box.Decode[box.Placed](d.T, bought).OrderID
	type paying struct{ PayURL, PaymentID string }
	begun := box.Decode[paying](d.T, d.post(token, "/order/"+id+"/pay", "", nil))
	if random.IntN(2) == 0 { // pressed again
		if again := box.Decode[paying](d.T, d.post(token, "/order/"+id+"/pay", "", nil)); again != begun {
			d.Errorf("%+v, then %+v", begun, again)
		}
	}
	session := path.Base(begun.PayURL)
	switch random.IntN(8) {
	case 0:
		d.post(token, "/order/"+id+"/cancel", "", nil)
		_ = stripe.Pay(session, false) // it may be too late
	case 1:
		_ = stripe.Pay(session, true)
		_ = stripe.Settle(session, random.IntN(2) == 0)
	default:
		if err := stripe.Pay(session, false); err != nil {
			d.Error(err)
		}
	}
	for range 3 {
		d.happens(random, token, id, begun.PaymentID, session)
	}
}

// happens lets something happen to the order's money; it may be refused.
func (d *day) happens(random *rand.Rand, token, order, pay, session string) {
	stripe := d.program.stripe
	switch random.IntN(6) {
	case 0:
		d.post(token, "/order/"+order+"/refund", "", nil)
	case 1:
		d.post(box.AdminToken(), "/admin/payment/"+pay+"/refund", fmt.Sprint(pay, random.Int64()),
			map[string]any{"amount": 1 + random.IntN(600), "why": "a scratch"})
	case 2:
		_ = stripe.GiveBack(session, 1+random.Int64N(600))
	case 3:
		states := []string{"needs_response", "won", "lost", "warning_needs_response"}
		_ = stripe.Dispute(session, 1000, states[random.IntN(len(states))])
	case 4:
		d.moves(false)
	case 5:
		stripe.Foreign()
	}
}

// agree compares the shop's file with Stripe's statement.
func (d *day) agree() error {
	r, err := d.client.Do(d.Context(), box.Request{
		Method: http.MethodGet, URL: d.server.URL("/admin/payments.csv"), Token: box.AdminToken(),
	})
	if err != nil {
		return err
	}
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(r.Body), "\ufeff"))).ReadAll()
	if err != nil || len(lines) == 0 || lines[len(lines)-1][0] != "#end" {
		return fmt.Errorf("%d %.80s: %w", r.StatusCode, r.Body, err)
	}
	column := map[string]int{}
	for i, head := range lines[0] {
		column[head] = i
	}
	file := map[string]standin.Standing{}
	for _, line := range lines[1 : len(lines)-1] {
		cents := func(head string) int64 {
			n, err := strconv.ParseInt(line[column[head]], 10, 64)
			if err != nil {
				d.Errorf("%s: %v", head, err)
			}
			return n
		}
		of := standin.Standing{
			Received: cents("receivedAmount"), Refunded: cents("refundedAmount"), Lost: cents("lostAmount"),
		}
		if kept := cents("keptAmount"); of.Received != of.Refunded+of.Lost+kept {
			d.Errorf("%+v does not add up with %d", of, kept)
		}
		if of.Received > 0 {
			file[line[column["id"]]] = of
		}
	}
	if statement := d.program.stripe.Statement(); !maps.Equal(file, statement) {
		for id, of := range statement {
			if file[id] != of {
				return fmt.Errorf("the shop has %+v of %s, Stripe %+v", file[id], id, of)
			}
		}
		return fmt.Errorf("the shop has %d payments, Stripe %d", len(file), len(statement))
	}
	return nil
}
