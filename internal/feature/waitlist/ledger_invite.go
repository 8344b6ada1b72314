package waitlist

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// invite invites the places at the head of the list, or accepts for those with a standing yes, while there are more
// kept units than invitations and undecided acceptances.
func (k *locked) invite(pass *Pass, ids []int64) error {
	sale := k.sale.Sale()
	free := sale.Kept - sale.Accepted - k.list.Invited
	if free <= 0 {
		return nil
	}
	n := int(min(free, turnPlaces))
	heads, refused, err := k.heads(n)
	if err != nil {
		return err
	}
	pass.Refused += int64(refused)
	pass.More = pass.More || len(heads) == n && free > int64(n) || refused >= refusedPlaces && len(heads) < n
	var invited, accepted []placeRow
	for _, head := range heads {
		if !head.Standing {
			invited = append(invited, head)
			continue
		}
		if len(ids) == 0 {
			pass.NeedsIDs = true
			break
		}
		head.OrderID, ids = &ids[0], ids[1:]
		accepted = append(accepted, head)
	}
	deadline := k.now.Add(sale.InviteWindow)
	pass.Invited, pass.Accepted = int64(len(invited)), int64(len(accepted))
	k.list.Invited += pass.Invited
	err = k.update(invited, order.TurnInvited, map[string]any{
		"state": Invited, "invite_time": k.now, "deadline": deadline,
	}, func(r *placeRow) { r.State, r.InviteTime, r.Deadline = Invited, &k.now, &deadline })
	if err != nil {
		return err
	}
	return k.ask(accepted, false)
}

// heads locks and returns up to n places at the head of the list, which are invited next. It refuses places before them
// whose users have bought in the meantime, but only about refusedPlaces in one transaction: refusing thousands would
// keep the sale locked.
func (k *locked) heads(n int) (heads []placeRow, refused int, err error) {
	size := n
	for after := (turnOf{}); len(heads) < n && refused < refusedPlaces; size = turnPlaces {
		rows, err := k.waitingAfter(after, size)
		if err != nil || len(rows) == 0 {
			return heads, refused, err
		}
		live, err := usersWithOrders(k.tx, k.list.VoucherID,
			sqlkit.Distinct(rows, func(r placeRow) int64 { return r.UserID }))
		if err != nil {
			return nil, 0, err
		}
		var chosen, bought []placeRow
		for i := 0; i < len(rows) && len(heads)+len(chosen) < n; i++ {
			after = turnOf{rows[i].Missed, rows[i].Position}
			if live[rows[i].UserID] {
				bought = append(bought, rows[i])
			} else {
				chosen = append(chosen, rows[i])
			}
		}
		bought, err = k.stillWaiting(bought)
		if err != nil {
			return nil, 0, err
		}
		if err := k.endAs(bought, Refused, ""); err != nil {
			return nil, 0, err
		}
		chosen, err = k.stillWaiting(chosen)
		if err != nil {
			return nil, 0, err
		}
		heads, refused = append(heads, chosen...), refused+len(bought)
	}
	return heads, refused, nil
}

// waitingAfter reads up to n waiting places whose turn comes after the given turn.
func (k *locked) waitingAfter(after turnOf, n int) ([]placeRow, error) {
	var rows []placeRow
	err := k.in(Waiting).Where("(missed > ? OR missed = ? AND position > ?)", after.Missed, after.Missed,
		after.Position).Order("missed, position").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading the head of the waiting list: %w", err)
	}
	return rows, nil
}

// stillWaiting locks and returns the places that still wait: Leave ends a waiting place without the list's lock.
func (k *locked) stillWaiting(places []placeRow) ([]placeRow, error) {
	if len(places) == 0 {
		return nil, nil
	}
	var rows []placeRow
	err := sqlkit.Locking(k.in(Waiting)).Where("position IN ?", positionsOf(places)).Order("missed, position").
		Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("locking the head of the waiting list: %w", err)
	}
	return rows, nil
}

// ask writes the operations that ask Redis about places with an order id. again is true if a rebuild voided their
// earlier operation.
func (k *locked) ask(places []placeRow, again bool) error {
	for part := range slices.Chunk(places, turnPlaces) {
		if err := k.askFor(part, again); err != nil {
			return err
		}
	}
	return nil
}

func (k *locked) askFor(places []placeRow, again bool) error {
	acceptances := make([]sqlkit.Acceptance, len(places))
	for i, p := range places {
		acceptances[i] = sqlkit.Acceptance{UserID: p.UserID, OrderID: *p.OrderID, Again: again}
	}
	numbers, err := k.sale.Ask(acceptances, k.now)
	if err != nil {
		return err
	}
	kind := order.TurnAccepted
	if again {
		kind = ""
	}
	var operations, orders []any
	for i := range places {
		places[i].State, places[i].Operation = Accepted, &numbers[i]
		operations = append(operations, places[i].Position, numbers[i])
		orders = append(orders, places[i].Position, *places[i].OrderID)
	}
	which := "CASE position" + strings.Repeat(" WHEN ? THEN ?", len(places)) + " END"
	return k.update(places, kind, map[string]any{
		"state": Accepted, "operation": gorm.Expr(which, operations...), "order_id": gorm.Expr(which, orders...),
	}, func(*placeRow) {})
}
