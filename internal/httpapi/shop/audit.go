package shop

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// audit answers GET /admin/audit: what admins and merchants have changed, newest first, in pages like GET /order. A
// merchant sees only their own shop's entries.
func (a *API) audit(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	adminID, badAdmin := values.ID("adminId", voucher.MaxID)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(badQuery, badVoucher, badAdmin, badLimit, badCursor); err != nil {
		return httpkit.Answer{}, err
	}
	f := voucher.AuditFilter{VoucherID: voucherID, AdminID: adminID, ShopID: who.Only()}
	entries, err := a.cfg.Ledger.Entries(c.Request.Context(), f, cursor, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	entries, next := httpkit.Page(entries, n, func(e voucher.Entry) string { return strconv.FormatInt(e.ID, 10) })
	accounts, err := a.cfg.Members.Authors(c.Request.Context(), entries)
	if err != nil {
		return httpkit.Answer{}, err
	}
	names := httpkit.ShopNames(c.Request.Context(), a.cfg.Members, entries,
		func(e voucher.Entry) int64 { return e.ShopID })
	views, find := make([]entryJSON, len(entries)), a.vouchers(c.Request.Context())
	for i, e := range entries {
		views[i] = entryView(e)
		views[i].ShopName = names[e.ShopID]
		// A merchant's own request may have named the voucher of another shop.
		if v := find(e.VoucherID); who.Only() == 0 || v.ShopID == who.Only() {
			views[i].Title = v.Title
		}
		if account, ok := accounts[e.By.AdminID]; ok {
			views[i].Account = &account
		}
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Next: next}}, nil
}

// entryJSON is an entry of the audit trail as admins read it.
type entryJSON struct {
	ID        string                `json:"id"` // a string, as it is the cursor of the pages
	At        httpkit.Time          `json:"at"`
	AdminID   int64                 `json:"adminId"` // 0: the service itself
	Account   *voucher.Account      `json:"account,omitempty"`
	RequestID string                `json:"requestId"` // as in the log
	Action    voucher.Action        `json:"action"`
	VoucherID int64                 `json:"voucherId,omitempty"`
	Title     string                `json:"title,omitempty"`    // of the voucher; absent if it cannot be read
	ShopID    int64                 `json:"shopId,omitempty"`   // whose merchants may read it
	ShopName  string                `json:"shopName,omitempty"` // absent: it has none
	Changes   []voucher.FieldChange `json:"changes"`
	Delta     int64                 `json:"delta,omitempty"`   // units added to the stock; negative: removed
	Outcome   string                `json:"outcome,omitempty"` // whether Redis took the change of stock
}

func entryView(e voucher.Entry) entryJSON {
	v := entryJSON{
		ID: strconv.FormatInt(e.ID, 10), At: httpkit.ShownTime(e.At), AdminID: e.By.AdminID, RequestID: e.By.Request,
		Action: e.Action, VoucherID: e.VoucherID, ShopID: e.ShopID, Changes: e.Changes, Delta: e.Delta,
	}
	if v.Changes == nil {
		v.Changes = []voucher.FieldChange{} // a list, even if it is empty
	}
	if e.Action == voucher.Restocked {
		v.Outcome = e.Outcome.String()
	}
	return v
}
