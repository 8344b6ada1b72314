package currency

import "testing"

// Amounts are written with as many decimals as their currency has.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount int64
		code   string
		want   string
	}{
		{1_234_05, "CNY", "¥1,234.05"},
		{5, "CNY", "¥0.05"},
		{100, "EUR", "EUR\u00a01.00"},
		{-7, "USD", "-USD\u00a00.07"},
		{1234, "JPY", "JPY\u00a01,234"},
		{0, "KRW", "KRW\u00a00"},
		{1_234_567, "KWD", "KWD\u00a01,234.567"},
		{5, "TND", "TND\u00a00.005"},
		{100, "???", "???\u00a01.00"},
	} {
		if got := Write(c.amount, c.code); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.amount, c.code, got, c.want)
		}
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"CNY": 2, "JPY": 0, "KWD": 3, "XOF": 0, "IQD": 3} {
		if got, known := Digits(code); got != want || !known {
			t.Errorf("%s: %d, %t", code, got, known)
		}
	}
	for _, code := range []string{"", "cny", "CLF", "XXX", "CNY EUR"} {
		if got, known := Digits(code); known {
			t.Errorf("%q has %d decimals", code, got)
		}
	}
}
