package provider

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
)

// TestDay is a day of a shop whose provider needs days for refunds. Money is under way, attempts fail, buyers pay late
// and twice, staff send parts back, buyers ask for all, the provider sends back by itself, and decides disputes;
// refunds are refused, and fail after they were done. Calls are lost before and after they took effect, notices come
// repeated and in any order. At each stop the provider's statement, the ledger, the report, the file and the events say
// the same to the cent (I13), and no refund is asked for with two amounts: in Go, and over HTTP. SECKILL_TEST_PAYMENTS
// says how many orders there are.
func TestDay(t *testing.T) {
	t.Parallel()
	for name, over := range map[string]func(*testing.T, *clearing) link{"Go": direct, "HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playDay(t, over)
		})
	}
}

func playDay(t *testing.T, over func(*testing.T, *clearing) link) {
	t.Helper()
	orders, stops := 120, 3
	if text := os.Getenv("SECKILL_TEST_PAYMENTS"); text != "" {
		var err error
		if orders, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		stops = 20
	}
	d := openDay(t, over)
	const workers = 4
	for stop := range stops {
		var working sync.WaitGroup
		for worker := range workers {
			working.Go(func() {
				random := rand.New(rand.NewPCG(uint64(stop), uint64(worker)))
				for i := range orders / stops / workers {
					d.live(random, fmt.Sprint(stop, "-", worker, "-", i))
				}
			})
		}
		working.Wait()
		for _, n := range d.at.moves(false) {
			d.tell(n)
		}
		d.decide(stop)
		d.settles(fmt.Sprint("stop ", stop))
		d.agrees(fmt.Sprint("stop ", stop))
	}
	for _, n := range d.at.moves(true) {
		d.tell(n)
	}
	d.settles("the end")
	sums := d.agrees("the end")
	if sums.refunded == 0 || sums.lost == 0 || sums.kept == 0 {
		t.Errorf("not all of it happened: %+v", sums)
	}
}

// day is the shop, its provider, and what it was told by events.
type day struct {
	t    *testing.T
	shop *seller
	at   *clearing
	link link

	server *httptest.Server

	mu   sync.Mutex
	last map[string]order.PaymentChange // by payment
}

func openDay(t *testing.T, over func(*testing.T, *clearing) link) *day {
	t.Helper()
	d := &day{t: t, at: openClearing(t), last: map[string]order.PaymentChange{}}
	d.link = over(t, d.at)
	ledger := openLedger(t)
	remember := func(_ *gorm.DB, c order.PaymentChange) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.Order.Number() >= d.last[c.Payment.ID].Order.Number() {
			d.last[c.Payment.ID] = c
		}
		return nil
	}
	ledger.Use(sqlkit.Hook{}, sqlkit.Hook{Feature: "day", PaymentChanged: remember})
	d.shop = openOn(t, ledger,
		service.Providers{Default: clearingName, ByName: map[string]service.Provider{clearingName: d.link.provider}},
		map[string]shop.CallbackReader{clearingName: d.link.read}, true)
	d.server = httptest.NewServer(d.shop.api) // the file is streamed
	t.Cleanup(d.server.Close)
	return d
}

// live is the life of one order until its money has moved.
func (d *day) live(random *rand.Rand, name string) {
	m := market{t: d.t}
	id := m.ask(d.shop, fmt.Sprintf("/voucher/buy/%d", d.shop.voucher), "order-"+name).data.OrderID
	first := m.ask(d.shop, "/order/"+id+"/pay", "").data.PaymentID
	begun := []string{first}
	if random.IntN(4) == 0 { // the first attempt fails, or so it seems
		d.tell(payment.Notice{Kind: payment.NoticeFailed, PaymentID: first, Reason: "the card was refused"})
		begun = append(begun, m.ask(d.shop, "/order/"+id+"/pay", "").data.PaymentID)
	}
	if random.IntN(9) == 0 {
		d.shop.post("/order/"+id+"/cancel", d.shop.token(), "")
	}
	var sent []payment.Notice
	for i, paid := range begun {
		if i == len(begun)-1 && random.IntN(12) > 0 || random.IntN(3) == 0 {
			sent = append(sent, d.moves(random, paid)...)
		}
	}
	random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	for i, n := range sent {
		if i == len(sent)/2 {
			d.asks(random, id, begun[random.IntN(len(begun))], name)
		}
		for range 1 + random.IntN(2) {
			d.tell(n)
		}
	}
	d.asks(random, id, begun[len(begun)-1], name+"-late")
}

// moves takes the buyer's money, and lets happen to it what the buyer and the provider want.
func (d *day) moves(random *rand.Rand, id string) (sent []payment.Notice) {
	if random.IntN(3) == 0 {
		sent = append(sent, payment.Notice{
			Kind: payment.NoticeProcessing, PaymentID: id, Amount: price, Until: time.Now().Add(time.Hour),
		})
	}
	sent = append(sent, d.at.pays(id))
	for range random.IntN(3) {
		if cents := []int64{1, price / 4, price / 2, price}[random.IntN(4)]; random.IntN(3) == 0 {
			sent = append(sent, d.at.givesBack(id, cents)...)
		}
	}
	if random.IntN(4) == 0 {
		about := []int64{price, price / 2, 7}[random.IntN(3)]
		for _, kind := range [][]payment.NoticeKind{
			{payment.NoticeDisputed},
			{payment.NoticeDisputed, payment.NoticeDisputeWon},
			{payment.NoticeDisputeLost},
			{payment.NoticeDisputed, payment.NoticeDisputeLost},
		}[random.IntN(4)] {
			sent = append(sent, d.at.disputes(id, kind, about))
		}
	}
	return sent
}

// asks has staff send a part back, or the buyer ask for all: each may be refused.
func (d *day) asks(random *rand.Rand, orderID, id, key string) {
	switch random.IntN(4) {
	case 0:
		d.shop.post("/order/"+orderID+"/refund", d.shop.token(), "")
	case 1, 2:
		cents := []int{1, 130, price / 2, price}[random.IntN(4)]
		d.act(id, "refund", key, fmt.Sprintf(`{"amount": %d, "why": "a scratch"}`, cents))
	}
}

// act has staff do something with a payment, twice with one key.
func (d *day) act(id, verb, key, body string) {
	for range 2 {
		header := d.shop.staff()
		header["Idempotency-Key"], header["Content-Type"] = verb+"-"+key, "application/json"
		a := d.shop.post("/admin/payment/"+id+"/"+verb, header, body)
		if a.status >= http.StatusInternalServerError && a.status != http.StatusServiceUnavailable {
			d.t.Errorf("%s of %s: %d %s", verb, id, a.status, a.text)
		}
	}
}

// decide has staff see to what the provider has refused.
func (d *day) decide(stop int) {
	d.t.Helper()
	for _, f := range []payment.Filter{{State: payment.Stuck}, {Refund: payment.RefundFailed}} {
		found, err := d.shop.ledger.FindPayments(d.t.Context(), f, 1<<62, 1<<20)
		if err != nil {
			d.t.Fatal(err)
		}
		for i, p := range found {
			if verb := []string{"retry", "close", ""}[(i+stop)%3]; verb != "" {
				d.act(p.ID, verb, fmt.Sprint(p.ID, "-", stop), `{"why": "they called"}`)
			}
		}
	}
}

// tell sends a notice until the shop takes it.
func (d *day) tell(n payment.Notice) {
	for {
		header, body := d.link.sign(d.t, n)
		a := d.shop.post("/payment/callback/"+clearingName, header, string(body))
		if a.status != http.StatusServiceUnavailable || d.t.Context().Err() != nil {
			if a.status != http.StatusOK {
				d.t.Errorf("%s: %d %s", body, a.status, a.text)
			}
			return
		}
	}
}

// settles waits until the shop has nothing to ask the provider for.
func (d *day) settles(when string) {
	d.t.Helper()
	var rest string
	defer func() {
		if rest != "" {
			d.t.Errorf("%s: it still has to ask for %s", when, rest)
		}
	}()
	testkit.Eventually(d.t, func() bool {
		rest = d.unsettled()
		return rest == ""
	})
}

// unsettled returns something that the shop has to ask the provider for, but for what is disputed.
func (d *day) unsettled() string {
	ctx := d.t.Context()
	due, err := d.shop.ledger.Refunding(ctx, 1)
	if err != nil {
		return err.Error()
	}
	for _, p := range due {
		return d.standing(p)
	}
	asked, err := d.shop.ledger.RefundsIn(ctx, payment.RefundAsked, payment.OriginPart, 1<<20)
	if err != nil {
		return err.Error()
	}
	for _, r := range asked {
		if p, err := d.shop.ledger.Payment(ctx, r.PaymentID); err != nil || p.Dispute != payment.DisputeOpen {
			return d.standing(p)
		}
	}
	return ""
}

// standing returns what the shop and the provider know of a payment.
func (d *day) standing(p payment.Payment) string {
	refunds, err := d.shop.ledger.RefundsOf(d.t.Context(), []string{p.ID})
	return fmt.Sprintf("%+v with %+v, %v; the provider has %s", p, refunds[p.ID], err, d.at.charge(p.ID))
}

// agrees compares the provider's statement with all that the shop says, and returns the sums.
func (d *day) agrees(when string) (sums standing) {
	d.t.Helper()
	statement := d.at.statement()
	found, err := d.shop.ledger.FindPayments(d.t.Context(), payment.Filter{}, 1<<62, 1<<20)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range found {
		got := standing{p.Received(), p.RefundedAmount(), p.LostAmount(), p.Kept()}
		if got != statement[p.ID] {
			d.t.Errorf("%s: the ledger has %+v of %s, the statement %+v: %+v", when, got, p.ID, statement[p.ID], p)
		}
		sums.add(got)
		d.mu.Lock()
		last, told := d.last[p.ID]
		d.mu.Unlock()
		through := p.State == payment.Refunded || p.State == payment.Refunding
		if !through && (told && last.Payment.Gone() != p.Gone() || !told && p.Gone() > 0) {
			d.t.Errorf("%s: the last event of %s says %+v, the ledger %+v", when, p.ID, last.Payment, p)
		}
	}
	if file := d.file(statement, when); file != sums {
		d.t.Errorf("%s: the file has %+v, the ledger %+v", when, file, sums)
	}
	if report := d.report(); report != sums {
		d.t.Errorf("%s: the report has %+v, the ledger %+v", when, report, sums)
	}
	d.t.Logf("%s: %d payments, %+v", when, len(found), sums)
	return sums
}

// get reads one of the shop's documents.
func (d *day) get(path string) string {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.server.URL+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", d.shop.staff()["Authorization"])
	answer, err := d.server.Client().Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: %d, %v: %s", path, answer.StatusCode, err, text)
	}
	return string(text)
}

// file compares payments.csv with the statement, line by line, and returns its sums.
func (d *day) file(statement map[string]standing, when string) (sums standing) {
	d.t.Helper()
	lines, err := csv.NewReader(strings.NewReader(d.get("/admin/payments.csv"))).ReadAll()
	if err != nil || lines[len(lines)-1][0] != "#end" {
		d.t.Fatalf("%d lines, %v", len(lines), err)
	}
	column := map[string]int{}
	for i, head := range lines[0] {
		column[head] = i
	}
	for _, line := range lines[1 : len(lines)-1] {
		cents := func(head string) int64 {
			n, err := strconv.ParseInt(line[column[head]], 10, 64)
			if err != nil {
				d.t.Errorf("%s: %v", head, err)
			}
			return n
		}
		of := standing{cents("receivedAmount"), cents("refundedAmount"), cents("lostAmount"), cents("keptAmount")}
		if id := line[column["id"]]; of != statement[id] {
			d.t.Errorf("%s: the file has %+v of %s, the statement %+v", when, of, id, statement[id])
		}
		sums.add(of)
	}
	return sums
}

// report returns the sums of the voucher's report.
func (d *day) report() standing {
	d.t.Helper()
	var answer struct {
		Data struct{ ReceivedAmount, RefundedAmount, LostAmount, KeptAmount int64 }
	}
	text := d.get(fmt.Sprintf("/admin/voucher/%d/report", d.shop.voucher))
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		d.t.Fatal(err)
	}
	m := answer.Data
	return standing{m.ReceivedAmount, m.RefundedAmount, m.LostAmount, m.KeptAmount}
}
