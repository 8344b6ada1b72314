package config

import (
	"fmt"

	"seckill/internal/kit/currency"
)

// checkCurrency wants a code as ISO 4217 writes it, of a currency whose decimals are known.
func checkCurrency(code string, ps *problems) {
	if _, known := currency.Digits(code); !known {
		ps.add("SECKILL_CURRENCY", fmt.Sprintf("is %q", code),
			"a code of ISO 4217, in capitals, of a currency with no, two or three decimals, such as CNY, JPY or KWD")
	}
}
