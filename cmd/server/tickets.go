package main

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
	"seckill/internal/guard/keys"
	"seckill/internal/guard/ticket"
	"seckill/internal/httpapi"
	"seckill/internal/kit/config"
	"seckill/internal/order/admission"
	"seckill/internal/order/catalog"
	"seckill/internal/order/service"
)

// tickets are the guards that sign. All is nil without a secret.
type tickets struct {
	ring       *keys.Ring
	tickets    *ticket.Tickets
	challenges *challenge.Challenges
	service    *service.Tickets
}

// openTickets returns the guards that sign. In the embedded mode the tokens' secret serves them too: keys are derived
// for each purpose.
func openTickets(cfg config.Config, s *stores, limits *guard.LimitsTable, log *slog.Logger) (*tickets, error) {
	secret := cfg.Guards.Secret.Reveal()
	if secret == "" && cfg.Embedded() {
		secret = s.secret
	}
	if secret == "" {
		return &tickets{}, nil
	}
	ring, err := keys.NewRing(secret, s.ledger, time.Now, log)
	if err != nil {
		return nil, err
	}
	return &tickets{
		ring: ring, tickets: ticket.New(ring), challenges: challenge.New(ring, limits, challenge.PoolDepth),
	}, nil
}

// jobs are what runs for tickets.
func (t *tickets) jobs() []func(context.Context) error {
	if t.ring == nil {
		return nil
	}
	return []func(context.Context) error{t.ring.Run, t.challenges.Run}
}

// open wires what gives out tickets.
func (t *tickets) open(guards *guard.Guards, catalog *catalog.Catalog, admission *admission.Admission) {
	if t.ring != nil {
		t.service = service.NewTickets(t.tickets, t.challenges, guards, catalog, admission)
	}
}

// routes is what HTTP gives out tickets with; nil without a secret.
func (t *tickets) routes() httpapi.Tickets {
	if t.service == nil {
		return nil
	}
	return t.service
}
