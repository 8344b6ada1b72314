package browser

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"seckill/test/box"
)

// TestWhyNotI has a buyer who came too late ask why they got nothing, and somebody who never asked for a unit; nothing
// is asked of the service before they open it.
func TestWhyNotI(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	voucher := s.onSale("Noodles for two", 1)
	s.unpaid(voucher, 7)
	s.awaitState(voucher, "sold_out")
	if status, _ := s.ask(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", voucher), 42, nil); status < 400 {
		t.Fatalf("a buyer was answered %d, though nothing was left", status)
	}
	box.Eventually(t, "a time without a unit being known", func() error {
		s.ask(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", voucher), 43, nil)
		var why struct{ SoldOut []any }
		s.must(http.MethodGet, fmt.Sprintf("/voucher/%d/mine", voucher), 42, nil, &why)
		if len(why.SoldOut) == 0 {
			return errors.New("none yet")
		}
		return nil
	})
	box.Eventually(t, "the refusals being written", func() error {
		var report struct{ Journal struct{ Tenths []any } }
		s.must(http.MethodGet, fmt.Sprintf("/admin/voucher/%d/report", voucher), admin, nil, &report)
		if len(report.Journal.Tenths) == 0 {
			return errors.New("none yet")
		}
		return nil
	})
	for language, says := range map[string]struct{ asked, text, soldOut, none string }{
		"en-GB": {"Refused at", "No unit was left when you asked.", "Sold out ", "No refusal is known"},
		"zh-CN": {"被拒绝", "您下单时已无库存", "售罄：", "没有该账号"},
	} {
		w := open(t, s.url("/"), s.signedIn(phone().in(language), 42))
		w.sees("[data-why] summary", "")
		w.seesNo("[data-why-says]")
		w.click("[data-why] summary")
		w.sees("[data-why-says]", says.asked)
		w.sees("[data-why-says]", says.text)
		w.sees("[data-why-says]", says.soldOut)
		w.accessible()
		w.picture("buyer-why-phone-"+language, true)

		w = open(t, s.url("/"), s.signedIn(desktop().in(language), 99))
		w.click("[data-why] summary")
		w.sees("[data-why-says]", says.none)
		w = open(t, s.url("/"), s.signedIn(desktop().in(language), 7)) // who has an order
		w.sees("article.card", "Noodles")
		w.seesNo("[data-why]")

		staff := s.url(fmt.Sprintf("/admin#/orders?userId=42&voucherId=%d", voucher))
		w = open(t, staff, s.asAdmin(desktop().in(language)))
		w.sees("[data-no-order] [data-why-says]", says.asked)
		w.sees("[data-no-order] [data-why-says]", says.soldOut)
		w.accessible()
		w.picture("console-why-desktop-"+language, true)
		w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
		w.until("document.querySelectorAll('[data-tenths] span').length === 100")
		w.until("[...document.querySelectorAll('[data-tenths] .after')].some(b => b.clientHeight > 0)")
		w.accessible()
		w.picture("console-why-report-desktop-"+language, true)
	}
}
