package browser

import "testing"

// TestCurrencies shows prices with the decimals of the shop's currency. Where there are three of them, the form accepts
// no price that can be read in two ways.
func TestCurrencies(t *testing.T) {
	t.Parallel()
	for code, shows := range map[string]string{"JPY": "123,456", "KWD": "123.456"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := realShop(t, "SECKILL_CURRENCY", code)
			s.redeemableSale("Whole numbers of the least unit", 123_456)
			w := open(t, s.url("/"), s.signedIn(desktop(), 7))
			w.sees("main", shows)
			if code != "KWD" {
				return
			}
			w = open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
			w.click("[data-act=create]")
			w.enter("#f-payValue", "1,234")
			w.click("[data-act=save]")
			w.sees("#f-payValue-wrong", "Please enter 1234 or 1.234.")
			for _, right := range []string{"1.234", "1,234.5", "1234"} {
				w.replaces("#f-payValue", right)
				w.isRight("payValue")
			}
			w.replaces("#f-payValue", "1.2345")
			w.click("[data-act=save]")
			w.sees("#f-payValue-wrong", "an amount")
		})
	}
}
