package rehearsal

import (
	"errors"
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// Rules returns the refusals of rehearsals.
func Rules() []httpkit.Rule {
	runs := func(err error) bool { return errors.Is(err, errStarting) || httpkit.As[*RunningError](err) }
	return []httpkit.Rule{
		{Matches: httpkit.Is(ErrNone), Failure: httpkit.Failure{
			Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
			Detail:  "There is no rehearsal with this id, or nothing of its sale is left.",
			English: "There is no such rehearsal.", Chinese: "该演练不存在",
		}},
		{Matches: httpkit.Is(ErrOver), Failure: httpkit.Failure{
			Code: "REHEARSAL_OVER", Status: http.StatusConflict, Title: "The rehearsal has ended",
			Detail: "The rehearsal's time was over a minute before this report, and its orders may be gone: it " +
				"says nothing any more.",
			English: "This rehearsal has ended.", Chinese: "演练已结束",
		}},
		{Matches: httpkit.As[*NearSaleError], Failure: httpkit.Failure{
			Code: "SALE_NEAR", Status: http.StatusConflict, Title: "A sale is near",
			Detail: "A sale runs, or begins within the hour; data says which. A rehearsal would take " +
				"what its buyers need.",
			English: "A sale runs or begins within the hour. Rehearse before or after it.",
			Chinese: "有活动正在进行或将在一小时内开始，此时不能演练",
			Members: httpkit.DataOf(func(e *NearSaleError) any {
				return nearSaleJSON{e.VoucherID, httpkit.ShownTime(e.Begin), httpkit.ShownTime(e.End)}
			}),
		}},
		{Matches: runs, Failure: httpkit.Failure{
			Code: "REHEARSAL_RUNS", Status: http.StatusConflict, Title: "A rehearsal runs",
			Detail:  "Another rehearsal has not ended, or is being started. There is one at a time.",
			English: "Another rehearsal has not ended.", Chinese: "已有演练正在进行",
		}},
	}
}

// nearSaleJSON is the sale that is near.
type nearSaleJSON struct {
	VoucherID int64        `json:"voucherId"`
	Begin     httpkit.Time `json:"beginTime"`
	End       httpkit.Time `json:"endTime"`
}
