package config

import (
	"fmt"
	"slices"
	"strings"
)

// currencies are the active codes of ISO 4217 whose unit has a hundred parts. Every amount of the service is in
// hundredths, so other currencies (the yen has no parts, the dinar of Kuwait a thousand) would be wrong by a factor.
const currencies = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF " +
	"CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS " +
	"INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN " +
	"NIO NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL " +
	"THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW"

// checkCurrency wants a code as ISO 4217 writes it.
func checkCurrency(code string, ps *problems) {
	if !slices.Contains(strings.Fields(currencies), code) {
		ps.add("SECKILL_CURRENCY", fmt.Sprintf("is %q", code),
			"a code of ISO 4217, in capitals, whose unit has a hundred parts, such as CNY, EUR or USD")
	}
}
