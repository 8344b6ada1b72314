package guard

import (
	"context"
	"time"

	"github.com/google/uuid"

	"seckill/internal/feature"
	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/store"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "guard", Rules: Rules(), Open: open, Lock: store.DrawJob + ", which closes the draws of sales",
		Commands: []feature.Command{
			{
				Name: "guardkey", Summary: "show or rotate the salt with which the keys of guards are derived",
				Run: guardKey,
			},
			{Name: "draw", Summary: "check the draw of a sale that is over", Run: checkDraw},
		},
	}
}

func open(core feature.Core) (feature.Parts, error) {
	limits, counts, metrics := budget.NewTable(time.Now), tally.New(time.Now), NewMetrics()
	coolDown, redis, ledger := cooldown.NewUsers(time.Now), store.NewRedis(core.Partitions), store.NewLedger(core.DB)
	signing, err := openSigning(core, ledger.GuardSalts, limits)
	if err != nil {
		return feature.Parts{}, err
	}
	draws := NewDraws(ledger, core.Sales.AnyGuards, core.Log)
	guards := NewGuards(limits, counts, metrics.GuardStopped,
		ConditionsCheck{}, CoolDownCheck{coolDown}, TicketsCheck{signing.tickets, draws})
	units := NewUnits(limits, counts, core.Sales.OwnOrder, time.Now)
	entry := NewEntry(guards, core.Sales.Now, core.Sales.OwnOrder, func(saleID, userID int64) bool {
		return units.counted.has(saleID, userID) || core.Sales.Holds(saleID, userID)
	})
	parts := feature.Parts{
		Hooks:      []sqlkit.Hook{{VoucherChanged: ledger.VoucherChanged, Restored: ledger.Restored}},
		Gatekeeper: NewGate(guards, entry, units, core.Front, signing.tickets != nil),
		Jobs: []func(context.Context) error{
			cooldown.NewLoader(coolDown, ledger.UnpaidAfter, core.Sales.AnyGuards, core.Log).Run,
			tally.NewFlusher(counts, core.Sales.Find, redis.AddCounts, core.Log).Run, units.Run,
		},
		Routes: append(DrawRoutes(ledger, DrawDoors{
			Find: core.Sales.Find, Now: core.Sales.Now, Alone: core.Alone, Change: core.Vouchers.Change,
		}, core.Front), ProposalRoute(core.Redis.Instances)),
		Metrics: metrics.Collectors(),
		Members: feature.Members{"guards": {Sale: ShownFigures(redis.Figures)}},
	}
	if !core.Settings.Embedded() { // the embedded mode has one instance
		exchange := budget.NewExchange(limits, redis.ExchangeSpending, uuid.NewString(), core.Sales.AnyGuards,
			core.Log)
		parts.Jobs = append(parts.Jobs, exchange.Run)
	}
	if signing.tickets != nil {
		giver := NewTickets(signing.tickets, draws, signing.challenges, guards, core.Sales.Find, core.Sales.Now)
		parts.Routes = append(parts.Routes, Routes(giver.Give, core.Front)...)
		parts.Jobs = append(parts.Jobs, signing.ring.Run, signing.challenges.Run, draws.Run,
			func(ctx context.Context) error { return closeDraws(ctx, ledger.CloseDraws, core.TryLock, core.Log) })
	}
	return parts, nil
}

// signing has the parts of the guards that sign (tickets, challenges). All fields are nil without a secret.
type signing struct {
	ring       *keys.Ring
	tickets    *ticket.Tickets
	challenges *challenge.Challenges
}

// openSigning makes a signing. The embedded mode uses the secret of the tokens: each purpose has its own derived key.
func openSigning(
	core feature.Core, salts func(context.Context) ([]keys.Salt, error), limits *budget.Table,
) (signing, error) {
	secret := core.Settings.Guards.Secret.Reveal()
	if secret == "" && core.Settings.Embedded() {
		secret = string(core.Tokens.Secret)
	}
	if secret == "" {
		return signing{}, nil
	}
	ring, err := keys.NewRing(secret, salts, time.Now, core.Log)
	if err != nil {
		return signing{}, err
	}
	return signing{ring, ticket.New(ring), challenge.New(ring, limits, challenge.PoolDepth)}, nil
}
