package issuers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"seckill/internal/voucher"
)

const (
	maxValues = 100  // of a role
	maxShops  = 1000 // of an issuer
)

// staff reads which users are staff; if the member is missing, nobody is.
func (e entry) staff() (s Staff) {
	raw, given := e.members["staff"]
	if !given {
		return s
	}
	members, err := object(raw)
	if err != nil {
		e.wrong.add(e.where, `"staff"`, err.Error(), "an object with claim and at least one of admin, merchant, till")
		return s
	}
	inner := entry{e.where + ": staff", members, e.wrong}
	inner.known(members, "claim", "admin", "merchant", "till", "shopClaim", "shops")
	s.Claim = inner.text("claim", true, "the name of the claim that has the roles or groups")
	s.Roles = map[Role][]string{}
	for _, role := range []Role{Admin, Merchant, Till} {
		if values := inner.roleValues(role); values != nil {
			s.Roles[role] = values
		}
	}
	if members["admin"] == nil && members["merchant"] == nil && members["till"] == nil {
		e.wrong.add(inner.where, `"admin", "merchant", "till"`, "are all missing", "at least one of them")
	}
	for _, value := range s.Roles[Admin] {
		if slices.Contains(s.Roles[Merchant], value) {
			e.wrong.add(inner.where, `"merchant"`, fmt.Sprintf("has %.60q, which makes an admin", value),
				"each value in admin or in merchant")
		}
	}
	inner.shops(&s, members["merchant"] != nil || members["till"] != nil)
	return s
}

// roleValues reads which values of the claim give a role.
func (e entry) roleValues(role Role) []string {
	raw, given := e.members[string(role)]
	if !given {
		return nil
	}
	var got []string
	bad := json.Unmarshal(raw, &got) != nil || len(got) == 0 || len(got) > maxValues
	for i, value := range got {
		bad = bad || !isValue(value) || slices.Contains(got[:i], value)
	}
	if bad {
		e.wrong.add(e.where, fmt.Sprintf("%q", role), fmt.Sprintf("is %.60s", raw), fmt.Sprintf(
			"a list of 1 to %d texts of the claim, compared letter by letter, each once", maxValues))
	}
	return got
}

// isValue reports whether a text can be a value of a claim. An asterisk cannot: people would read it as "anybody".
func isValue(s string) bool {
	return s != "" && s != "*" && len(s) <= maxName && !strings.ContainsFunc(s, isControl)
}

// shops reads the shops for which the issuer may give roles. The member is needed if it makes merchants or tills.
func (e entry) shops(s *Staff, needed bool) {
	raw, given := e.members["shops"]
	_, named := e.members["shopClaim"]
	if !needed {
		if given || named {
			e.wrong.add(e.where, `"shopClaim" and "shops"`, "are given, and no role is of a shop",
				"only together with merchant or till")
		}
		return
	}
	s.ShopClaim = e.text("shopClaim", true, "the name of the claim that has the shop of a merchant or a till")
	allowed := fmt.Sprintf(`a table such as {"north": 3} or a list of numbers such as [3, 4], at most %d shops, from `+
		`1 to %d; or "any": whatever number the claim has`, maxShops, voucher.MaxID)
	if !given {
		e.wrong.add(e.where, `"shops"`, "is missing", allowed)
		return
	}
	var ok bool
	if word, isText := text(raw); isText {
		s.AnyShop = word == "any"
		ok = s.AnyShop
	} else {
		s.Shops, ok = shopTable(raw)
	}
	if !ok {
		e.wrong.add(e.where, `"shops"`, fmt.Sprintf("is %.60s", raw), allowed)
	}
}

// shopTable reads a table of shops, or a list of their numbers.
func shopTable(raw json.RawMessage) (shops map[string]int64, ok bool) {
	shops = map[string]int64{}
	var list []int64
	if json.Unmarshal(raw, &list) == nil {
		for _, id := range list {
			shops[fmt.Sprint(id)] = id
		}
		ok = len(shops) == len(list) // no shop is listed twice
	} else {
		members, err := object(raw)
		ok = err == nil
		for value, number := range members {
			var id int64
			ok = ok && isValue(value) && json.Unmarshal(number, &id) == nil
			shops[value] = id
		}
	}
	for _, id := range shops {
		ok = ok && isShop(id)
	}
	return shops, ok && len(shops) > 0 && len(shops) <= maxShops
}
