package order

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Hearings is Redis as a witness sees it.
type Hearings interface {
	// Attend says that the witness lives, and returns the sales that were stopped for a rebuild lately.
	Attend(ctx context.Context, partition int, witness string) ([]Hearing, error)
	// Testify hands in what the witness knows of the sale, and reports whether it came in time, and the sale's epoch.
	// Handing it in again is harmless.
	Testify(ctx context.Context, h Hearing, witness string, t Testimony) (heard bool, epoch int64, err error)
}

// Hearing is the part of a rebuild in which it waits for what living instances remember.
type Hearing struct {
	Sale    SaleRef
	Stopped int64 // names the stop: when it was, milliseconds since 1970 by Redis's clock
}

// Testimony is what one instance remembers of a sale.
type Testimony struct {
	Seen   Mark    // the highest mark that Redis has told it of
	Claims []Claim // what it has accepted lately
}

// Sightings tells how far Redis has said that a sale had got: Admission.
type Sightings interface {
	// Seen returns the highest mark of the sale that Redis has answered with.
	Seen(voucherID int64) Mark
}

const (
	attendEvery = 200 * time.Millisecond // how often a witness says that it lives, and looks for rebuilds
	testifyTime = 10 * time.Second       // handing in what is known of one sale may take
)

// Witness hands in what this instance remembers of a sale that is rebuilt (rule 10), so that an order which Redis
// accepted and then lost becomes a claim all the same. Every instance runs one.
//
// One that comes too late, because its process stood still, looks whether the rebuild has found its orders without it;
// if not, it has the sale rebuilt once more.
type Witness struct {
	stores    WitnessStores
	partition int
	name      string
	diary     *Diary
	sightings Sightings
	mender    Mender
	log       *slog.Logger

	heard map[int64]int64 // by voucher id: the stop for which everything was said
}

// WitnessStores are the stores of a Witness.
type WitnessStores struct {
	Hearings Hearings
	Held     Held
	Rows     Rows
}

// NewWitness returns the witness of one partition. Its name is the process's own.
func NewWitness(stores WitnessStores, partition int, name string, diary *Diary, sightings Sightings, mender Mender, log *slog.Logger) *Witness {
	return &Witness{
		stores: stores, partition: partition, name: name, diary: diary, sightings: sightings, mender: mender, log: log,
		heard: make(map[int64]int64),
	}
}

// Run attends until ctx ends. It never returns an error: what fails is tried again.
func (w *Witness) Run(ctx context.Context) error {
	ticker := time.NewTicker(attendEvery)
	defer ticker.Stop()
	silent := false // a failure was logged; Redis may be away for long
	for {
		if err := w.attend(ctx); err == nil {
			silent = false
		} else if !silent && ctx.Err() == nil {
			silent = true
			w.log.WarnContext(ctx, "what this instance has accepted could not be handed in; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// attend looks for rebuilds once and says what it has not said yet.
func (w *Witness) attend(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, redisTime)
	hearings, err := w.stores.Hearings.Attend(call, w.partition, w.name)
	cancel()
	if err != nil {
		return err
	}
	stops := make(map[int64]int64, len(hearings))
	for _, h := range hearings {
		id := h.Sale.VoucherID
		if w.heard[id] != h.Stopped {
			if err := w.testify(ctx, h); err != nil {
				return err
			}
		}
		stops[id] = h.Stopped
	}
	w.heard = stops // what is not told of any more is not remembered either
	return nil
}

// testify says what is known of the sale, or complains when it is too late for that.
func (w *Witness) testify(ctx context.Context, h Hearing) error {
	ctx, cancel := context.WithTimeout(ctx, testifyTime)
	defer cancel()
	t := Testimony{Seen: w.sightings.Seen(h.Sale.VoucherID), Claims: w.diary.of(h.Sale.VoucherID)}
	heard, epoch, err := w.stores.Hearings.Testify(ctx, h, w.name, t)
	if err != nil || heard || len(t.Claims) == 0 {
		return err
	}
	lost, err := w.lost(ctx, h.Sale, t.Claims)
	if err != nil || lost == 0 {
		return err
	}
	w.log.ErrorContext(ctx, "a rebuild did not wait for this instance and missed orders; the sale is rebuilt once more",
		"voucher", h.Sale.VoucherID, "orders", lost)
	w.mender.Mend(h.Sale.VoucherID, epoch)
	return nil
}

// lost counts the claims that have neither a row nor a place.
func (w *Witness) lost(ctx context.Context, sale SaleRef, claims []Claim) (int, error) {
	lost := 0
	for part := range slices.Chunk(claims, pollChunk) {
		ids := make([]int64, len(part))
		for i, c := range part {
			ids[i] = c.OrderID
		}
		recorded, err := w.stores.Rows.Recorded(ctx, ids)
		if err != nil {
			return 0, fmt.Errorf("reading the ledger: %w", err)
		}
		for _, c := range part {
			if _, has := recorded[c.OrderID]; has {
				continue
			}
			held, err := w.stores.Held.HeldBy(ctx, c.UserID, []SaleRef{sale})
			if err != nil {
				return 0, err
			}
			if held[0] != c.OrderID {
				lost++
			}
		}
	}
	return lost, nil
}
