package issuers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/idp"
	"seckill/internal/voucher"
)

// A mistake in who is staff is refused with where it is, and what is allowed.
func TestStaffMistakes(t *testing.T) {
	t.Parallel()
	const owner = `, "staff": {"claim": "role", "merchant": ["owner"]`
	var many, shops strings.Builder
	for n := range maxShops + 1 {
		fmt.Fprintf(&many, `, "v%d"`, n)
		fmt.Fprintf(&shops, `, "s%d": %d`, n, n+1)
	}
	for _, tc := range [][2]string{
		{`, "staff": null`, `"staff"`},
		{`, "staff": ["admin"]`, `"staff"`},
		{`, "staff": {}`, `staff: "claim" is missing`},
		{`, "staff": {"claim": "role"}`, "at least one of them"},
		{`, "staff": {"claim": 7, "admin": ["a"]}`, `staff: "claim" is 7`},
		{`, "staff": {"claim": "role", "owner": ["a"]}`, `"owner" is not known`},
		{`, "staff": {"claim": "role", "crowd": ["a"]}`, `"crowd" is not known`},
		{`, "staff": {"claim": "role", "Admin": ["a"]}`, `"Admin" is not known`},
		{`, "staff": {"claim": "role", "admin": "a"}`, `staff: "admin" is "a"`},
		{`, "staff": {"claim": "role", "admin": []}`, `staff: "admin" is []`},
		{`, "staff": {"claim": "role", "admin": null}`, `staff: "admin" is null`},
		{`, "staff": {"claim": "role", "admin": [""]}`, `staff: "admin" is [""]`},
		{`, "staff": {"claim": "role", "admin": ["*"]}`, `staff: "admin" is ["*"]`},
		{`, "staff": {"claim": "role", "admin": ["a\n"]}`, `staff: "admin" is`},
		{`, "staff": {"claim": "role", "admin": [true]}`, `staff: "admin" is [true]`},
		{`, "staff": {"claim": "role", "admin": ["a", "a"]}`, `staff: "admin" is`},
		{`, "staff": {"claim": "role", "admin": ["a"` + many.String() + `]}`, `staff: "admin" is`},
		{`, "staff": {"claim": "role", "admin": ["a"], "admin": ["b"]}`, `has "admin" twice`},
		{
			`, "staff": {"claim": "role", "admin": ["a"], "merchant": ["b", "a"], "shopClaim": "s", "shops": "any"}`,
			"each value in admin or in merchant",
		},
		{
			`, "staff": {"claim": "role", "admin": ["a"], "shopClaim": "shop"}`,
			"only together with merchant or till",
		},
		{`, "staff": {"claim": "role", "admin": ["a"], "shops": "any"}`, "only together with merchant or till"},
		{owner + `}`, `staff: "shopClaim" is missing`},
		{owner + `, "shopClaim": "shop"}`, `staff: "shops" is missing`},
		{owner + `, "shops": "any"}`, `staff: "shopClaim" is missing`},
		{owner + `, "shopClaim": "shop", "shops": "all"}`, `"any": whatever number`},
		{owner + `, "shopClaim": "shop", "shops": null}`, `staff: "shops" is null`},
		{owner + `, "shopClaim": "shop", "shops": []}`, `staff: "shops" is []`},
		{owner + `, "shopClaim": "shop", "shops": {}}`, `staff: "shops" is {}`},
		{owner + `, "shopClaim": "shop", "shops": [0]}`, `staff: "shops" is [0]`},
		{owner + `, "shopClaim": "shop", "shops": [3, 3]}`, `staff: "shops" is [3, 3]`},
		{owner + `, "shopClaim": "shop", "shops": [3.5]}`, `staff: "shops" is [3.5]`},
		{owner + `, "shopClaim": "shop", "shops": ["3"]}`, `staff: "shops" is ["3"]`},
		{owner + `, "shopClaim": "shop", "shops": {"north": "3"}}`, `staff: "shops" is`},
		{owner + `, "shopClaim": "shop", "shops": {"north": null}}`, `staff: "shops" is`},
		{owner + `, "shopClaim": "shop", "shops": {"*": 3}}`, `staff: "shops" is`},
		{owner + `, "shopClaim": "shop", "shops": {"north": 3, "north": 4}}`, `staff: "shops" is`},
		{owner + `, "shopClaim": "shop", "shops": {"s": 1` + shops.String() + `}}`, `staff: "shops" is`},
		{owner + fmt.Sprintf(`, "shopClaim": "shop", "shops": [%d]}`, voucher.RehearsalShop), `staff: "shops" is`},
		{owner + fmt.Sprintf(`, "shopClaim": "shop", "shops": [%d]}`, voucher.MaxID+1), `staff: "shops" is`},
	} {
		text, want := tc[0], tc[1]
		got, err := parse([]byte(good(text)), "/")
		if err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%.100s: %v; want %q", text, err, want)
			continue
		}
		if says := err.Error(); !strings.Contains(says, "(allowed: ") || !strings.Contains(says, `issuer "https://l`) {
			t.Errorf("%.100s: %v says not where, or not what is allowed", text, err)
		}
	}
}

// staffOf returns what an issuer makes of somebody with these claims.
func staffOf(t *testing.T, staff Staff, claims map[string]any) map[Role]int64 {
	t.Helper()
	keys := idp.Keys(t)
	set := idp.Set(t, keys)
	v := NewVerifier([]Issuer{{
		Name: "https://login.example", Audience: "shop", AudienceIn: "aud", Kind: IDToken,
		Algorithms: []Algorithm{EdDSA}, Claims: Claims{User: "sub"}, Staff: staff,
	}}, func(Issuer) Source {
		return func(context.Context) ([]byte, error) { return set, nil }
	}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	all := goodClaims()
	maps.Copy(all, claims)
	who, err := v.Verify(t.Context(), keys["EdDSA"].Sign(t, map[string]any{"kid": "EdDSA"}, all))
	if err != nil {
		t.Fatal(err)
	}
	return who.Roles
}

// A role is given by the values that the file names, letter by letter, and a shop by those of its shops. What names
// no shop, or several, makes nobody of a shop.
func TestStaff(t *testing.T) {
	t.Parallel()
	staff := Staff{
		Claim: "groups", ShopClaim: "shop", Shops: map[string]int64{"3": 3, "north": 4},
		Roles: map[Role][]string{Admin: {"ops"}, Merchant: {"owners"}, Till: {"tills", "owners"}},
	}
	anywhere := staff
	anywhere.Shops, anywhere.AnyShop = nil, true
	groups := staff
	groups.ShopClaim, groups.Shops = "groups", map[string]int64{"north": 4, "south": 5, "nord": 4}
	type claims = map[string]any
	type roles = map[Role]int64
	for name, tc := range map[string]struct {
		staff  Staff
		claims claims
		want   roles
	}{
		"no claim":              {staff, nil, nil},
		"a text":                {staff, claims{"groups": "ops"}, roles{Admin: 0}},
		"in a list":             {staff, claims{"groups": []any{"x", 7, nil, "ops"}}, roles{Admin: 0}},
		"a merchant and a till": {staff, claims{"groups": "owners", "shop": 3}, roles{Merchant: 3, Till: 3}},
		"a till":                {staff, claims{"groups": "tills", "shop": "3"}, roles{Till: 3}},
		"all": {
			staff,
			claims{"groups": []any{"ops", "owners"}, "shop": "north"},
			roles{Admin: 0, Merchant: 4, Till: 4},
		},
		"an admin of two shops": {
			staff,
			claims{"groups": []any{"ops", "owners"}, "shop": []any{3, "north"}},
			roles{Admin: 0},
		},
		"a shop in a list": {
			staff,
			claims{"groups": "tills", "shop": []any{3, "3", "else"}},
			roles{Till: 3},
		},
		"two shops":            {staff, claims{"groups": "owners", "shop": []any{"3", "north"}}, nil},
		"no shop":              {staff, claims{"groups": "owners"}, nil},
		"another shop":         {staff, claims{"groups": "owners", "shop": 5}, nil},
		"a shop by its number": {staff, claims{"groups": "owners", "shop": 4}, nil},
		"a fraction":           {staff, claims{"groups": "owners", "shop": 3.5}, nil},
		"an object":            {staff, claims{"groups": "owners", "shop": claims{"3": 3}}, nil},
		"any shop": {
			anywhere,
			claims{"groups": "owners", "shop": 77},
			roles{Merchant: 77, Till: 77},
		},
		"any shop, as text": {
			anywhere,
			claims{"groups": "owners", "shop": "77"},
			roles{Merchant: 77, Till: 77},
		},
		"no shop below 1":        {anywhere, claims{"groups": "owners", "shop": 0}, nil},
		"a shop below 0":         {anywhere, claims{"groups": "owners", "shop": "-3"}, nil},
		"a shop with a nought":   {anywhere, claims{"groups": "owners", "shop": "03"}, nil},
		"a shop with a sign":     {anywhere, claims{"groups": "owners", "shop": "+3"}, nil},
		"a shop with a space":    {anywhere, claims{"groups": "owners", "shop": "3 "}, nil},
		"a shop beyond all":      {anywhere, claims{"groups": "owners", "shop": voucher.MaxID + 1}, nil},
		"the shop of rehearsals": {anywhere, claims{"groups": "owners", "shop": voucher.RehearsalShop}, nil},
		"two numbers":            {anywhere, claims{"groups": "owners", "shop": []any{3, 4}}, nil},
		"shops among groups": {
			groups,
			claims{"groups": []any{"owners", "x", "north", "nord"}},
			roles{Merchant: 4, Till: 4},
		},
		"two shops among groups":    {groups, claims{"groups": []any{"owners", "north", "south"}}, nil},
		"in capital letters":        {staff, claims{"groups": "Ops"}, nil},
		"with a space":              {staff, claims{"groups": "ops "}, nil},
		"several in one text":       {staff, claims{"groups": "ops,owners"}, nil},
		"several with spaces":       {staff, claims{"groups": "x ops"}, nil},
		"true":                      {staff, claims{"groups": true}, nil},
		"an object of roles":        {staff, claims{"groups": claims{"ops": "ops"}}, nil},
		"a list in a list":          {staff, claims{"groups": []any{[]any{"ops"}}}, nil},
		"the role's own name":       {staff, claims{"groups": "admin", "role": "admin", "admin": true}, nil},
		"a path":                    {staff, claims{"realm_access": claims{"groups": "ops"}}, nil},
		"nobody is named":           {Staff{}, claims{"groups": "ops", "role": "admin", "shop": 3, "": "ops"}, nil},
		"nobody, and nothing given": {Staff{}, claims{"role": "", "groups": []any{""}}, nil},
	} {
		got := staffOf(t, tc.staff, tc.claims)
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
