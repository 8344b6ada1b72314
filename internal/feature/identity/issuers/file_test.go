package issuers

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/internal/testkit/idp"
)

// good is a file with one issuer, whose entry ends with more members.
func good(more string) string {
	return `{"issuers": [{"issuer": "https://login.example", "jwks": "https://login.example/keys", "audience": "shop",
		"tokens": "id", "algorithms": ["RS256"]` + more + `}]}`
}

func TestFile(t *testing.T) {
	t.Parallel()
	one := Issuer{
		Name: "https://login.example", JWKS: "https://login.example/keys", Audience: "shop", AudienceIn: "aud",
		Kind: IDToken, Algorithms: []Algorithm{RS256}, Claims: Claims{User: "sub"},
	}
	two := Issuer{
		Name: "https://b", File: "/etc/keys.json", Audience: "web", AudienceIn: "client_id", Kind: AccessToken,
		Algorithms: []Algorithm{ES256, EdDSA}, Claims: Claims{User: "username", Level: "grade", Since: "joined"},
	}
	private := one
	private.JWKS, private.Networks = "http://10.0.0.7:8080/keys", []netip.Prefix{
		netip.MustParsePrefix("10.0.0.7/32"), netip.MustParsePrefix("fd00::/8"),
	}
	numbers := one
	numbers.Numeric = true
	admins, mall, hall := one, one, one
	admins.Staff = Staff{Claim: "groups", Roles: map[Role][]string{Admin: {"ops"}}}
	mall.Staff = Staff{
		Claim: "groups", Roles: map[Role][]string{Merchant: {"owners", "deputies"}, Till: {"tills", "owners"}},
		ShopClaim: "groups", Shops: map[string]int64{"north": 3, "south": 4},
	}
	hall.Staff = Staff{
		Claim: "role", Roles: map[Role][]string{Till: {"till"}},
		ShopClaim: "shop", Shops: map[string]int64{"3": 3, "4": 4},
	}
	anywhere := hall
	anywhere.Staff.Shops, anywhere.Staff.AnyShop = nil, true
	const till = `, "staff": {"claim": "role", "till": ["till"], "shopClaim": "shop", "shops": `
	for text, want := range map[string][]Issuer{
		good(""): {one},
		good(`, "numeric": true`):  {numbers},
		good(`, "numeric": false`): {one},
		good(`, "staff": {"claim": "groups", "admin": ["ops"]}`): {admins},
		good(`, "staff": {"claim": "groups", "merchant": ["owners", "deputies"], "till": ["tills", "owners"],
			"shopClaim": "groups", "shops": {"north": 3, "south": 4}}`): {mall},
		good(till + `[3, 4]}`): {hall},
		good(till + `"any"}`):  {anywhere},
		good(`}, {"issuer": "https://b", "jwksFile": "keys.json", "audience": "web", "audienceIn": "client_id",
			"tokens": "access", "algorithms": ["ES256", "EdDSA"],
			"claims": {"user": "username", "level": "grade", "since": "joined"}`): {one, two},
		strings.Replace(good(`, "jwksNetworks": ["10.0.0.7", "fd00::/8"]`), "https://login.example/keys",
			"http://10.0.0.7:8080/keys", 1): {private},
	} {
		got, err := parse([]byte(text), "/etc")
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n-want +got:\n%s", text, err, diff)
		}
	}
}

// A mistake is refused with where it is, and what is allowed.
func TestFileMistakes(t *testing.T) {
	t.Parallel()
	change := func(old, with string) string { return strings.Replace(good(""), old, with, 1) }
	for text, want := range map[string]string{
		"":                           "all of it",
		"[]":                         "all of it",
		`{"issuers": []}`:            `"issuers"`,
		`{"issuers": [7]}`:           "issuers[0]: all of it",
		`{"issuers": [], "x": 1}`:    `"x" is not known`,
		good("") + good(""):          "all of it",
		good(`, "tokens": "access"`): `has "tokens" twice`,
		good(`, "secret": "s"`):      `"secret" is not known`,
		good(`, "numeric": "yes"`):   `"numeric" is "yes"`,
		good(`, "numeric": true}, {"issuer": "https://b", "jwks": "https://b/keys", "audience": "shop",
			"tokens": "id", "algorithms": ["RS256"], "numeric": true`): `issuers[1]: "numeric" is true`,
		good(`}, {"issuer": "https://login.example", "jwks": "https://login.example/keys", "audience": "shop",
			"tokens": "id", "algorithms": ["RS256"]`): "is that of another one",
		good(`, "jwksFile": "keys.json"`):                          "both there or both missing",
		good(`, "jwksNetworks": ["ten"]`):                          `"jwksNetworks"`,
		good(`, "jwksNetworks": []`):                               `"jwksNetworks"`,
		good(`, "audienceIn": "scope"`):                            "aud or client_id or azp",
		good(`, "claims": {"role": "r"}`):                          `"role" is not known`,
		good(`, "claims": {"user": 7}`):                            `"user" is 7`,
		good(`, "claims": null`):                                   `"claims"`,
		change(`"https://login.example"`, `""`):                    `"issuer" is ""`,
		change(`"https://login.example"`, `"a\u0000b"`):            `"issuer" is`,
		change(`"https://login.example/keys"`, `"ftp://x"`):        "an https address",
		change(`https://login.example/keys`, "http://x"):           "an https address",
		change(`https://login.example/keys`, "https://u:p@x/keys"): "an https address",
		change(`"audience": "shop",`, ""):                          `"audience" is missing`,
		change(`"tokens": "id",`, ""):                              `"tokens" is missing`,
		change(`"tokens": "id"`, `"tokens": "both"`):               "id or access",
		change(`["RS256"]`, `["HS256"]`):                           "RS256, ES256, EdDSA",
		change(`["RS256"]`, `["none"]`):                            "RS256, ES256, EdDSA",
		change(`["RS256"]`, `["RS256", "RS256"]`):                  "RS256, ES256, EdDSA",
		change(`["RS256"]`, `[]`):                                  "RS256, ES256, EdDSA",
	} {
		if got, err := parse([]byte(text), "/"); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// All mistakes are named at once.
func TestFileNamesAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := parse([]byte(
		`{"issuers": [{"issuer": "https://a", "jwks": "https://a/keys"}, {"issuer": "https://b"}]}`), "/")
	if err == nil {
		t.Fatal("no mistake")
	}
	for _, want := range []string{
		`issuer "https://a": "audience"`, `issuer "https://a": "tokens"`, `issuer "https://a": "algorithms"`,
		`issuer "https://b": "audience"`, `issuer "https://b": "jwks" and "jwksFile"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// A key set in a file lies beside the file of issuers, and is read with it.
func TestRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("issuers.json",
		strings.Replace(good(""), `"jwks": "https://login.example/keys"`, `"jwksFile": "keys.json"`, 1))
	const broken = `"jwksFile" is `
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("without its keys: %v", err)
	}
	write("keys.json", `{"keys":[]}`)
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("with no key: %v", err)
	}
	write("keys.json", string(idp.Set(t, idp.Keys(t))))
	if all, err := Read(file); err != nil || len(all) != 1 || all[0].File != filepath.Join(folder, "keys.json") {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Read(filepath.Join(folder, "none.json")); err == nil {
		t.Error("no file: no error")
	}
	if _, err := Read(write("big.json", strings.Repeat(" ", maxFile+1))); err == nil ||
		!strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("a big file: %v", err)
	}
}
