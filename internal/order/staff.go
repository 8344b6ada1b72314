package order

import (
	"fmt"
	"strconv"

	"seckill/internal/voucher"
)

// StaffAct is what staff do with somebody's order: once for each key of its author, with an entry in the audit trail.
type StaffAct struct {
	OrderID int64
	By      voucher.Author
	Why     string // for people; the trail has it, the order's history does not, as its owner reads that
}

// PaymentAct is what staff do with a payment whose refund is stuck, as a StaffAct is done.
type PaymentAct struct {
	PaymentID string
	By        voucher.Author
	Why       string
}

// Actor returns who acts, as in histories.
func (a PaymentAct) Actor() Actor { return ByAdmin(a.By.AdminID) }

// Audited returns what the audit trail says of an act that brings a payment from one state to another, and its order.
func (a PaymentAct) Audited(from, to PaymentState, before, after Order) []voucher.FieldChange {
	changes := []voucher.FieldChange{
		{Field: "paymentId", From: a.PaymentID, To: a.PaymentID},
		{Field: "paymentState", From: from.String(), To: to.String()},
	}
	return append(changes, StaffAct{OrderID: before.ID, Why: a.Why}.Audited(before.Status, after.Status)...)
}

// Actor returns who acts, as in histories.
func (a StaffAct) Actor() Actor { return ByAdmin(a.By.AdminID) }

// ByAdmin returns the actor that is the admin with the user id; 0 is the service itself.
func ByAdmin(id int64) Actor {
	if id == 0 {
		return ByService
	}
	return Actor(fmt.Sprintf("admin %d", id))
}

// Made returns what a key of the act's author has made: the order.
func (a StaffAct) Made() string { return strconv.FormatInt(a.OrderID, 10) }

// Audited returns what the audit trail says of an act that brings the order from one state to another, and of what else
// it changes.
func (a StaffAct) Audited(from, to Status, more ...voucher.FieldChange) []voucher.FieldChange {
	changes := []voucher.FieldChange{{Field: "orderId", From: a.Made(), To: a.Made()}}
	if from != to {
		changes = append(changes, voucher.FieldChange{Field: "orderStatus", From: from.String(), To: to.String()})
	}
	changes = append(changes, more...)
	return append(changes, voucher.FieldChange{Field: "why", To: a.Why})
}
