package report

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
)

// sums are the money of one payment, or of many.
type sums struct{ received, refunded, lost, kept int64 }

func (s sums) plus(o sums) sums {
	return sums{s.received + o.received, s.refunded + o.refunded, s.lost + o.lost, s.kept + o.kept}
}

// less is how much more there is in s than in o.
func (s sums) less(o sums) sums {
	return sums{s.received - o.received, s.refunded - o.refunded, s.lost - o.lost, s.kept - o.kept}
}

func (s sums) holds() bool { return s.received == s.refunded+s.lost+s.kept }

func sumsOf(p payment.Payment) sums {
	return sums{p.Received(), p.RefundedAmount(), p.LostAmount(), p.Kept()}
}

// bookkeeper makes random things happen to payments, and compares all that shows their money.
type bookkeeper struct {
	t        *testing.T
	l        ledgertest.Ledger
	reports  *Reports
	random   *rand.Rand
	voucher  int64
	payments []string
	midnight map[string]sums // each payment's when the day began
	events   int
	parts    int // that were sent
}

// Whatever a provider tells, in whatever order and however often, on several days: what was received is what was
// refunded, lost and kept, of each payment, in its line of the file, in each event, in the report, and of the
// day, in the shop and in all.
func TestOneMeaningForEachSum(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		b := &bookkeeper{
			t: t, l: l, reports: reportsOn(l), random: rand.New(rand.NewPCG(5, 6)), voucher: l.Seckill(t, 60),
		}
		l.Use(sqlkit.Hook{}, sqlkit.Hook{Feature: "book", PaymentChanged: b.event})
		l.RefundsOn(t)
		for _, c := range l.NewOrders(t, b.voucher, 30) {
			b.payments = append(b.payments, l.Pays(t, c).ID)
		}
		const steps = 400
		for i := range steps {
			if i%(steps/4) == 0 {
				b.dayBegins()
			}
			b.step()
			if i%10 == 0 {
				b.compare(fmt.Sprint("step ", i))
			}
		}
		b.compare("in the end")
		if b.events < steps/4 || b.parts == 0 {
			t.Errorf("only %d events, %d parts", b.events, b.parts)
		}
		l.Exec(t, "UPDATE tb_voucher_order SET status = 3 WHERE status IN (1, 5)") // so that the money alone is owed
		if gone, owed := purgedStays(t, l, b.reports, b.voucher); gone < 5 || owed < 5 || gone+int(owed) != 30 {
			t.Errorf("%d orders are gone, %d stay", gone, owed)
		}
	})
}

// event checks the payment in an event.
func (b *bookkeeper) event(_ *gorm.DB, c order.PaymentChange) error {
	b.events++
	if s := sumsOf(c.Payment); !s.holds() {
		return fmt.Errorf("event %s: %+v", c.News, s)
	}
	return nil
}

// dayBegins takes the clock to the next day where it can be, and remembers what there is.
func (b *bookkeeper) dayBegins() {
	if b.l.Dialect == "sqlite" {
		b.l.Clock.Add(int64(24 * time.Hour))
	}
	b.midnight = map[string]sums{}
	for _, p := range b.all() {
		if b.l.Dialect == "sqlite" {
			b.midnight[p.ID] = sumsOf(p)
		}
	}
}

func (b *bookkeeper) all() []payment.Payment {
	b.t.Helper()
	all, err := b.l.PaymentsAfter(b.t.Context(), payment.Filter{VoucherID: b.voucher}, payment.Payment{}, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// step lets one thing happen to one payment; the ledger refuses what cannot be.
func (b *bookkeeper) step() {
	b.t.Helper()
	id, ctx := b.payments[b.random.IntN(len(b.payments))], b.t.Context()
	n := payment.Notice{PaymentID: id, Amount: 1 + b.random.Int64N(1000)}
	switch b.random.IntN(11) {
	case 0, 1, 2:
		n.Amount = 1000
		_, _, _ = b.l.Receive(ctx, n)
		return
	case 3:
		n.Kind = payment.NoticeReturned
	case 4:
		n.Kind = payment.NoticeDisputed + payment.NoticeKind(b.random.IntN(3))
	case 5, 6:
		n.Kind = payment.NoticeRefund
		n.Refund = payment.RefundNotice{
			Reference: "re_" + strconv.Itoa(b.random.IntN(3)),
			State:     payment.RefundPending + payment.RefundState(b.random.IntN(3)),
		}
		n.Amount = int64(100 * (1 + len(n.Refund.Reference+id)%5)) // the same each time
		_, _, _ = b.l.TakeRefund(ctx, n)
		return
	case 7: // staff, or the owner, want all of it
		p, err := b.l.Payment(ctx, id)
		if err == nil {
			_, _ = b.l.AskRefund(ctx, p.UserID, p.OrderID)
		}
		return
	case 8: // staff want a part of it
		_, _, _ = b.l.RefundPart(ctx, order.PaymentAct{PaymentID: id, By: ledgertest.Admin, Why: "a scratch"}, n.Amount)
		return
	case 9:
		b.sendParts()
		return
	default: // the job
		if _, _, due, err := b.l.SendRefund(ctx, id, ""); err == nil && due {
			_, _ = b.l.Refunded(ctx, id, id, "")
		}
		return
	}
	_, _, _ = b.l.TakeNotice(ctx, n)
}

// sendParts asks for all parts that are to go back: the provider takes some, and refuses others.
func (b *bookkeeper) sendParts() {
	b.t.Helper()
	parts, err := b.l.RefundsIn(b.t.Context(), payment.RefundAsked, payment.OriginPart, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range parts {
		if _, _, due, err := b.l.SendRefund(b.t.Context(), r.PaymentID, r.ID); err == nil && due {
			b.parts++
			o := payment.Outcome{Reference: "of " + r.ID}
			o.State = payment.RefundPending + payment.RefundState(b.random.IntN(3))
			_, _, _ = b.l.RefundAnswered(b.t.Context(), r.PaymentID, r.ID, o)
		}
	}
}

// compare compares the payments with the report, the lines of the file, and the day.
func (b *bookkeeper) compare(when string) {
	b.t.Helper()
	var total, day sums
	columns := map[string]func(payment.Payment) string{}
	for _, c := range paymentColumns("CNY", nil) {
		columns[c.head] = c.cell
	}
	for _, p := range b.all() {
		s := sumsOf(p)
		var line sums
		for head, into := range map[string]*int64{
			"receivedAmount": &line.received, "refundedAmount": &line.refunded, "lostAmount": &line.lost,
			"keptAmount": &line.kept,
		} {
			if _, err := fmt.Sscan(columns[head](p), into); err != nil {
				b.t.Errorf("%s: %v", head, err)
			}
		}
		if !s.holds() || line != s {
			b.t.Fatalf("%s: %+v, in the file %+v: %+v", when, s, line, p)
		}
		total, day = total.plus(s), day.plus(s.less(b.midnight[p.ID]))
	}
	made, err := b.reports.ledger.sums(b.t.Context(), b.voucher)
	m := made.Money
	if got := (sums{m.Received, m.Refunded(), m.Lost, m.Kept()}); err != nil || got != total {
		b.t.Fatalf("%s: the report has %+v, %v; the payments %+v", when, got, err, total)
	}
	shop := b.all()[0].ShopID
	for of, want := range map[int64]bool{0: true, shop: true, shop + 1: false} {
		b.compareDay(fmt.Sprint(when, " in shop ", of), of, day, want)
	}
}

// compareDay compares a shop's day with what its payments say, or with nothing.
func (b *bookkeeper) compareDay(when string, shop int64, day sums, has bool) {
	b.t.Helper()
	if !has {
		day = sums{}
	}
	taken, err := b.reports.Taken(b.t.Context(), shop)
	got := sums{taken.Received.Cents, taken.Refunded.Cents, taken.Lost.Cents, day.kept}
	if err != nil || got != day || !day.holds() || taken.Returned.Cents != day.refunded+day.lost {
		b.t.Fatalf("%s: the day has %+v, %v; the payments %+v", when, taken, err, day)
	}
}
