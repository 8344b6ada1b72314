package report

import (
	"maps"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// auditCSV answers GET /admin/audit.csv: all entries of the audit trail, or a voucher's or an admin's, newest first. A
// merchant gets their own shop's.
func (h handlers) auditCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	adminID, badAdmin := values.ID("adminId", voucher.MaxID)
	form, badMark, badBook := readForm(values)
	if err := invalid.Join(badQuery, badVoucher, badAdmin, badMark, badBook); err != nil {
		return httpkit.Answer{}, err
	}
	f := voucher.AuditFilter{VoucherID: voucherID, AdminID: adminID, ShopID: who.Only()}
	names := make(map[int64]string) // of the shops on a page
	columns := auditColumns(names)
	return h.sendFile(c, who, file{"audit", form}, headsOf(columns), func(c *gin.Context, out *fileStream) error {
		return h.reports.Audit(c.Request.Context(), f, func(page []AuditRow) error {
			clear(names)
			maps.Copy(names, httpkit.ShopNames(c.Request.Context(), h.front.Members, page,
				func(r AuditRow) int64 { return r.Entry.ShopID }))
			return addLines(out, columns, page)
		})
	})
}
