package authtoken

import (
	"fmt"
	"testing"
	"time"
)

// TestSecretsOfRoles checks that the buyers' secret does not sign other roles' tokens, that the admins' secret does
// not sign buyers' tokens, and that one secret signs all tokens while admins have none of their own.
func TestSecretsOfRoles(t *testing.T) {
	t.Parallel()
	apart := verifier(t, Rules{Previous: previous, Admin: admins, AdminPrevious: retired})
	together := verifier(t, Rules{Previous: previous})
	for role, others := range map[string]bool{
		RoleAdmin: true, RoleMerchant: true, RoleTill: true, RoleCrowd: true, "": false, "buyer": false, "Admin": false,
	} {
		claims := fmt.Appendf(nil, `{"sub":"42","role":%q,"exp":%d}`, role, at(time.Hour))
		for name, k := range map[string]struct {
			key    []byte
			others bool // not the buyers'
		}{
			"secret": {secret, false}, "previous": {previous, false},
			"admins'": {admins, true}, "retired": {retired, true},
		} {
			token := sign(k.key, []byte(plainHeader), claims)
			if _, err := apart.Verify(token, noon); (err == nil) != (others == k.others) {
				t.Errorf("role %q, signed with %s: %v", role, name, err)
			}
			if _, err := together.Verify(token, noon); (err == nil) == k.others {
				t.Errorf("role %q, signed with %s, and no secret of admins: %v", role, name, err)
			}
		}
	}
}

// TestSignChoosesTheSecret checks that signed tokens are valid, whatever the role.
func TestSignChoosesTheSecret(t *testing.T) {
	t.Parallel()
	r := Rules{Secret: secret, Admin: admins}
	v, err := NewVerifier(r)
	if err != nil {
		t.Fatal(err)
	}
	for role, shop := range map[string]int64{RoleBuyer: 0, RoleAdmin: 0, RoleTill: 9, RoleMerchant: 9} {
		token, err := Sign(r, Account{User: 7, Role: role, Shop: shop}, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		if who, err := v.Verify(token, noon); err != nil || who.Role != role {
			t.Errorf("%q: %+v, %v", role, who, err)
		}
	}
}
