package migrations

// By is what the column of some rows names.
type By int8

// What columns name.
const (
	_          By = iota
	ByOrder       // an order's id
	ByPayment     // a payment's id
	BySubject     // the subject of an event: an order, or a place on a waiting list
	ByEndpoint    // such a subject, behind a webhook endpoint in the table's key (endpoint_id)
	ByEvent       // an event's number
	BySale        // a voucher's id
	ByUser        // a user's number
	ByBuyer       // a user's number, behind that of an ordinary voucher in the table's key (voucher_id)
)

// Rows are rows of a table: those whose column names something, and for which Where holds, unless it is empty.
type Rows struct {
	By     By
	Column string
	Where  string
}

// Table says what a purge and forgetting a person do with a table. A test refuses a table that says nothing, and a
// column about people that is not named here.
type Table struct {
	Name string
	// Purge has the rows that are deleted with an order, with its payments and events, or with a sale.
	Purge Rows
	// Forget has the rows about a person. They are found by the person's number, or by their orders, or in their sales.
	Forget Rows
	// Number is the column with the person's number, which becomes a pseudonym. Without it, the rows of Forget are
	// deleted.
	Number string
	// Staff are columns that name members of staff. They stay: a shop must be able to say who did what.
	Staff []string
	// Stays says what is left of the table, and why.
	Stays string
}

// Tables returns all tables, children before their parents: in this order their rows are deleted.
func Tables() []Table {
	orders := func(column string) Rows { return Rows{By: ByOrder, Column: column} }
	users := func(column string) Rows { return Rows{By: ByUser, Column: column} }
	return append([]Table{
		// What belongs to an order.
		{Name: "tb_webhook_dead_letter", Purge: Rows{By: ByEvent, Column: "number"}},
		{Name: "tb_webhook_retry", Purge: Rows{By: ByEndpoint, Column: "subject"}},
		{
			Name: "tb_webhook_event", Purge: Rows{By: BySubject, Column: "subject"},
			Forget: Rows{By: BySubject, Column: "subject"}, Number: "body",
			Stays: "events of sales name nobody, and are deleted by their age (SECKILL_WEBHOOK_KEEP)",
		},
		{Name: "tb_order_event", Purge: orders("order_id"), Staff: []string{"actor"}},
		{
			Name: "tb_coupon", Purge: orders("order_id"), Forget: orders("order_id"),
			Staff: []string{"reserved_by", "redeemed_by"},
		},
		{Name: "tb_payment_cancel", Purge: Rows{By: ByPayment, Column: "payment_id"}},
		{Name: "tb_refund", Purge: Rows{By: ByPayment, Column: "payment_id"}, Staff: []string{"actor"}},
		{Name: "tb_payment", Purge: orders("order_id"), Forget: orders("order_id"), Number: "user_id"},
		{
			Name: "tb_voucher_operation", Purge: Rows{BySale, "voucher_id", "order_id IS NOT NULL"},
			Forget: Rows{By: BySale, Column: "voucher_id"}, Number: "user_id", Staff: []string{"actor"},
			Stays: "changes of a sale by staff: the audit trail names them",
		},
		{
			Name: "tb_place", Purge: Rows{By: BySale, Column: "voucher_id"},
			Forget: users("user_id"), Number: "user_id",
		},
		{Name: "tb_voucher_order", Purge: orders("id"), Forget: users("user_id"), Number: "user_id"},
		// What belongs to a person.
		{
			Name: "tb_limited_buyer", Forget: Rows{By: ByBuyer, Column: "user_id"},
			Stays: "who has bought an ordinary voucher with a limit: two numbers, which count nothing; the orders do",
		},
		{
			Name: "tb_request", Forget: users("caller"),
			Stays: "idempotency keys, for 30 days: one whose order is purged is answered that it no longer exists",
		},
		{Name: "tb_unpaid", Forget: users("user_id"), Stays: "counts of a week"},
		{
			Name: "tb_refusal", Purge: Rows{By: BySale, Column: "voucher_id"}, Forget: users("user_id"),
			Stays: "first refusals in sales, for 30 days",
		},
		{
			Name: "tb_draw_entry", Purge: Rows{By: BySale, Column: "voucher_id"}, Forget: users("user_id"),
			Number: "user_id", Stays: "who entered a draw: the list stays whole, so that it can be checked",
		},
		{
			Name: "tb_account", Forget: users("id"),
			Stays: "who signs in; the subject goes with the row",
		},
		{
			Name:  "tb_session_void",
			Stays: "first_user, last_user: a forgotten person's number, so that its tokens stay void",
		},
		{
			Name:  "tb_forgotten",
			Stays: "pseudonyms; whose they are, in user_id, only while forgetting goes on",
		},
		// What belongs to a sale or a shop, and names no buyer.
		{Name: "tb_voucher", Stays: "what was sold; per_user is a number of units"},
		{Name: "tb_seckill_voucher", Stays: "the sale, with its sums of units"},
		{Name: "tb_purge", Stays: "the figures of what was purged"},
		{Name: "tb_purge_day", Stays: "the money of what was purged, by day"},
		{Name: "tb_sale_minute", Stays: "the timeline of a report: counts, by the second"},
		{
			Name:  "tb_sale_journal",
			Stays: "when a sale was sold out, for 30 days; users is how many were refused",
		},
		{Name: "tb_draw", Stays: "the commitments of a sale's draws; number is that of a draw"},
		{Name: "tb_waiting_list", Stays: "one row for a list"},
		{Name: "tb_lost_decision", Stays: "what a ledger had lost, for the audit trail"},
		{Name: "tb_rehearsal", Staff: []string{"admin_id"}, Stays: "what made-up users measured"},
		{Name: "tb_shop", Stays: "a shop's name and bounds"},
		{Name: "tb_voucher_template", Stays: "what new vouchers are made from"},
		{Name: "tb_webhook_endpoint", Stays: "where events are sent; lease_owner is a process"},
		{
			Name: "tb_audit", Staff: []string{"admin_id"},
			Stays: "who changed what, for SECKILL_AUDIT_KEEP; entries about a buyer's tokens or data are rewritten",
		},
	}, ofTheInstallation()...)
}

// ofTheInstallation returns the tables that belong to no order, person, sale or shop.
func ofTheInstallation() []Table {
	return []Table{
		{Name: "tb_fence", Stays: "tokens of jobs"},
		{Name: "tb_setting", Stays: "what all instances agree on"},
		{Name: "tb_issuer", Stays: "identity providers"},
		{Name: "tb_webhook_sequence", Stays: "the last number of an event"},
		{Name: "tb_event_stream", Stays: "which events are gone"},
		{Name: "tb_sale_event", Stays: "which events of a sale were written"},
		{Name: "tb_refused_notice", Stays: "the last refused notice of each kind"},
		{Name: "tb_format", Stays: "the format of the ledger"},
	}
}
