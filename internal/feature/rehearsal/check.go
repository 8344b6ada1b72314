package rehearsal

import (
	"slices"

	"seckill/internal/kit/preflight"
	"seckill/internal/kit/words"
)

// checkName is the name of the line in the list before a sale.
const checkName = "rehearsal"

// lineOf is about the rehearsal, nil for none. A change of the sale after it may have made it worthless.
func lineOf(r *Run, changes []preflight.Change) preflight.Line {
	if r == nil {
		return preflight.NewLine(checkName, preflight.Warning, preflight.Say("it was not rehearsed", "尚未演练"),
			preflight.Say("rehearse it, up to an hour before a sale", "请演练一次（任何活动开始一小时前）"))
	}
	at := r.Begin
	stamp := preflight.Stamp(at)
	changed := slices.ContainsFunc(changes, func(c preflight.Change) bool { return c.At.After(at) })
	switch {
	case !preflight.Go(Forecast(r.Figures)):
		return preflight.NewLine(checkName, preflight.No, preflight.Say("that of %s was a no-go",
			"%s 的演练结论为不可开始", stamp),
			preflight.Say("see why on its page, and rehearse again", "查看原因并重新演练"))
	case changed:
		return preflight.NewLine(checkName, preflight.Warning, preflight.Say("go, at %s; the sale was changed since",
			"%s 的演练通过，但此后活动有修改", stamp),
			preflight.Say("rehearse again if the change matters", "如修改有影响，请重新演练"))
	}
	return preflight.NewLine(checkName, preflight.OK, preflight.Say("go, at %s", "%s 的演练通过", stamp), words.Text{})
}
