package sqlstore

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/waitlist"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/webhook"
)

// announceOffers writes an event for each of the places, whose offer this transaction has made or ended, where an
// endpoint waits for it. It costs nothing where there is none. They are of one voucher.
func (s *Store) announceOffers(tx *gorm.DB, places []placeRow, at time.Time) error {
	shops := s.subscribed.known()
	if len(places) == 0 || len(shops) == 0 {
		return nil
	}
	voucherID := places[0].VoucherID
	terms, err := s.terms.of(tx, []int64{voucherID})
	if err != nil {
		return err
	}
	shopID := terms[voucherID].shopID
	if !wanted(shops, shopID) {
		return nil
	}
	var events []webhookEventRow
	for _, p := range places {
		if p.offerID().Key() == 0 {
			continue
		}
		e, err := webhook.EventOfOffer(p.eventType(), p.offer(), shopID, at)
		if err != nil {
			return err
		}
		events = append(events, newEventRow(e))
	}
	if err := sqlkit.CreateAll(tx, events); err != nil {
		return fmt.Errorf("writing %d events of offers: %w", len(events), err)
	}
	return nil
}

func (r placeRow) offerID() webhook.OfferID {
	return webhook.OfferID{VoucherID: r.VoucherID, Position: r.Position}
}

// eventType is the type of the event that an offer has come to the place's state.
func (r placeRow) eventType() webhook.Type {
	switch r.State {
	case waitlist.Offered:
		return webhook.OfferMade
	case waitlist.Bought:
		return webhook.OfferAccepted
	case waitlist.Left:
		return webhook.OfferDeclined
	case waitlist.Missed:
		return webhook.OfferMissed
	default:
		return webhook.OfferEnded
	}
}

func (r placeRow) offer() webhook.Offer {
	o := webhook.Offer{
		ID: r.offerID(), UserID: r.UserID, State: r.State.String(), JoinedAt: r.CreateTime,
		OfferedAt: sqlkit.At(r.OfferTime), Deadline: sqlkit.At(r.Deadline), EndedAt: sqlkit.At(r.EndTime),
	}
	if r.State == waitlist.Bought && r.OrderID != nil {
		o.OrderID = *r.OrderID
	}
	return o
}
