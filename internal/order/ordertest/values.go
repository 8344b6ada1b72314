package ordertest

import (
	"context"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

const (
	// VoucherA is the id of the seckill voucher of the tests.
	VoucherA int64 = 7
	// VoucherB is the id of another voucher.
	VoucherB int64 = 8
)

// NewClaim returns a claim of epoch 1 whose sequence is its order id.
func NewClaim(id, user, voucherID int64) order.Claim {
	return order.Claim{OrderID: id, UserID: user, VoucherID: voucherID, Epoch: 1, Sequence: id}
}

// VoucherAt returns a voucher whose sale has that mark in the ledger.
func VoucherAt(epoch, sequence int64) voucher.Voucher {
	v := SaleVoucher(5)
	v.Sale.Epoch, v.Sale.Sequence = epoch, sequence
	return v
}

// SaleVoucher returns a seckill voucher with that stock, at epoch 4.
func SaleVoucher(stock int64) voucher.Voucher {
	return voucher.Voucher{
		ID: VoucherA, Kind: voucher.Seckill, Status: voucher.OnShelf,
		Sale: &voucher.Sale{Stock: stock, Issued: stock, Begin: Begin, End: End, Epoch: 4},
	}
}

// Ordinary returns an ordinary voucher.
func Ordinary() voucher.Voucher {
	return voucher.Voucher{ID: VoucherB, Kind: voucher.Ordinary, Status: voucher.OnShelf}
}

// VerdictOf returns the script's result for requests, with the sequence after them.
func VerdictOf(sequence int64, codes ...gate.Outcome) gate.BatchResult {
	v := gate.BatchResult{View: order.SaleView{Mark: order.Mark{Epoch: 3, Sequence: sequence}}}
	for _, c := range codes {
		v.Results = append(v.Results, gate.Result{Outcome: c})
	}
	return v
}

// BatchOf returns a batch of n requests, of users from the given one on, with order ids 100 above.
func BatchOf(voucherID, from int64, n int) gate.Batch {
	b := gate.Batch{Sale: order.SaleRef{VoucherID: voucherID}}
	for i := range int64(n) {
		b.Requests = append(b.Requests, gate.Request{UserID: from + i, OrderID: from + i + 100})
	}
	return b
}

// EachSale returns a gate that decides about one batch after the other. An error of one batch fails the call.
func EachSale(
	decide func(ctx context.Context, b gate.Batch) (gate.BatchResult, error),
) func(ctx context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
	return func(ctx context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
		results := make([]gate.BatchResult, len(batches))
		for i, b := range batches {
			var err error
			if results[i], err = decide(ctx, b); err != nil {
				return nil, err
			}
		}
		return results, nil
	}
}

// WaitUntil fails the test if ok does not hold within ten seconds.
func WaitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited ten seconds in vain")
		}
	}
}
