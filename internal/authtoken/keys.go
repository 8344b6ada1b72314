package authtoken

import "bytes"

// roles is the set of roles whose tokens a key signs.
type roles int8

const (
	forNobody roles = iota
	forAll
	forBuyers
	forOthers // all roles but the buyer's
)

// key is a secret, and the roles whose tokens it signs.
type key struct {
	secret []byte
	whose  roles
}

// keys returns copies of the rules' secrets.
func (r Rules) keys() []key {
	given := []key{
		{r.Secret, forBuyers}, {r.Previous, forBuyers}, {r.Admin, forOthers}, {r.AdminPrevious, forOthers},
	}
	var keys []key
	for _, k := range given {
		if len(k.secret) == 0 {
			continue
		}
		if len(r.Admin) == 0 {
			k.whose = forAll
		}
		k.secret = bytes.Clone(k.secret)
		keys = append(keys, k)
	}
	return keys
}
