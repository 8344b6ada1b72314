package order

import "context"

// Provider moves money: a payment service.
type Provider interface {
	// Begin makes the provider expect the payment and returns where the buyer pays. Repeating it for the same payment is
	// harmless.
	Begin(ctx context.Context, p Payment) (payURL string, err error)
	// Refund sends the money back. Repeating it for the same payment is harmless.
	Refund(ctx context.Context, p Payment) error
}

// Payments are the ledger of payments. Each method is one transaction.
type Payments interface {
	// OpenPayment stores a new payment under the id for the owner's unpaid order, or returns the one that is open for it
	// already. ErrNotFound when the order is not there or somebody else's; *StateError when it is not unpaid.
	OpenPayment(ctx context.Context, owner, orderID int64, id string) (Payment, error)
	// Receive records that the provider has the money (PaymentState draws what follows). A late one for a seckill order
	// whose sale is not retired gets a Revival to be applied; for an ordinary voucher the order is revived at once. It
	// returns the payment and the order as they are then, the same when it is repeated. ErrNoPayment, ErrWrongAmount.
	Receive(ctx context.Context, n Notice) (Payment, Order, error)
	// AskRefund takes the owner's paid order to refunding, and its received payment too. Repeating it is no error.
	AskRefund(ctx context.Context, owner, orderID int64) (Order, error)
	// Refunding returns up to n payments whose money is to go back, the oldest first.
	Refunding(ctx context.Context, n int) ([]Payment, error)
	// Refunded records that the money has gone back: ConfirmRefund for an order that is refunding by this payment, with
	// its operation. It returns the order as it is then. Repeating it is no error.
	Refunded(ctx context.Context, paymentID string) (Order, error)
	// ReviveLate gives up to n late payments whose Revival was voided by a rebuild a new one, or makes them refunding
	// when their sale has been retired. It returns the vouchers concerned.
	ReviveLate(ctx context.Context, n int) ([]int64, error)
}
