package journal

import (
	"context"
	"net/http"
	"net/netip"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "journal", Open: open, Lock: cleaner + ", which deletes refusals after 30 days",
	}
}

func open(core feature.Core) (feature.Parts, error) {
	ledger, most := NewLedger(core.DB), core.Settings.Journal.Users
	parts := feature.Parts{Jobs: []func(context.Context) error{
		func(ctx context.Context) error { return clean(ctx, ledger, core) },
	}}
	var journal *Journal
	if most > 0 && core.Sales.Watch != nil {
		journal = NewJournal(most, core.Sales.Clock)
		core.Sales.Watch(journal.Observed)
		address := core.Front.Address
		parts.Refused = func(r *http.Request, who httpkit.Identity, voucherID int64, code string) {
			journal.Refused(voucherID, who.UserID, code, func() netip.Addr { return address(r) })
		}
		writer := NewWriter(journal, ledger, core.Settings.Server.ShutdownTimeout/2, core.Log)
		parts.Jobs = append(parts.Jobs, writer.Run)
	}
	reader := NewReader(journal, ledger, core.Redis.OrdersOf)
	parts.Routes = Routes(reader, core.Sales.Find, core.Front)
	parts.Members = feature.Members{"journal": {Sale: reader.member}}
	return parts, nil
}
