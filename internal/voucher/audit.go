package voucher

import (
	"strconv"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/moment"
)

// Author is the admin or merchant who makes a change, and the request that asked for it.
type Author struct {
	AdminID int64           // their user id; 0: the service itself
	Shop    int64           // the shop of a merchant, who may change nothing else; 0: any
	Request string          // the id of the request, as in its answer and in the log; "" for none
	Key     idempotency.Key // the author's Idempotency-Key: a request with it creates something once

	MaxUnits int64 // Bounds.Units where Shop is set; Service fills it in
}

// Account identifies a user by their identity provider.
type Account struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Entry is one entry of the audit trail: a change by an admin or a merchant. It is written in the change's transaction.
type Entry struct {
	ID        int64
	At        time.Time
	By        Author
	Action    Action
	VoucherID int64 // 0: no voucher
	ShopID    int64 // whose merchants may read it; 0: for admins only, unless it has a voucher
	Changes   []FieldChange
	Delta     int64      // for Restocked: units added, or taken if negative
	Outcome   StockState // for Restocked
}

// Action is the kind of change: one of the constants. The word is stored and shown.
type Action string

// The changes that admins make.
const (
	Created   Action = "create"
	Changed   Action = "change" // texts, window, shelf, or several things at once
	Paused    Action = "pause"
	Resumed   Action = "resume"
	CalledOff Action = "call_off" // a sale, for good
	Archived  Action = "archive"
	Restored  Action = "restore"
	Restocked Action = "stock"
	Replayed  Action = "replay"  // a dead letter
	Discarded Action = "discard" // a dead letter
	Rotated   Action = "rotate"  // the key of codes
	Deleted   Action = "delete"  // a webhook endpoint, or a template
	Exported  Action = "export"  // orders, with their codes masked or whole
	Forced    Action = "force"   // a lock, taken from its holder
	Revoked   Action = "revoke"  // the tokens of a user, or of an issuer's users
	// DecisionLost: the database has lost a decision about a sale; a rebuild found it, and paused the sale.
	DecisionLost Action = "decision_lost"
	// LedgerRestored: an operator has said that the database was restored from a backup (server migrate -restored).
	LedgerRestored Action = "ledger_restored"

	// Purged: the old orders of a voucher are being deleted.
	Purged Action = "purge"
	// Forgotten: somebody's rows became nobody's. The entry does not say whose.
	Forgotten Action = "forget"
	// UserExported: what is stored about a user was exported.
	UserExported Action = "export_user"

	OrderCancelled Action = "cancel" // a buyer's order, by staff
	OrderRefunded  Action = "refund"

	RefundRetried Action = "retry_refund" // a refund that its provider refused
	RefundClosed  Action = "close_refund"
	PartRefunded  Action = "refund_part" // of a payment

	CouponExtended   Action = "extend"
	CouponUnredeemed Action = "unredeem"
)

// FieldChange is the change of one field, with values written as in a request.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from"` // "" for a new voucher
	To    string `json:"to"`
}

// AuditFilter selects entries. A zero field does not restrict.
type AuditFilter struct{ VoucherID, AdminID, ShopID int64 }

// Differences returns the fields that an admin can change and that differ between two states of a voucher. If from is
// the zero Voucher, every field that is set in to is new.
func Differences(from, to Voucher) []FieldChange {
	var changes []FieldChange
	was, is := fieldTexts(from), fieldTexts(to)
	for i, field := range is {
		if field.text != was[i].text {
			changes = append(changes, FieldChange{Field: field.name, From: was[i].text, To: field.text})
		}
	}
	return changes
}

// flag, written and positive return a value as text, or "" for the zero value.
func flag(set bool) string {
	if !set {
		return ""
	}
	return strconv.FormatBool(set)
}

func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return moment.Of(t).String()
}

func positive(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// fieldText is a field's name as in requests, and its value as text.
type fieldText struct{ name, text string }

func fieldTexts(v Voucher) []fieldText {
	number := func(n int64) string {
		if v.Status == 0 { // no voucher
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	texts := []fieldText{
		{"shopId", number(v.ShopID)},
		{"title", v.Title},
		{"subTitle", v.SubTitle},
		{"rules", v.Rules},
		{"picture", v.Picture},
		{"payValue", number(v.PayValue)},
		{"actualValue", number(v.ActualValue)},
		{"payWithinSeconds", number(int64(v.PayWithin / time.Second))},
		{"processingWithinSeconds", positive(int64(v.ProcessingWithin / time.Second))},
		{"redeemable", flag(v.Redemption.ByCode)},
		{"validUntil", written(v.Redemption.ValidUntil)},
		{"validDays", positive(v.Redemption.ValidDays)},
		{"visibleFrom", written(v.VisibleFrom)},
		{"perUser", positive(v.PerUser)},
		{"archiveTime", written(v.Archived)},
		{"status", number(int64(v.Status))},
	}
	stock, begin, end, paused, guards, window := "", "", "", "", "", ""
	if s := v.Sale; s != nil {
		stock, paused = strconv.FormatInt(s.Issued, 10), strconv.FormatBool(s.Paused)
		begin, end = written(s.Begin), written(s.End)
		guards, window = s.Guards.Text(), positive(int64(s.InviteWindow/time.Second))
	}
	return append(texts, fieldText{"stock", stock}, fieldText{"beginTime", begin}, fieldText{"endTime", end},
		fieldText{"paused", paused}, fieldText{"guards", guards}, fieldText{"waitlistWindowSeconds", window})
}

// ActionOf returns the action for a change of an existing voucher.
func ActionOf(changes []FieldChange) Action {
	if len(changes) != 1 {
		return Changed
	}
	switch c := changes[0]; {
	case c.Field == "archiveTime" && c.To != "":
		return Archived
	case c.Field == "archiveTime":
		return Restored
	case c.Field == "paused" && c.To == "true":
		return Paused
	case c.Field == "paused":
		return Resumed
	default:
		return Changed
	}
}
