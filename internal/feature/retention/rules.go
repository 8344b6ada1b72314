package retention

import (
	"errors"
	"net/http"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
)

// Rules are the refusals of forgetting.
func Rules() []httpkit.Rule {
	return []httpkit.Rule{
		{Matches: httpkit.As[*OwedError], Failure: httpkit.Failure{
			Code: "STILL_OWED", Status: http.StatusConflict, Title: "Something is owed yet",
			Detail: "A sale of the user's is not retired, or something of theirs is owed: data has how many of what. " +
				"Nothing was changed, unless it was bought while forgetting went on.",
			English: "Not yet: something of this user's is owed, or a sale of theirs is not over.",
			Chinese: "暂时不能：该用户仍有未了结的订单，或其参加的活动尚未结束",
			Members: func(body []byte, _ words.Language, err error) []byte {
				e, _ := errors.AsType[*OwedError](err)
				return httpkit.AppendJSON(append(body, `,"data":`...), map[string]Debts{"owed": e.Owed})
			},
		}},
	}
}
