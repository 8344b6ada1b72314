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
	"seckill/internal/httpapi/httpkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "guard", Rules: Rules(), Open: open,
		Commands: []feature.Command{{
			Name: "guardkey", Summary: "show or rotate the salt with which the keys of guards are derived",
			Run: guardKey,
		}},
	}
}

func open(core feature.Core) (feature.Parts, error) {
	limits, counts, metrics := budget.NewTable(time.Now), tally.New(time.Now), NewMetrics()
	coolDown, redis, ledger := cooldown.NewUsers(time.Now), store.NewRedis(core.Partitions), store.NewLedger(core.DB)
	signing, err := openSigning(core, ledger.GuardSalts, limits)
	if err != nil {
		return feature.Parts{}, err
	}
	guards := NewGuards(limits, counts, metrics.GuardStopped,
		ConditionsCheck{}, CoolDownCheck{coolDown}, TicketsCheck{signing.tickets})
	units := NewUnits(limits, counts, core.Sales.OwnOrder, time.Now)
	entry := NewEntry(guards, core.Sales.Now, core.Sales.OwnOrder, func(saleID, userID int64) bool {
		return units.counted.has(saleID, userID) || core.Sales.Holds(saleID, userID)
	})
	parts := feature.Parts{
		Gatekeeper: NewGate(guards, entry, units, core.Front, signing.tickets != nil),
		Jobs: []func(context.Context) error{
			cooldown.NewLoader(coolDown, ledger.UnpaidAfter, core.Sales.AnyGuards, core.Log).Run,
			tally.NewFlusher(counts, core.Sales.Find, redis.AddCounts, core.Log).Run, units.Run,
		},
		Routes:  []httpkit.Route{ProposalRoute(core.Redis.Instances)},
		Metrics: metrics.Collectors(),
		Members: feature.Members{"guards": {Sale: ShownFigures(redis.Figures)}},
	}
	if !core.Settings.Embedded() { // the embedded mode has one instance
		exchange := budget.NewExchange(limits, redis.ExchangeSpending, uuid.NewString(), core.Sales.AnyGuards,
			core.Log)
		parts.Jobs = append(parts.Jobs, exchange.Run)
	}
	if signing.tickets != nil {
		giver := NewTickets(signing.tickets, signing.challenges, guards, core.Sales.Find, core.Sales.Now)
		parts.Routes = append(parts.Routes, Routes(giver.Give, core.Front)...)
		parts.Jobs = append(parts.Jobs, signing.ring.Run, signing.challenges.Run)
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
