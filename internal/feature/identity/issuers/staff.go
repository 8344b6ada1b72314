package issuers

import (
	"encoding/json"
	"strconv"

	"seckill/internal/voucher"
)

// Staff has the values of a claim that give an issuer's users a role of staff. The zero value gives nobody a role: all
// users of the issuer are buyers.
type Staff struct {
	Claim string            // a text, or a list of texts
	Roles map[Role][]string // the values of the claim that give a role

	ShopClaim string           // names the shop of a merchant or a till: a number, a text, or a list of these
	Shops     map[string]int64 // by the value of ShopClaim
	AnyShop   bool             // any shop is allowed: the value is its number
}

// Role is a user's role besides a buyer's, as the service's own tokens write it.
type Role string

// The roles that an issuer can give.
const (
	Admin    Role = "admin"
	Merchant Role = "merchant"
	Till     Role = "till"
)

// inShop reports whether a role is of a shop.
func (r Role) inShop() bool { return r == Merchant || r == Till }

// Names reports whether the issuer gives anybody a role.
func (s Staff) Names() bool { return len(s.Roles) > 0 }

// roles returns the roles that the claims give their user besides a buyer's, each with its shop; 0 for an admin. A role
// of a shop needs a claim that names exactly one shop of those for which the issuer may speak.
func (s Staff) roles(c *tokenClaims) map[Role]int64 {
	if !s.Names() {
		return nil
	}
	given := values(c.members[s.Claim])
	shop, known := s.shop(c)
	all := map[Role]int64{}
	for role, wanted := range s.Roles {
		if role.inShop() && !known || !anyOf(wanted, given) {
			continue
		}
		if all[role] = 0; role.inShop() {
			all[role] = shop
		}
	}
	return all
}

func anyOf(wanted []string, given map[string]bool) bool {
	for _, one := range wanted {
		if given[one] {
			return true
		}
	}
	return false
}

// shop returns the shop that the claim names; false if it names none or several. It ignores values that name no shop,
// because the claim may be a list of the user's groups.
func (s Staff) shop(c *tokenClaims) (shop int64, ok bool) {
	for text := range values(c.members[s.ShopClaim]) {
		id, known := s.Shops[text]
		if s.AnyShop {
			id, known = shopNumber(text)
		}
		if !known || id == shop {
			continue
		}
		if shop != 0 {
			return 0, false
		}
		shop = id
	}
	return shop, shop != 0
}

// shopNumber reads the number of a shop: digits, without a leading zero.
func shopNumber(text string) (id int64, ok bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && isShop(id) && strconv.FormatInt(id, 10) == text
}

// isShop reports whether an issuer may speak for a shop of this number.
func isShop(id int64) bool { return id >= 1 && id <= voucher.MaxID && id != voucher.RehearsalShop }

// values returns the texts and whole numbers of a claim, which is a single value or a list. It ignores anything else.
func values(raw json.RawMessage) map[string]bool {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' {
		list = []json.RawMessage{raw}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	all := map[string]bool{}
	for _, one := range list {
		if s, ok := text(one); ok && s != "" {
			all[s] = true
		} else if n, err := strconv.ParseInt(string(one), 10, 64); err == nil {
			all[strconv.FormatInt(n, 10)] = true
		}
	}
	return all
}
