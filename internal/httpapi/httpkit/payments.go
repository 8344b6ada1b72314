package httpkit

import (
	"math"
	"slices"
	"time"

	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// PaymentQuery is the option with the names by which a query selects payments.
func PaymentQuery(r *Route) {
	Query("payment", "orderId", "voucherId", "shopId", "state", "dispute", "refund", "overdrawn", "from", "to")(r)
}

// ReadPaymentFilter reads which payments a query selects; a merchant gets only those of their shop. Times without a
// zone are read in the zone. Besides the problems of the query it returns ErrNoShop for another shop than the
// merchant's.
func ReadPaymentFilter(
	values param.Query, who Identity, zone *time.Location,
) (f payment.Filter, problems []*invalid.Problem, err error) {
	var bad [10]*invalid.Problem
	f.Name, bad[0] = PaymentName(values)
	f.OrderID, bad[1] = values.ID("orderId", math.MaxInt64)
	f.VoucherID, bad[2] = values.ID("voucherId", voucher.MaxID)
	f.ShopID, bad[3] = values.ID("shopId", voucher.MaxID)
	states := payment.States()
	var i int
	if i, bad[4] = OneOf(values, "state", states); i >= 0 {
		f.State = states[i]
	}
	disputes := payment.Disputes()
	if i, bad[5] = OneOf(values, "dispute", disputes); i >= 0 {
		f.Dispute = &disputes[i]
	}
	f.From, bad[6] = values.Time("from", zone)
	f.To, bad[7] = values.Time("to", zone)
	refunds := payment.RefundStates()
	if i, bad[8] = OneOf(values, "refund", refunds); i >= 0 {
		f.Refund = refunds[i]
	}
	f.Overdrawn, bad[9] = values.Flag("overdrawn")
	if f.ShopID, err = who.Within(f.ShopID); err != nil {
		return f, nil, err
	}
	return f, bad[:], nil
}

// PaymentName returns the payment that a query names, by its id or by the provider's reference; "" if it names none.
func PaymentName(values param.Query) (string, *invalid.Problem) {
	text, given, bad := values.Text("payment")
	if given && (text == "" || payment.CheckReference(text) != nil) {
		return "", invalid.New("payment", invalid.Malformed, invalid.Length,
			invalid.Data{"value": invalid.Clip(text), "min": 1, "max": payment.MaxReference})
	}
	return text, bad
}

// OneOf returns the index of the word that the query has under a name; -1 for none.
func OneOf[T interface{ String() string }](values param.Query, name string, of []T) (int, *invalid.Problem) {
	text, given, bad := values.Text(name)
	if !given {
		return -1, bad
	}
	words := make([]string, len(of))
	for i, word := range of {
		words[i] = word.String()
	}
	i := slices.Index(words, text)
	if i < 0 {
		bad = invalid.New(name, invalid.Malformed, invalid.OneOf,
			invalid.Data{"value": invalid.Clip(text), "values": words})
	}
	return i, bad
}
