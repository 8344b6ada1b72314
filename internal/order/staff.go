package order

import (
	"fmt"
	"strconv"

	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// StaffAct is an act of staff on somebody's order. It takes effect once for each key of its author, and the audit trail
// has an entry of it.
type StaffAct struct {
	OrderID int64
	By      voucher.Author
	Why     string // for people; it is in the audit trail, but not in the order's history, which its owner reads
}

// PaymentAct is an act of staff on a payment whose refund is stuck. Like a StaffAct, it takes effect once for each key.
type PaymentAct struct {
	PaymentID string
	By        voucher.Author
	Why       string
}

// Actor returns the act's author as histories name them.
func (a PaymentAct) Actor() Actor { return ByAdmin(a.By.AdminID) }

// Audited returns the audit trail's entry for an act that moves a payment, and its order, from one state to another.
func (a PaymentAct) Audited(from, to payment.State, before, after Order) []voucher.FieldChange {
	changes := []voucher.FieldChange{
		{Field: "paymentId", From: a.PaymentID, To: a.PaymentID},
		{Field: "paymentState", From: from.String(), To: to.String()},
	}
	return append(changes, StaffAct{OrderID: before.ID, Why: a.Why}.Audited(before.Status, after.Status)...)
}

// Actor returns the act's author as histories name them.
func (a StaffAct) Actor() Actor { return ByAdmin(a.By.AdminID) }

// ByAdmin returns the actor for the admin with the user id; 0 is the service itself.
func ByAdmin(id int64) Actor {
	if id == 0 {
		return ByService
	}
	return Actor(fmt.Sprintf("admin %d", id))
}

// Made returns what is stored with the act's key: the order's id.
func (a StaffAct) Made() string { return strconv.FormatInt(a.OrderID, 10) }

// Audited returns the audit trail's entry for an act that moves the order from one state to another; more has its
// other changes.
func (a StaffAct) Audited(from, to Status, more ...voucher.FieldChange) []voucher.FieldChange {
	changes := []voucher.FieldChange{{Field: "orderId", From: a.Made(), To: a.Made()}}
	if from != to {
		changes = append(changes, voucher.FieldChange{Field: "orderStatus", From: from.String(), To: to.String()})
	}
	changes = append(changes, more...)
	return append(changes, voucher.FieldChange{Field: "why", To: a.Why})
}
