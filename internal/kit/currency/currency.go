// Package currency knows how many decimals the currencies of ISO 4217 have. Amounts are whole numbers of a currency's
// least unit: cents of a euro, yen, fils of a dinar of Kuwait.
package currency

import (
	"fmt"
	"slices"
	"strings"
)

// The active codes of ISO 4217 by their decimals, without funds and those with four.
const (
	withNone = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
	withTwo  = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY " +
		"COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS " +
		"INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD " +
		"NGN NIO NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC " +
		"SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW"
	withThree = "BHD IQD JOD KWD LYD OMR TND"
)

// Digits returns how many decimals a currency has, and whether the code is one that is known.
func Digits(code string) (digits int, known bool) {
	for of, codes := range map[int]string{0: withNone, 2: withTwo, 3: withThree} {
		if slices.Contains(strings.Fields(codes), code) {
			return of, true
		}
	}
	return 0, false
}

// Write returns an amount with its decimals and thousands, as in English, after the currency's sign: "¥" for CNY, which
// is what its buyers know, else the code. An amount of an unknown currency has two decimals.
func Write(amount int64, code string) string {
	digits, known := Digits(code)
	if !known {
		digits = 2
	}
	sign := "¥"
	if code != "CNY" {
		sign = code + "\u00a0" // a blank that does not break
	}
	if amount < 0 {
		sign, amount = "-"+sign, -amount
	}
	text := fmt.Sprintf("%0*d", digits+1, amount)
	whole, decimals := text[:len(text)-digits], text[len(text)-digits:]
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if digits > 0 {
		whole += "." + decimals
	}
	return sign + whole
}
