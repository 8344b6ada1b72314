package authtoken

import (
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/voucher"
)

// How many tokens TestCompare generates, and its seed: make -C lab compare-tokens N=… SEED=….
var (
	compareN    = flag.Int("tokens.n", 20_000, "how many tokens TestCompare generates")
	compareSeed = flag.Uint64("tokens.seed", 1, "seed of TestCompare's random numbers")
)

var (
	noon     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret   = []byte("a-Secret-for-tests-0123456789-abcdef")
	previous = []byte("an-older-Secret-9876543210-ABCDEFGHI")
	admins   = []byte("the-admins-Secret-for-tests-24680-xy")
	retired  = []byte("an-older-Secret-of-admins-13579-zyxw")
)

// ruleSets are the rules under which both verifiers are compared.
func ruleSets() []Rules {
	return []Rules{
		{Secret: secret},
		{Secret: secret, Previous: previous},
		{Secret: secret, Issuer: "login", Audience: "shop", Accounts: true},
		{Secret: secret, Previous: previous, Admin: admins, AdminPrevious: retired},
		{Secret: secret, Admin: admins, Accounts: true, SessionsOnly: true},
		{
			Secret: secret, Previous: previous, Issuer: "https://login.example/优", MaxLife: 2 * time.Hour,
			AdminMaxLife: 10 * time.Minute,
		},
	}
}

// pair is both verifiers with the same rules.
type pair struct {
	own *Verifier
	ref reference
}

func pairs(t testing.TB) []pair {
	t.Helper()
	var all []pair
	for _, r := range ruleSets() {
		v, err := NewVerifier(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair{v, reference{r}})
	}
	return all
}

// compare fails unless both verifiers give the same result for a token, and reports whether they accept it.
func (p pair) compare(token string) (accepted bool, err error) {
	own, errOwn := p.own.Verify(token, noon)
	ref, errRef := p.ref.verify(token, noon)
	same := (errOwn == nil) == (errRef == nil) && own.Expires.Equal(ref.Expires) && own.Since.Equal(ref.Since) &&
		own.Issued.Equal(ref.Issued)
	// Equal moments may differ in representation.
	own.Expires, own.Since, own.Issued = ref.Expires, ref.Since, ref.Issued
	same = same && own == ref
	if !same {
		return false, fmt.Errorf("issuer %q, previous %t, life %s\nown       %+v, %w\nreference %+v, %w\n%s",
			p.ref.rules.Issuer, p.ref.rules.Previous != nil, p.ref.rules.MaxLife, own, errOwn,
			ref, errRef, spell(token))
	}
	return errOwn == nil, nil
}

// spell returns a token with its header and claims decoded.
func spell(token string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", token)
	for segment := range strings.SplitSeq(token, ".") {
		if plain, err := base64.RawURLEncoding.DecodeString(segment); err == nil {
			fmt.Fprintf(&b, "%q\n", plain)
		}
	}
	return b.String()
}

// TestCompare generates random tokens, most of them nearly valid, and checks that both verifiers agree on them.
func TestCompare(t *testing.T) {
	t.Parallel()
	n, seed, all := *compareN, *compareSeed, pairs(t)
	workers := max(1, min(runtime.GOMAXPROCS(0), n/10_000))
	var accepted, done atomic.Int64
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(w)))}
			for i := w; i < n && !t.Failed(); i += workers {
				ok, err := all[g.IntN(len(all))].compare(g.token())
				if err != nil {
					t.Errorf("seed %d, worker %d of %d: %v", seed, w, workers, err)
					return
				}
				if ok {
					accepted.Add(1)
				}
				done.Add(1)
			}
		})
	}
	running.Wait()
	t.Logf("seed %d: %d tokens, %d accepted by both", seed, done.Load(), accepted.Load())
	if share := float64(accepted.Load()) / float64(max(done.Load(), 1)); share < 0.05 || share > 0.95 {
		t.Errorf("%.3f of the tokens were accepted: the generator should make both valid and invalid ones", share)
	}
}

// FuzzVerify checks that both verifiers agree on correctly signed tokens and on arbitrary text.
func FuzzVerify(f *testing.F) {
	g := generator{Rand: rand.New(rand.NewPCG(7, 7)), flaws: 3}
	for range 200 {
		f.Add([]byte(g.header()), []byte(g.claims()), g.token())
	}
	all := pairs(f)
	f.Fuzz(func(t *testing.T, header, claims []byte, text string) {
		for _, p := range all {
			for _, token := range []string{
				sign(secret, header, claims), sign(previous, []byte(`{"alg":"HS256"}`), claims),
				sign(admins, header, claims), text,
			} {
				if _, err := p.compare(token); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// generator generates tokens.
type generator struct {
	*rand.Rand
	flaws int // how many flaws the next token may still get
}

// one returns one of the texts at random.
func (g *generator) one(texts ...string) string { return texts[g.IntN(len(texts))] }

// rarely reports true once in n times.
func (g *generator) rarely(n int) bool { return g.IntN(n) == 0 }

// flaw reports true once in n times, while the token may still get a flaw.
func (g *generator) flaw(n int) bool {
	if g.flaws == 0 || !g.rarely(n) {
		return false
	}
	g.flaws--
	return true
}

// token returns a token that is valid or has a few flaws, not all of which make it invalid.
func (g *generator) token() string {
	g.flaws = max(0, g.IntN(6)-2)
	header, claims := []byte(g.header()), []byte(g.claims())
	if g.flaw(6) {
		claims = g.damage(claims)
	}
	if g.flaw(10) {
		header = g.damage(header)
	}
	key := secret
	if g.rarely(3) {
		key = [][]byte{previous, admins, retired}[g.IntN(3)]
	}
	token := sign(key, header, claims)
	if !g.flaw(4) {
		return token
	}
	switch g.IntN(7) {
	case 6: // another spelling, correctly signed
		text := token[:strings.LastIndexByte(token, '.')]
		i := g.IntN(len(text) + 1)
		if g.rarely(2) {
			i = strings.IndexByte(text, '.')
		}
		if g.rarely(2) { // perhaps only in its unused bits
			return signText(key, text[:max(0, len(text)-1)]+g.one("A", "B", "C", "D", "g", "h", "Q", "R"))
		}
		return signText(key, text[:i]+g.one("=", "==", "\n", "\r", " ", "+", "/", ".", "A")+text[i:])
	case 0:
		return string(g.damage([]byte(token)))
	case 1:
		return token + g.one(".", "=", "\n", " ", "A", "..", ".e30", strings.Repeat("A", MaxLength))
	case 2:
		return g.one("Bearer ", " ", ".", "\n", "e30") + token
	case 3: // another last character, or only other unused bits in it
		return token[:len(token)-1] + g.one("A", "B", "C", "D", "-", "_", "=", "/", "é")
	case 4:
		first, rest, _ := strings.Cut(token, ".")
		return first + g.one("=", "==", "\n", "\r", "A", " ") + "." + rest
	case 5:
		return token[:g.IntN(len(token)+1)]
	}
	return token
}

// damage changes a few bytes.
func (g *generator) damage(b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + g.IntN(2) {
		if len(b) == 0 {
			return b
		}
		i := g.IntN(len(b))
		switch g.IntN(4) {
		case 0:
			b[i] = byte(g.IntN(256))
		case 1:
			b = append(b[:i], b[i+1:]...)
		case 2:
			b = append(b[:i], append([]byte(g.one(`"`, `\`, `,`, ` `, `{`, `}`, `[`, `]`, `:`, "\x00", "\xff", `0`, `e`,
				`.`, `-`, `\u00`)), b[i:]...)...)
		default:
			b[i] = `{}[]":,\0159eE+-. ntf`[g.IntN(21)]
		}
	}
	return b
}

// header returns a token's header, usually a valid one.
func (g *generator) header() string {
	if !g.flaw(6) {
		return g.one(`{"alg":"HS256","typ":"JWT"}`, `{"typ":"JWT","alg":"HS256"}`, `{"alg":"HS256"}`)
	}
	m := []string{
		g.one(`"alg":"HS256"`, `"alg":"HS256"`, `"\u0061lg":"HS256"`, `"alg":"HS\u003256"`, `"alg":"HS2\u00356"`,
			`"alg":"none"`, `"alg":"HS384"`, `"Alg":"HS256"`, `"alg":null`, `"alg":["HS256"]`, `"alg":"hs256"`),
	}
	for range g.IntN(3) {
		m = append(m, g.one(`"typ":"JWT"`, `"kid":"1"`, `"typ":7`, `"crit":[]`, `"crit":null`, `"Crit":["exp"]`,
			`"alg":"HS256"`, `"jwk":{"k":"x","k":"y"}`, `"x":1e999`, `"x":[1e-999]`, `"b64":false`, `"":{}`))
	}
	return g.wrap(m)
}

// claims returns a token's claims, usually valid ones.
func (g *generator) claims() string {
	if g.rarely(2) { // formatted as libraries do
		return `{"sub":"42","iss":` + g.claim("iss") + `,"aud":` + g.claim("aud") + `,"exp":` + g.time(-40) +
			`,"iat":` + g.time(-600) + `}`
	}
	m := []string{g.member("sub", g.subject()), g.member("exp", g.time(-40))}
	for _, name := range []string{
		"role", "shop", "voucher", "level", "since", "iat", "iss", "aud", "nbf", "jti", "via",
	} {
		if !g.rarely(3) {
			m = append(m, g.member(name, g.claim(name)))
		}
	}
	if g.rarely(4) {
		m = append(m, g.member(g.one("ROLE", "Exp", "SUB", "name", "", "iſs", "rol\u00e9", "x"), g.any(0)))
	}
	if g.flaw(10) {
		m = append(m, m[g.IntN(len(m))]) // a duplicate member
	}
	if g.flaw(10) {
		m = m[1:]
	}
	if g.rarely(50) {
		for i := range 20 + g.IntN(30) {
			m = append(m, fmt.Sprintf(`"c%d":%d`, i, i))
		}
	}
	g.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	return g.wrap(m)
}

// wrap joins members into an object.
func (g *generator) wrap(members []string) string {
	if !g.flaw(8) {
		return "{" + strings.Join(members, ",") + "}"
	}
	space := g.one("", " ", "\n", "\t\r ", "\u00a0", "\v")
	return space + g.one("{", "{", "{", "[", "{,", "{{") + space + strings.Join(members,
		space+g.one(",", ",", ",", ",,", ";")+space) + space +
		g.one("}", "}", "}", ",}", "]", "", "}}") + g.one("", space, "x", "null")
}

// member returns a member of an object. Its name sometimes contains escapes.
func (g *generator) member(name, value string) string {
	if name != "" && g.rarely(25) {
		i := g.IntN(len(name))
		return `"` + name[:i] + fmt.Sprintf(`\u%04x`, name[i]) + name[i+1:] + `":` + value
	}
	return strconv.Quote(name) + ":" + value
}

func (g *generator) subject() string {
	if !g.flaw(8) {
		first := int64(1)
		if g.rarely(3) {
			first = voucher.FirstAccount
		}
		return strconv.Quote(strconv.FormatInt(first+g.Int64N(100_000), 10))
	}
	return g.one(`"0"`, `"01"`, `"-1"`, `"+1"`, `" 1"`, `"1 "`, `""`, `1`, `null`, `"9007199254740991"`,
		`"9007199254740992"`, `"9007199254740993"`,
		`"4503599627370495"`, `"4503599627370496"`, `"7999999999999999"`, `"8000000000000000"`,
		`"99999999999999999999"`,
		`"1\u0030"`, `"\u0031"`, `"١"`, `"1e3"`, `"1\u0000"`, `["1"]`, `"0x1"`, `"1_0"`)
}

// claim returns a value of a claim other than sub and exp.
func (g *generator) claim(name string) string {
	if g.flaw(8) {
		return g.any(0)
	}
	common := map[string]string{"role": `"admin"`, "iss": `"login"`, "aud": `"shop"`, "jti": `"x"`}[name]
	if common != "" && !g.flaw(4) {
		return common
	}
	switch name {
	case "role":
		return g.one(`"till"`, `"merchant"`, `"crowd"`, `"crowd"`, `"t\u0069ll"`, `"Till"`, `""`, `"buyer"`, `"ADMIN"`,
			`"adm\u0069n"`, `"admin\u0000"`, `null`)
	case "iss":
		return g.one(`"https://login.example/优"`, `"https:\/\/login.example\/优"`, `"https://login.example/\u4f18"`,
			`"Login"`, `""`, `"\ud83d\ude00"`, `"\ud83d"`)
	case "aud":
		return g.one(`["shop"]`, `["x","shop"]`, `["sh\u006fp"]`, `[]`, `[""]`, `["shop",1]`, `["shop",null]`,
			`[["shop"]]`, `{"shop":1}`, `"Shop"`, ` [ "a" , "shop" ] `)
	case "via":
		return g.one(`"session"`, `"session"`, `"Session"`, `"s\u0065ssion"`, `""`, `null`, `1`)
	case "jti":
		return g.one(`""`, `1`, `null`)
	case "shop", "voucher", "level", "since":
		return g.number()
	default:
		return g.time(-600)
	}
}

// number returns a whole number, or text that looks like one.
func (g *generator) number() string {
	if !g.rarely(3) {
		return strconv.Itoa(1 + g.IntN(100_000))
	}
	return g.one("0", "-0", "-1", "1.0", "1.5", "1e3", "1E+0", "01", "+1", `"7"`, `""`, "null", "true", "[7]",
		`{"a":7}`, "9007199254740991", "9007199254740992", "253402300799", "253402300800", "999999999999999999",
		"1000000000000000000", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 40))
}

// time returns seconds since 1970, at most ten minutes from noon, or text that looks like a time.
func (g *generator) time(from int64) string {
	text := strconv.FormatInt(noon.Unix()+from+g.Int64N(650), 10)
	if !g.flaw(5) {
		return text
	}
	return g.one(text+".5", text+".999999999999", text+"e0", text+"E+0", text+"0e-1", `"`+text+`"`, "0", "-0", "-1",
		"0.0", "1e10", "1E11", "1e12",
		"253402300799", "253402300799.0", "253402300799.5", "253402300800", "9223372036854775807",
		"9223372036854775808", "18446744073709551616", "1e308", "1e309", "-1e309",
		"0"+text, "+"+text, text+".", "."+text, "NaN", "null", "true", "[]", noon.Format(`"2006-01-02T15:04:05Z"`),
		strings.Repeat("9", 310), "0."+strings.Repeat("0", 320)+"1")
}

// any returns a JSON value, and sometimes an invalid one.
func (g *generator) any(depth int) string {
	if depth > 3 || g.rarely(2) {
		return g.one("null", "true", "false", "0", "-1.5e3", `""`, `"x"`, `"\n\t\"\\\/"`, `"\x"`, `"\ud800"`, `"é"`,
			"nul", "tru", "falsey", "1e400", `"`, "\"\x01\"", "\"\xff\"")
	}
	if g.rarely(2) {
		return "[" + g.any(depth+1) + g.one("", ",", ",1", ",[]") + "]"
	}
	return `{"a":` + g.any(depth+1) + g.one("", `,"a":1`, ",", `,"b":{}`) + "}"
}
