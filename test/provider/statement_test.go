package provider

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"

	"seckill/internal/httpapi/shop"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/testkit"
)

// TestStatement has buyers pay late, twice and not at all, banks send money back by themselves and lose answers, and
// buyers dispute payments; refunds are refused for good, retried and closed; notices come late, repeated and in any
// order. In the end payments.csv agrees with the banks' own statements to the cent. SECKILL_TEST_PAYMENTS is how many
// orders there are.
func TestStatement(t *testing.T) {
	t.Parallel()
	orders := 300
	if text := os.Getenv("SECKILL_TEST_PAYMENTS"); text != "" {
		var err error
		if orders, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	m := openMarket(t)
	var working sync.WaitGroup
	const workers = 4
	for worker := range workers {
		working.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(worker)))
			for i := worker; i < orders; i += workers {
				m.live(random, i)
			}
		})
	}
	working.Wait()
	through := func() bool {
		due, err := m.shop.ledger.Refunding(t.Context(), 1)
		return err == nil && len(due) == 0
	}
	testkit.Eventually(t, through)
	closed := m.decide()
	testkit.Eventually(t, through)
	if cents := m.agrees(orders); cents != closed || closed == 0 {
		t.Errorf("%d cents of refunds that were closed are in the file, %d were", cents, closed)
	}
}

// market is a shop with two banks, and an instance of it that knows only the second one, at which a buyer pays who has
// begun to pay at the first.
type market struct {
	t            *testing.T
	shop, second *seller
	banks        [2]*bank
}

func openMarket(t *testing.T) *market {
	t.Helper()
	m := &market{t: t, banks: [2]*bank{startBank(t), startBank(t)}}
	ledger := openLedger(t)
	all := service.Providers{Default: "bank0", ByName: map[string]service.Provider{}}
	callbacks := map[string]shop.CallbackReader{}
	for i, b := range m.banks {
		name := fmt.Sprintf("bank%d", i)
		all.ByName[name], callbacks[name] = bankAdapter{b.at.URL}, bankCallback(name)
	}
	m.shop = openOn(t, ledger, all, callbacks, true)
	only := service.Providers{Default: "bank1", ByName: map[string]service.Provider{"bank1": all.ByName["bank1"]}}
	m.second = openOn(t, ledger, only, callbacks, false)
	return m
}

// notice is a signed message of a bank that is on its way.
type notice struct {
	bank            int
	body, signature string
}

func (m *market) notice(bank int, body []byte, signature string) notice {
	return notice{bank, string(body), signature}
}

// live is the life of one order: how it is paid, and what becomes of its money.
func (m *market) live(random *rand.Rand, i int) {
	id := m.ask(m.shop, fmt.Sprintf("/voucher/buy/%d", m.shop.voucher), fmt.Sprint("order-", i)).data.OrderID
	begun := []answered{m.ask(m.shop, "/order/"+id+"/pay", "")}
	if i%7 == 0 { // at the second bank, too
		begun = append(begun, m.ask(m.second, "/order/"+id+"/pay", ""))
	}
	if i%11 == 0 {
		var number int64
		if _, err := fmt.Sscan(id, &number); err != nil {
			m.t.Error(err)
		}
		_, err := m.shop.ledger.Transition(m.t.Context(), number, buyer, order.Cancel, order.Owner)
		if err != nil {
			m.t.Error(err)
		}
	}
	if i%13 == 0 { // nobody pays
		return
	}
	var sent []notice
	for bank, payment := range begun {
		sent = append(sent, m.moves(random, bank, payment.data.PaymentID)...)
	}
	random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	for n, s := range sent {
		if n == len(sent)/2 && random.IntN(3) == 0 { // the buyer asks for the money meanwhile: it may be refused
			m.shop.post("/order/"+id+"/refund", m.shop.token(), "")
		}
		for range 1 + random.IntN(2) {
			m.tell(s)
		}
	}
}

// ask has the buyer ask until the service answers: on a busy machine it is unavailable at times.
func (m *market) ask(s *seller, path, key string) answered {
	for {
		header := s.token()
		header["Idempotency-Key"] = key
		if key == "" {
			delete(header, "Idempotency-Key")
		}
		if a := s.post(path, header, ""); a.status != http.StatusServiceUnavailable || m.t.Context().Err() != nil {
			if a.status >= http.StatusBadRequest {
				m.t.Errorf("%s: %d %s", path, a.status, a.text)
			}
			return a
		}
	}
}

// tell has a bank send a notice until the shop takes it.
func (m *market) tell(s notice) {
	for {
		a := m.shop.post(fmt.Sprintf("/payment/callback/bank%d", s.bank),
			map[string]string{"Bank-Signature": s.signature}, s.body)
		if a.status != http.StatusServiceUnavailable || m.t.Context().Err() != nil {
			if a.status != http.StatusOK {
				m.t.Errorf("%s: %d %s", s.body, a.status, a.text)
			}
			return
		}
	}
}

// moves takes the buyer's money at a bank, and lets happen to it what the buyer and the bank want. It returns the
// notices of it all.
func (m *market) moves(random *rand.Rand, at int, payment string) (sent []notice) {
	b := m.banks[at]
	body, signature := b.charge(payment, price)
	sent = append(sent, m.notice(at, body, signature))
	charge := b.chargeOf(payment)
	b.closeAccount(charge, random.IntN(4) == 0)
	for range random.IntN(3) {
		if part := []int64{1, price / 4, price / 2, price}[random.IntN(4)]; random.IntN(2) == 0 {
			if body, signature, done := b.giveBack(charge, payment, part); done {
				sent = append(sent, m.notice(at, body, signature))
			}
		}
	}
	if random.IntN(3) > 0 {
		return sent
	}
	about := []int64{price, price / 2, 7}[random.IntN(3)]
	for _, what := range [][]string{
		{"dispute.opened"}, {"dispute.opened", "dispute.won"}, {"dispute.opened", "dispute.lost"}, {"dispute.lost"},
	}[random.IntN(4)] {
		body, signature := b.dispute(what, charge, payment, about)
		sent = append(sent, m.notice(at, body, signature))
	}
	if random.IntN(4) == 0 {
		b.loseOne()
	}
	return sent
}

// decide has staff decide about the refunds that the banks refuse for good: one is closed, the next asked for again
// once the account is open, the next sent back by the bank itself, and told. Each request is repeated. It returns the
// cents whose refund was closed.
func (m *market) decide() (closed int64) {
	m.t.Helper()
	stuck, err := m.shop.ledger.FindPayments(m.t.Context(),
		payment.Filter{State: payment.Stuck}, 1<<62, 1<<20)
	if err != nil || len(stuck) < 3 {
		m.t.Fatalf("%d refunds are stuck, %v", len(stuck), err)
	}
	decided := 0
	for _, p := range stuck {
		at := int(p.Provider[len("bank")] - '0')
		b := m.banks[at]
		charge := b.chargeOf(p.ID)
		act, want := "close", http.StatusOK
		if p.Dispute == payment.DisputeOpen {
			want = http.StatusConflict
		} else {
			decided++
		}
		if decided%3 == 1 && want == http.StatusOK {
			act, want = "retry", http.StatusAccepted
			b.closeAccount(charge, false)
		}
		if decided%3 == 2 && want == http.StatusOK {
			if body, signature, done := b.giveBack(charge, p.ID, p.Rest()); done {
				m.tell(m.notice(at, body, signature))
				continue
			}
		}
		if act == "close" && want == http.StatusOK {
			closed += p.Kept()
		}
		for range 2 {
			header := m.shop.staff()
			header["Idempotency-Key"], header["Content-Type"] = act+"-"+p.ID, "application/json"
			a := m.shop.post("/admin/payment/"+p.ID+"/"+act, header, `{"why": "they called"}`)
			if a.status != want && (act != "retry" || a.status != http.StatusOK) { // it is through by then
				m.t.Errorf("%s of %+v: %d %s", act, p, a.status, a.text)
			}
		}
	}
	m.t.Logf("%d refunds were stuck", len(stuck))
	return closed
}

// agrees compares payments.csv with the statements of the banks, and returns the cents that were kept as staff have
// closed their refund.
func (m *market) agrees(orders int) (closed int64) {
	m.t.Helper()
	server := httptest.NewServer(m.shop.api)
	defer server.Close()
	r, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, server.URL+"/admin/payments.csv", http.NoBody)
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Authorization", m.shop.staff()["Authorization"])
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines, err := csv.NewReader(res.Body).ReadAll()
	if err != nil || len(lines) < orders || lines[len(lines)-1][0] != "#end" {
		m.t.Fatalf("%d: %d lines, %v", res.StatusCode, len(lines), err)
	}
	column := map[string]int{}
	for i, head := range lines[0] {
		column[head] = i
	}
	var sums, theirs [3]int64
	for _, line := range lines[1 : len(lines)-1] {
		cents := func(head string) int64 {
			n, err := strconv.ParseInt(line[column[head]], 10, 64)
			if err != nil {
				m.t.Errorf("%s: %v", head, err)
			}
			return n
		}
		bank := m.banks[int(line[column["provider"]][len("bank")]-'0')]
		charged, gone := bank.statement(line[column["id"]])
		got := [3]int64{cents("receivedAmount"), cents("receivedAmount") - cents("keptAmount"), cents("keptAmount")}
		want := [3]int64{charged, gone, charged - gone}
		for i := range got {
			sums[i], theirs[i] = sums[i]+got[i], theirs[i]+want[i]
		}
		if line[column["state"]] == "closed" {
			closed += cents("keptAmount")
		}
		if got != want {
			m.t.Errorf("received, gone and kept %v, at the bank %v: %v", got, want, line)
		}
	}
	charges := 0
	for _, b := range m.banks {
		charges += len(b.charges)
	}
	m.t.Logf("%d payments, %d charges: received, gone and kept %v, at the banks %v", len(lines)-2, charges, sums,
		theirs)
	if sums != theirs || sums[1] == 0 || sums[2] == 0 {
		m.t.Errorf("received, gone and kept %v, at the banks %v", sums, theirs)
	}
	return closed
}

// chargeOf returns the charge of a payment.
func (b *bank) chargeOf(payment string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for charge, of := range b.payments {
		if of == payment {
			return charge
		}
	}
	return ""
}

// dispute opens or decides a dispute of a charge, and returns the notice.
func (b *bank) dispute(what, charge, payment string, cents int64) (body []byte, signature string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.disputed[charge] = what == "dispute.opened"
	if what == "dispute.lost" {
		b.lost[charge] += cents
	}
	return event(what, charge, payment, cents)
}

// loseOne loses the answer to the next refund.
func (b *bank) loseOne() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losesRefund = true
}

// statement returns what the bank has taken with a payment, and what of it has gone back.
func (b *bank) statement(payment string) (charged, gone int64) {
	charge := b.chargeOf(payment)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charges[charge], b.returned[charge] + b.lost[charge]
}
