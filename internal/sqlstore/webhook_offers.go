package sqlstore

import (
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/webhook"
)

// announceOffers writes an event for each of the offers where an endpoint waits for it. They are of one voucher.
func (s *Store) announceOffers(tx *gorm.DB, changes []order.OfferChange) error {
	shops := s.subscribed.known()
	if len(shops) == 0 {
		return nil
	}
	voucherID := changes[0].ID.VoucherID
	terms, err := s.terms.of(tx, []int64{voucherID})
	if err != nil {
		return err
	}
	shopID := terms[voucherID].ShopID
	if !wanted(shops, shopID) {
		return nil
	}
	var events []webhookEventRow
	for _, c := range changes {
		o := offerOf(c)
		if o.ID.Key() == 0 {
			continue
		}
		e, err := webhook.EventOfOffer(typeOfOffer(c.State), o, shopID, c.At)
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

// typeOfOffer is the type of the event that an offer has come to the state.
func typeOfOffer(s order.OfferState) webhook.Type {
	switch s {
	case order.OfferMade:
		return webhook.OfferMade
	case order.OfferBought:
		return webhook.OfferAccepted
	case order.OfferDeclined:
		return webhook.OfferDeclined
	case order.OfferMissed:
		return webhook.OfferMissed
	default:
		return webhook.OfferEnded
	}
}

func offerOf(c order.OfferChange) webhook.Offer {
	return webhook.Offer{
		ID: webhook.OfferID(c.ID), UserID: c.UserID, State: c.State.String(), OrderID: c.OrderID, JoinedAt: c.Joined,
		OfferedAt: c.Offered, Deadline: c.Deadline, EndedAt: c.Ended,
	}
}
