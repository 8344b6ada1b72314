package report

import (
	"encoding/json"
	"fmt"

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
	mark, badMark := values.Flag("bom")
	if err := invalid.Join(badQuery, badVoucher, badAdmin, badMark); err != nil {
		return httpkit.Answer{}, err
	}
	f := voucher.AuditFilter{VoucherID: voucherID, AdminID: adminID, ShopID: who.Only()}
	return h.sendCSV(c, who, csvFile{"audit.csv", mark}, auditHead(), func(c *gin.Context, out *csvStream) error {
		return h.reports.Audit(c.Request.Context(), f, func(page []AuditRow) error {
			for _, row := range page {
				line, err := auditLine(row)
				if err != nil {
					return err
				}
				out.line(line...)
			}
			return out.flush()
		})
	})
}

// auditHead returns the heads of the columns.
func auditHead() []string {
	return []string{
		"id", "at", "adminId", "account.issuer", "account.subject", "requestId", "action", "voucherId", "changes",
		"delta", "outcome",
	}
}

func auditLine(r AuditRow) ([]string, error) {
	e := r.Entry
	changes, err := json.Marshal(e.Changes)
	if err != nil {
		return nil, fmt.Errorf("the changes of audit entry %d: %w", e.ID, err)
	}
	if len(e.Changes) == 0 {
		changes = nil
	}
	of, delta, outcome := "", "", ""
	if e.VoucherID != 0 {
		of = csvNumber(e.VoucherID)
	}
	if e.Action == voucher.Restocked {
		delta, outcome = csvNumber(e.Delta), e.Outcome.String()
	}
	return []string{
		csvNumber(e.ID), csvTime(e.At), csvNumber(e.By.AdminID), cell(r.Author.Issuer), cell(r.Author.Subject),
		cell(e.By.Request), string(e.Action), of, string(changes), delta, outcome,
	}, nil
}
