package issuers

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of the file of issuers.
const (
	maxFile    = 1 << 20 // bytes, of the file and of a key set
	maxIssuers = 20
	maxName    = 255 // bytes of an issuer, a subject, an audience
)

// fileError lists everything that is wrong with a file of issuers.
type fileError struct{ mistakes []string }

func (e *fileError) Error() string {
	return "wrong file of issuers (SECKILL_ISSUERS):\n  " + strings.Join(e.mistakes, "\n  ")
}

// add adds a mistake: the issuer, the member, what is wrong with it, and the allowed values.
func (e *fileError) add(where, member, wrong, allowed string) {
	e.mistakes = append(e.mistakes, fmt.Sprintf("%s: %s %s (allowed: %s)", where, member, wrong, allowed))
}

// Read reads the file of issuers, and the key sets in files that it names. Its error names every mistake.
func Read(file string) ([]Issuer, error) {
	b, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("the file of issuers (SECKILL_ISSUERS): %w", err)
	}
	issuers, err := parse(b, filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	var wrong fileError
	for _, i := range issuers {
		if i.File == "" {
			continue // an address may be away while the service starts
		}
		set, err := readFile(i.File)
		if err == nil {
			_, _, err = parseKeys(set)
		}
		if err != nil {
			wrong.add(fmt.Sprintf("issuer %q", i.Name), `"jwksFile"`,
				fmt.Sprintf("is %q, which cannot be used: %v", i.File, err),
				"the path of a file with a JSON Web Key Set, at most 1 MB")
		}
	}
	if len(wrong.mistakes) > 0 {
		return nil, &wrong
	}
	return issuers, nil
}

// parse reads a file of issuers. Its error names every mistake. Names of files in it are relative to the folder.
func parse(b []byte, folder string) ([]Issuer, error) {
	const shape = `{"issuers": [...]}, from 1 to 20 of them`
	var wrong fileError
	top, err := object(b)
	if err != nil {
		wrong.add("file", "all of it", err.Error(), shape)
		return nil, &wrong
	}
	for name := range top {
		if name != "issuers" {
			wrong.add("file", fmt.Sprintf("%q", name), "is not known", shape)
		}
	}
	var list []json.RawMessage
	if json.Unmarshal(top["issuers"], &list) != nil || len(list) == 0 || len(list) > maxIssuers {
		wrong.add("file", `"issuers"`, "is no list of them", shape)
	}
	var issuers []Issuer
	for n, raw := range list {
		one := parseIssuer(raw, fmt.Sprintf("issuers[%d]", n), folder, &wrong)
		if slices.ContainsFunc(issuers, func(other Issuer) bool { return other.Name == one.Name && one.Name != "" }) {
			wrong.add(fmt.Sprintf("issuers[%d]", n), `"issuer"`, "is that of another one", "each issuer once")
		}
		if one.Numeric && slices.ContainsFunc(issuers, func(other Issuer) bool { return other.Numeric }) {
			wrong.add(fmt.Sprintf("issuers[%d]", n), `"numeric"`, "is true, as it is of another one",
				"true for one issuer: two would give two people one number")
		}
		issuers = append(issuers, one)
	}
	if len(wrong.mistakes) > 0 {
		slices.Sort(wrong.mistakes)
		return nil, &wrong
	}
	return issuers, nil
}

// entry is an issuer's object while it is read.
type entry struct {
	where   string
	members map[string]json.RawMessage
	wrong   *fileError
}

func parseIssuer(raw json.RawMessage, where, folder string, wrong *fileError) (i Issuer) {
	members, err := object(raw)
	if err != nil {
		wrong.add(where, "all of it", err.Error(), "an object")
		return i
	}
	e := entry{where, members, wrong}
	i.Name = e.text("issuer", true, "the iss of its tokens, at most 255 bytes")
	if i.Name != "" {
		e.where = fmt.Sprintf("issuer %q", i.Name)
	}
	e.known(members, "issuer", "jwks", "jwksFile", "jwksNetworks", "audience", "audienceIn", "tokens", "algorithms",
		"claims", "numeric", "staff", "pages")
	i.Audience = e.text("audience", true, "this service's name at the issuer, at most 255 bytes")
	i.AudienceIn = e.choice("audienceIn", "aud", "aud", "client_id", "azp")
	i.Kind = Kind(e.choice("tokens", "", string(IDToken), string(AccessToken)))
	i.Algorithms = e.algorithms()
	i.Networks = e.networks()
	i.JWKS, i.File = e.keys(folder, len(i.Networks) > 0)
	i.Numeric = e.yes("numeric")
	i.Claims, i.Staff, i.Pages = e.claims(), e.staff(), e.pages(i)
	return i
}

// known adds a mistake for each member with another name than these.
func (e entry) known(members map[string]json.RawMessage, names ...string) {
	for name := range members {
		if !slices.Contains(names, name) {
			e.wrong.add(e.where, fmt.Sprintf("%.40q", name), "is not known", strings.Join(names, ", "))
		}
	}
}

// text reads a member that is text.
func (e entry) text(name string, required bool, allowed string) string {
	raw, given := e.members[name]
	if !given && !required {
		return ""
	}
	s, ok := text(raw)
	switch {
	case !given:
		e.wrong.add(e.where, `"`+name+`"`, "is missing", allowed)
	case !ok || s == "" || len(s) > maxName || strings.ContainsFunc(s, isControl):
		e.wrong.add(e.where, `"`+name+`"`, fmt.Sprintf("is %.60s", raw), allowed)
	default:
		return s
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// choice reads a member that must be one of the choices. If the member is missing, it returns without, or adds a
// mistake if without is "".
func (e entry) choice(name, without string, choices ...string) string {
	raw, given := e.members[name]
	if !given && without != "" {
		return without
	}
	s, ok := text(raw)
	if !given || !ok || !slices.Contains(choices, s) {
		wrong := "is missing"
		if given {
			wrong = fmt.Sprintf("is %.60s", raw)
		}
		e.wrong.add(e.where, `"`+name+`"`, wrong, strings.Join(choices, " or "))
	}
	return s
}

// yes reads a member that is true or false; one that is missing is false.
func (e entry) yes(name string) bool {
	raw, given := e.members[name]
	if s := string(raw); given && s != "true" && s != "false" {
		e.wrong.add(e.where, `"`+name+`"`, fmt.Sprintf("is %.60s", raw), "true or false")
	}
	return string(raw) == "true"
}

func (e entry) algorithms() []Algorithm {
	all := []Algorithm{RS256, ES256, EdDSA}
	var got []Algorithm
	bad := json.Unmarshal(e.members["algorithms"], &got) != nil || len(got) == 0
	for i, a := range got {
		bad = bad || !slices.Contains(all, a) || slices.Contains(got[:i], a)
	}
	if bad {
		e.wrong.add(e.where, `"algorithms"`, fmt.Sprintf("is %.60s", e.members["algorithms"]),
			"a list of RS256, ES256, EdDSA, each once")
	}
	return got
}

func (e entry) networks() (networks []netip.Prefix) {
	raw, given := e.members["jwksNetworks"]
	if !given {
		return nil
	}
	var texts []string
	bad := json.Unmarshal(raw, &texts) != nil || len(texts) == 0
	for _, t := range texts {
		n, err := netip.ParsePrefix(t)
		if ip, errIP := netip.ParseAddr(t); err != nil && errIP == nil {
			n, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		bad = bad || err != nil
		networks = append(networks, n)
	}
	if bad {
		e.wrong.add(e.where, `"jwksNetworks"`, fmt.Sprintf("is %.60s", raw),
			"a list of addresses such as 10.0.0.7 or networks such as 10.0.0.0/8")
	}
	return networks
}

// keys reads the place of the keys: an address or a file.
func (e entry) keys(folder string, private bool) (address, file string) {
	const allowed = "an https address; an http one only together with jwksNetworks"
	_, byAddress := e.members["jwks"]
	_, byFile := e.members["jwksFile"]
	if byAddress == byFile {
		e.wrong.add(e.where, `"jwks" and "jwksFile"`, "are both there or both missing", "one of them")
		return "", ""
	}
	if byFile {
		if file = e.text("jwksFile", true, "the path of a file"); file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		return "", file
	}
	if address = e.text("jwks", true, allowed); address == "" {
		return "", ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !private) {
		e.wrong.add(e.where, `"jwks"`, fmt.Sprintf("is %.60q", address), allowed)
	}
	return address, ""
}

func (e entry) claims() Claims {
	c := Claims{User: "sub"}
	raw, given := e.members["claims"]
	if !given {
		return c
	}
	members, err := object(raw)
	if err != nil {
		e.wrong.add(e.where, `"claims"`, err.Error(), "an object with user, level, since")
		return c
	}
	inner := entry{e.where, members, e.wrong}
	inner.known(members, "user", "level", "since")
	const allowed = "the name of a claim"
	if user := inner.text("user", false, allowed); user != "" {
		c.User = user
	}
	c.Level, c.Since = inner.text("level", false, allowed), inner.text("since", false, allowed)
	return c
}
